#include "service/event_feed.h"

#include <algorithm>
#include <utility>

namespace holdfast::service {

FeedEvent::FeedEvent(std::uint64_t number, const core::Event& happened)
    : id(number),
      event(happened),
      name_(happened.lease.scope.name),
      owner_(happened.lease.owner.name),
      previous_owner_(happened.previous_owner),
      request_id_(happened.lease.notes.request_id),
      metadata_(happened.lease.notes.metadata) {
    event.lease.scope.name = name_;
    event.lease.owner.name = owner_;
    event.previous_owner = previous_owner_;
    event.lease.notes = {.request_id = request_id_, .metadata = metadata_};
}

std::size_t FeedEvent::bytes() const {
    return sizeof *this + name_.size() + owner_.size() + previous_owner_.size() +
           request_id_.size() + metadata_.size();
}

EventFeed::EventFeed(std::uint64_t first_id, FeedLimits limits)
    : limits_(limits), next_id_(first_id) {}

void EventFeed::publish(const core::Event& event) {
    const std::lock_guard guard(mutex_);
    events_.push_back(std::make_shared<const FeedEvent>(next_id_++, event));
    bytes_ += events_.back()->bytes();
    while (events_.size() > limits_.events_max || bytes_ > limits_.bytes_max) drop_oldest();
    for (Watch* const watch : watches_) watch->call();
}

void EventFeed::drop_oldest() {
    bytes_ -= events_.front()->bytes();
    events_.pop_front();
}

std::shared_ptr<EventFeed::Watch> EventFeed::watch(Executor& here,
                                                   std::optional<std::uint64_t> after,
                                                   std::function<void()> on_news) {
    const std::lock_guard guard(mutex_);
    auto watch =
        std::make_shared<Watch>(*this, here, after ? *after + 1 : next_id_, std::move(on_news));
    watches_.push_back(watch.get());
    if (watch->next_id_ != next_id_) watch->call();
    return watch;
}

EventFeed::Watch::Watch(EventFeed& feed, Executor& here, std::uint64_t next_id,
                        std::function<void()> on_news)
    : feed_(feed), here_(here), on_news_(std::move(on_news)), next_id_(next_id) {}

EventFeed::Watch::~Watch() {
    const std::lock_guard guard(feed_.mutex_);
    std::erase(feed_.watches_, this);
}

// REQUIRES: the feed's mutex is held.
void EventFeed::Watch::call() {
    if (std::exchange(is_called_, true)) return;
    here_.post([weak = weak_from_this()] {
        if (const auto watch = weak.lock()) watch->on_news_();
    });
}

EventFeed::Watch::Page EventFeed::Watch::read(std::size_t events_max) {
    const std::lock_guard guard(feed_.mutex_);
    const std::uint64_t oldest_id = feed_.next_id_ - feed_.events_.size();
    Page page;
    // A number that was not given out yet is from a server with another history.
    page.has_missed_some = next_id_ < oldest_id || next_id_ > feed_.next_id_;
    if (page.has_missed_some) next_id_ = oldest_id;
    const auto first = feed_.events_.begin() + static_cast<std::ptrdiff_t>(next_id_ - oldest_id);
    const std::size_t count = std::min<std::size_t>(events_max, feed_.next_id_ - next_id_);
    page.events.assign(first, first + static_cast<std::ptrdiff_t>(count));
    next_id_ += count;
    is_called_ = false;
    if (next_id_ != feed_.next_id_) call();
    return page;
}

}  // namespace holdfast::service

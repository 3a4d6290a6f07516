#include "service/event_feed.h"

#include <algorithm>
#include <utility>

namespace holdfast::service {

namespace {

constexpr std::size_t chunk_events = 256;

std::size_t bytes_of(const core::Event& event) {
    const core::LeaseView& lease = event.lease;
    return sizeof event + lease.scope.name.size() + lease.owner.name.size() +
           event.previous_owner.size() + lease.notes.request_id.size() +
           lease.notes.metadata.size();
}

}  // namespace

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

EventFeed::EventFeed(std::uint64_t first_id, FeedLimits limits)
    : limits_(limits), oldest_id_(first_id), next_id_(first_id) {}

void EventFeed::publish(const core::Event& event) {
    const std::lock_guard guard(mutex_);
    if (chunks_.empty() || chunks_.back().events.size() == chunk_events) {
        chunks_.push_back({.first_id = next_id_, .events = {}});
    }
    chunks_.back().events.add(event);
    ++next_id_;
    bytes_ += bytes_of(event);
    while (next_id_ - oldest_id_ > limits_.events_max || bytes_ > limits_.bytes_max) drop_oldest();
    for (Watch* const watch : watches_) watch->call();
}

// REQUIRES: it is known.
core::Event EventFeed::event(std::uint64_t id) const {
    const std::uint64_t place = id - chunks_.front().first_id;  // all but the last are full
    return chunks_[place / chunk_events].events[place % chunk_events];
}

void EventFeed::drop_oldest() {
    bytes_ -= bytes_of(event(oldest_id_));
    ++oldest_id_;
    if (oldest_id_ - chunks_.front().first_id == chunk_events) chunks_.pop_front();
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
    Page page;
    // A number that was not given out yet is from a server with another history.
    page.has_missed_some = next_id_ < feed_.oldest_id_ || next_id_ > feed_.next_id_;
    if (page.has_missed_some) next_id_ = feed_.oldest_id_;
    const std::size_t count = std::min<std::size_t>(events_max, feed_.next_id_ - next_id_);
    page.events.reserve(count);
    for (const std::uint64_t end = next_id_ + count; next_id_ != end; ++next_id_) {
        page.events.push_back(std::make_shared<const FeedEvent>(next_id_, feed_.event(next_id_)));
    }
    is_called_ = false;
    if (next_id_ != feed_.next_id_) call();
    return page;
}

}  // namespace holdfast::service

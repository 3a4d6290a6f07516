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

FeedEvent::FeedEvent(std::uint64_t number, const core::Event& happened,
                     std::optional<std::uint64_t> refused_by)
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
    if (!refused_by) return;
    refused_fence = {.at = event.at,
                     .resource = name_,
                     .number = core::as_number(event.lease.token.fence),
                     .highest = *refused_by};
}

EventFeed::EventFeed(std::uint64_t first_id, FeedLimits limits)
    : limits_(limits), oldest_id_(first_id), next_id_(first_id) {}

void EventFeed::publish(const core::Event& event) {
    add(event, std::nullopt);
}

void EventFeed::publish(const FenceRefusal& refusal) {
    core::Event event{.at = refusal.at};
    event.lease.scope.name = refusal.resource;
    event.lease.token.fence = core::Fence{refusal.number};
    add(event, refusal.highest);
}

void EventFeed::add(const core::Event& event, std::optional<std::uint64_t> refused_by) {
    const std::lock_guard guard(mutex_);
    if (chunks_.empty() || chunks_.back().events.size() == chunk_events) {
        chunks_.push_back({.first_id = next_id_, .events = {}, .refused_by = {}});
    }
    chunks_.back().events.add(event);
    if (refused_by) chunks_.back().refused_by.emplace(next_id_, *refused_by);
    ++next_id_;
    bytes_ += bytes_of(event);
    while (next_id_ - oldest_id_ > limits_.events_max || bytes_ > limits_.bytes_max) drop_oldest();
    for (Watch* const watch : watches_) watch->call();
}

// REQUIRES, as in the next two: it is known.
const EventFeed::Chunk& EventFeed::chunk_of(std::uint64_t id) const {
    return chunks_[(id - chunks_.front().first_id) / chunk_events];  // all but the last are full
}

core::Event EventFeed::event(std::uint64_t id) const {
    const Chunk& chunk = chunk_of(id);
    return chunk.events[id - chunk.first_id];
}

std::shared_ptr<const FeedEvent> EventFeed::copy(std::uint64_t id) const {
    const Chunk& chunk = chunk_of(id);
    const auto found = chunk.refused_by.find(id);
    const auto refused_by =
        found == chunk.refused_by.end() ? std::nullopt : std::optional(found->second);
    return std::make_shared<const FeedEvent>(id, event(id), refused_by);
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
        page.events.push_back(feed_.copy(next_id_));
    }
    is_called_ = false;
    if (next_id_ != feed_.next_id_) call();
    return page;
}

}  // namespace holdfast::service

#include "service/events/event_feed.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "core/values/turn_limits.h"

namespace holdfast::service {

namespace {

constexpr std::size_t chunk_events = 256;

std::size_t bytes_of(const core::Event& event) {
    return sizeof event + core::text_size_of(event);
}

}  // namespace

FeedEvent::FeedEvent(std::uint64_t number, const core::Event& happened,
                     const std::optional<Aside>& aside)
    : id(number), event(happened) {
    texts_.reserve(core::text_size_of(event));  // so that the texts do not move
    for (std::string_view* const text : core::texts_of(event)) {
        const std::size_t at = texts_.size();
        texts_.append(*text);
        *text = std::string_view(texts_).substr(at);
    }
    if (!aside) return;
    const std::string_view name = event.lease.scope.name;
    if (!aside->refused_by) {
        act = {.at = event.at, .action = aside->action, .what = name, .by = event.by};
        return;
    }
    refused_fence = {.at = event.at,
                     .resource = name,
                     .number = core::as_number(event.lease.token.fence),
                     .highest = *aside->refused_by};
}

EventFeed::EventFeed(std::uint64_t first_id, FeedLimits limits)
    : limits_(limits), oldest_id_(first_id), next_id_(first_id) {}

std::uint64_t EventFeed::position() const {
    const std::lock_guard guard(mutex_);
    return next_id_ - 1;
}

void EventFeed::publish(core::Changes&& changes) {
    const std::lock_guard guard(mutex_);
    if (count_only(changes.size())) return;
    if (is_worth_taking(changes)) {
        take(changes);
    } else {
        for (const core::Event& event : changes) add(event, std::nullopt);
    }
    drop_what_is_too_much();
    call_watches();
}

void EventFeed::publish(const FenceRefusal& refusal) {
    core::Event event{.at = refusal.at};
    event.lease.scope.name = refusal.resource;
    event.lease.token.fence = core::Fence{refusal.number};
    publish(event, {.refused_by = refusal.highest});
}

void EventFeed::publish(const AdminAct& act) {
    core::Event event{.at = act.at};
    event.lease.scope.name = act.what;
    event.by = act.by;
    publish(event, {.refused_by = std::nullopt, .action = act.action});
}

void EventFeed::publish(const core::Event& event, const FeedEvent::Aside& aside) {
    const std::lock_guard guard(mutex_);
    if (count_only(1)) return;
    add(event, aside);
    drop_what_is_too_much();
    call_watches();
}

void EventFeed::lose(std::uint64_t count) {
    const std::lock_guard guard(mutex_);
    next_id_ += count;
    oldest_id_ = next_id_;
    chunks_.clear();
    bytes_ = 0;
    call_watches();
}

// Whether there was no watch yet. Then the events get their numbers, and are forgotten.
bool EventFeed::count_only(std::size_t events) {
    if (was_ever_watched_) return false;
    next_id_ += events;
    oldest_id_ = next_id_;
    return true;
}

// Whether it is a chunk by itself: no small one, nor one that is mostly room, nor a huge one.
bool EventFeed::is_worth_taking(const core::Changes& changes) const {
    return changes.size() >= chunk_events / 4 && changes.size() >= changes.capacity() / 4 &&
           changes.bytes() <= limits_.bytes_max / 4;
}

void EventFeed::take(core::Changes& changes) {
    const std::size_t count = changes.size(), bytes = changes.bytes();
    chunks_.push_back({.first_id = next_id_,
                       .bytes = bytes,
                       .events = std::exchange(changes, std::exchange(spare_, {}))});
    bytes_ += bytes;
    next_id_ += count;
}

void EventFeed::add(const core::Event& event, const std::optional<FeedEvent::Aside>& aside) {
    Chunk& chunk = chunk_to_fill();
    const std::size_t bytes = bytes_of(event);
    chunk.events.add(event);
    if (aside) chunk.asides.emplace(next_id_, *aside);
    chunk.bytes += bytes;
    bytes_ += bytes;
    ++next_id_;
}

void EventFeed::drop_what_is_too_much() {
    if (next_id_ - oldest_id_ > limits_.events_max) oldest_id_ = next_id_ - limits_.events_max;
    while (chunks_.size() > 1 &&
           (bytes_ > limits_.bytes_max || chunks_[1].first_id <= oldest_id_)) {
        drop_oldest_chunk();
    }
}

void EventFeed::call_watches() {
    for (Watch* const watch : watches_) watch->call();
}

EventFeed::Chunk& EventFeed::chunk_to_fill() {
    const bool has_room = !chunks_.empty() && chunks_.back().events.size() < chunk_events &&
                          chunks_.back().bytes < limits_.bytes_max / 4;
    if (!has_room) {
        chunks_.push_back({.first_id = next_id_, .events = std::move(spare_)});
        spare_ = {};
    }
    return chunks_.back();
}

// REQUIRES: it is not the only one.
void EventFeed::drop_oldest_chunk() {
    bytes_ -= chunks_.front().bytes;
    spare_ = std::move(chunks_.front().events);
    spare_.clear();
    chunks_.pop_front();
    oldest_id_ = std::max(oldest_id_, chunks_.front().first_id);
}

// REQUIRES: it is known.
std::shared_ptr<const FeedEvent> EventFeed::copy(std::uint64_t id) const {
    const auto after = std::upper_bound(
        chunks_.begin(), chunks_.end(), id,
        [](std::uint64_t wanted, const Chunk& chunk) { return wanted < chunk.first_id; });
    const Chunk& chunk = *std::prev(after);
    const auto found = chunk.asides.find(id);
    const auto aside = found == chunk.asides.end() ? std::nullopt : std::optional(found->second);
    return std::make_shared<const FeedEvent>(id, chunk.events[id - chunk.first_id], aside);
}

std::shared_ptr<EventFeed::Watch> EventFeed::watch(Executor& here,
                                                   std::optional<std::uint64_t> after,
                                                   std::function<void()> on_news) {
    const std::lock_guard guard(mutex_);
    auto watch =
        std::make_shared<Watch>(*this, here, after ? *after + 1 : next_id_, std::move(on_news));
    watches_.push_back(watch.get());
    was_ever_watched_ = true;
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
    std::size_t bytes = 0;
    for (const std::uint64_t end = next_id_ + count; next_id_ != end && bytes < core::copied_max;
         ++next_id_) {
        page.events.push_back(feed_.copy(next_id_));
        bytes += page.events.back()->bytes();
    }
    is_called_ = false;
    page.has_more = next_id_ != feed_.next_id_;
    if (page.has_more) call();
    return page;
}

}  // namespace holdfast::service

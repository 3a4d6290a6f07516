#include "service/events/election_reader.h"

#include <utility>

namespace holdfast::service {

namespace {

// Events that are read at a time: the loop has others to serve.
constexpr std::size_t events_at_once = 500;

}  // namespace

std::shared_ptr<ElectionReader> ElectionReader::open(const Parts& parts, std::string name,
                                                     std::optional<std::uint64_t> after,
                                                     Listener listener) {
    auto reader =
        std::make_shared<ElectionReader>(parts, std::move(name), after, std::move(listener));
    const std::weak_ptr<ElectionReader> weak = reader;
    reader->watch_ = parts.feed.watch(parts.here, after, [weak] {
        if (const auto self = weak.lock()) self->read();
    });
    parts.here.post([weak] {
        if (const auto self = weak.lock()) self->ask();
    });
    return reader;
}

ElectionReader::ElectionReader(const Parts& parts, std::string name,
                               std::optional<std::uint64_t> after, Listener listener)
    : parts_(parts), listener_(std::move(listener)), after_(after), election_(std::move(name)) {}

void ElectionReader::resume() {
    if (!std::exchange(is_paused_, false)) return;
    const auto self = shared_from_this();
    read();
}

void ElectionReader::ask() {
    if (!is_open_ || std::exchange(is_asking_, true)) return;
    const Inspect question{.scope = core::Scope::named(election_.name())};
    if (const Response* response = parts_.port.submit(question)) {
        return on_snapshot(*response);
    }
    parts_.port.await(answer_by([weak = weak_from_this()](const auto& response) {
        if (const auto self = weak.lock()) self->on_snapshot(response);
    }));
}

void ElectionReader::on_snapshot(const Response& response) {
    is_asking_ = false;
    if (!is_open_) return;
    if (!response.failure.empty()) return listener_.on_failure(response);
    const auto before = election_.leader();
    election_.begin(response);
    has_state_ = true;
    if (is_told_ && election_.leader() != before) tell(true);
    read();
}

void ElectionReader::read() {
    if (!is_open_ || !has_state_ || is_asking_ || is_paused_) return;
    const auto page = watch_->read(events_at_once);
    if (page.has_missed_some) {
        has_changed_ = true;  // nobody knows
        return ask();
    }
    for (const auto& event : page.events) {
        if (!take(*event) || !is_open_) return;
    }
    // There may be more that the snapshot shows, and that the owner wants to hear of.
    if (!page.has_more && !is_told_) tell(has_changed_);
}

// Returns false if the owner has closed this.
bool ElectionReader::take(const FeedEvent& event) {
    if (event.id <= election_.position()) {
        // The snapshot may be told before the feed is: then this is how we learn that something has
        // changed since `after`.
        if (!after_ || has_changed_ || !election_.is_change(event)) return true;
        has_changed_ = true;
        if (is_told_) tell(true);
        return is_open_;
    }
    if (!is_told_) tell(has_changed_);
    if (is_open_ && election_.follow(event)) tell(true);
    return is_open_;
}

void ElectionReader::tell(bool has_changed) {
    is_told_ = true;
    listener_.on_state(election_, has_changed);
}

}  // namespace holdfast::service

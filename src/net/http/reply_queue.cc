#include "net/http/reply_queue.h"

#include <iterator>
#include <span>
#include <utility>
#include <vector>

#include "base/check.h"
#include "net/http/request_counts.h"

namespace holdfast::net {

namespace {

using State = ReplySlot::State;

constexpr HttpResponse no_answer{.status = 500,
                                 .content_type = "application/json",
                                 .body = "{\"error\":\"the request was not answered\"}\n"};

// Whether the answer may be long, and its length is not known yet.
bool is_unknown(const ReplySlot& slot) {
    return slot.terms.may_be_long && slot.state == State::owed;
}

}  // namespace

ReplyQueue::ReplyQueue(Channel& channel, const HttpLimits& limits)
    : channel_(channel), limits_(limits) {}

ReplyQueue::~ReplyQueue() {
    detach();
}

bool ReplyQueue::full() const {
    if (slots_.empty()) return false;
    if (slots_.size() >= limits_.pending_max || is_unknown(slots_.back())) return true;
    return waiting_bytes_ > limits_.waiting_bytes_max || !channel_.has_room_to_wait();
}

bool ReplyQueue::pause_if_full() {
    if (!full()) return false;
    paused_ = true;
    channel_.pause();
    return true;
}

void ReplyQueue::resume_unless_full() {
    if (!paused_ || full()) return;
    paused_ = false;
    channel_.resume();
}

void ReplyQueue::answer(const HttpResponse& response, const HttpTerms& terms) {
    if (!terms.keep_alive) closing_ = true;
    count_at_once(terms, response.status);
    if (slots_.empty()) {
        append_response(channel_.output(), response, terms);
        if (!terms.keep_alive) channel_.close_after_flush();
        return;
    }
    auto& slot = open_slot(terms);
    slot.state = State::answered;
    append_response(slot.answer, response, terms);
    count(slot);
}

void ReplyQueue::count_at_once(const HttpTerms& terms, int status) {
    if (terms.counts == nullptr) return;
    terms.counts->add_status(status);
    if (untimed_count_ == untimed_.size()) note_durations();
    untimed_[untimed_count_++] = {terms.counts, terms.begun};
}

void ReplyQueue::note_durations() {
    if (untimed_count_ == 0) return;
    const auto now = std::chrono::steady_clock::now();
    for (const Timed& one : std::span(untimed_).first(std::exchange(untimed_count_, 0))) {
        one.counts->add_duration(now - one.begun);
    }
}

void ReplyQueue::count_late(const ReplySlot& slot) {
    if (slot.terms.counts == nullptr) return;
    slot.terms.counts->add_status(slot.status);
    slot.terms.counts->add_duration(std::chrono::steady_clock::now() - slot.terms.begun);
}

DeferredReply ReplyQueue::defer(const HttpTerms& terms, std::function<void()> on_abandoned) {
    if (!terms.keep_alive) closing_ = true;
    auto& slot = open_slot(terms);
    slot.on_abandoned = std::move(on_abandoned);
    count(slot);
    return DeferredReply(slot);
}

void ReplyQueue::interim(std::string_view bytes) {
    if (slots_.empty()) {
        channel_.output().append(bytes);
        return;
    }
    auto& slot = open_slot({.keep_alive = true});
    slot.state = State::answered;
    slot.answer = bytes;
    count(slot);
}

ReplySlot& ReplyQueue::open_slot(const HttpTerms& terms) {
    return slots_.emplace_back(*this, terms);
}

void ReplyQueue::answer_slot(ReplySlot& slot, const HttpResponse& response) {
    close_if_draining(slot);
    append_response(place_for(slot), response, slot.terms);
    slot.status = response.status;
    finish(slot);
}

void ReplyQueue::interim_to_last(std::string_view bytes) {
    if (slots_.size() <= 1) {
        channel_.output().append(bytes);
        return;
    }
    const auto slot = slots_.emplace(std::prev(slots_.end()), *this, HttpTerms{.keep_alive = true});
    slot->state = State::answered;
    slot->answer = bytes;
    count(*slot);
}

void ReplyQueue::close_after_last() {
    closing_ = true;
    slots_.back().terms.keep_alive = false;
}

StreamedReply ReplyQueue::stream(const HttpResponse& head, const HttpTerms& terms,
                                 std::function<void()> on_abandoned) {
    return stream_slot(open_slot(terms), head, std::move(on_abandoned));
}

StreamedReply ReplyQueue::stream_slot(ReplySlot& slot, const HttpResponse& head,
                                      std::function<void()> on_abandoned) {
    const bool has_pieces = has_body(head.status, slot.terms);
    slot.terms.plain = head.length.has_value();
    slot.bytes_to_come = head.length.value_or(0);
    if (has_pieces && slot.terms.http_1_0 && !slot.terms.plain) slot.terms.keep_alive = false;
    if (!slot.terms.keep_alive) closing_ = true;
    append_stream_header(place_for(slot), head, slot.terms);
    slot.status = head.status;
    if (!has_pieces) {
        finish(slot);
        return {};
    }
    slot.state = State::streamed;
    slot.on_abandoned = std::move(on_abandoned);
    count(slot);
    resume_unless_full();
    channel_.flush();
    return StreamedReply(slot);
}

void ReplyQueue::call_when_sent(ReplySlot& slot, std::function<void()> on_room) {
    slot.on_room = std::move(on_room);
    channel_.flush();
}

bool ReplyQueue::make_use_of_room() {
    if (slots_.empty() || !slots_.front().on_room) return false;
    std::exchange(slots_.front().on_room, nullptr)();
    return !channel_.output().empty();
}

void ReplyQueue::append_piece(ReplySlot& slot, std::string_view piece) {
    if (slot.terms.plain) {
        CHECK(piece.size() <= slot.bytes_to_come);
        slot.bytes_to_come -= piece.size();
    }
    if (piece.empty()) return;
    append_stream_piece(place_for(slot), piece, slot.terms);
    count(slot);
    channel_.flush();
}

void ReplyQueue::end_stream(ReplySlot& slot) {
    close_if_draining(slot);
    if (slot.bytes_to_come > 0) {  // only a broken connection tells the peer that this is not all
        slot.terms.keep_alive = false;
        closing_ = true;
    }
    append_stream_end(place_for(slot), slot.terms);
    finish(slot);
}

bool ReplyQueue::congested(const ReplySlot& slot) const {
    if (channel_.congested()) return true;
    if (&slot == &slots_.front()) return false;
    return waiting_bytes_ > limits_.waiting_bytes_max || !channel_.has_room_to_wait();
}

// The last answer of a connection that is about to close says so, if its header is not sent yet.
void ReplyQueue::close_if_draining(ReplySlot& slot) {
    if (!channel_.draining() || &slot != &slots_.back() || paused_) return;
    slot.terms.keep_alive = false;
    closing_ = true;
}

std::string& ReplyQueue::place_for(ReplySlot& slot) {
    return &slot == &slots_.front() ? channel_.output() : slot.answer;
}

// Counts the bytes that wait in the slot now, instead of those that were counted before.
void ReplyQueue::count(ReplySlot& slot) {
    const bool is_first = &slot == &slots_.front();
    const std::size_t bytes =
        is_unknown(slot) && !is_first ? limits_.unknown_answer_bytes : slot.answer.size();
    if (bytes == slot.counted_bytes) return;
    const auto more = static_cast<std::ptrdiff_t>(bytes - slot.counted_bytes);
    slot.counted_bytes = bytes;
    waiting_bytes_ += static_cast<std::size_t>(more);
    channel_.count_waiting(more);
}

// The answer of the slot is complete. Its bytes leave if it is at the front.
void ReplyQueue::finish(ReplySlot& slot) {
    slot.state = State::answered;
    slot.on_abandoned = nullptr;
    slot.on_room = nullptr;
    count_late(slot);
    if (&slot == &slots_.front()) {
        send_answered();
    } else {
        count(slot);
    }
    resume_unless_full();
    channel_.flush();
}

// Outputs the answers at the front that are complete, then what the first incomplete one has so
// far.
void ReplyQueue::send_answered() {
    while (!slots_.empty()) {
        channel_.output().append(std::exchange(slots_.front().answer, {}));
        count(slots_.front());
        if (slots_.front().state != State::answered) break;
        const bool keep_alive = slots_.front().terms.keep_alive;
        slots_.pop_front();
        if (keep_alive) continue;
        // Nothing may follow: the end of this answer may be the end of the connection.
        channel_.close_after_flush();
        return detach();
    }
}

// A callback may answer, and so remove, any slot: begin again after each.
void ReplyQueue::abandon() {
    for (auto slot = slots_.begin(); slot != slots_.end();) {
        if (slot->state == State::answered || !slot->on_abandoned) {
            ++slot;
            continue;
        }
        std::exchange(slot->on_abandoned, nullptr)();
        slot = slots_.begin();
    }
}

// As above. A stream that goes on after its on_abandoned was called is met a second time: then the
// queue cuts its link and ends it.
void ReplyQueue::end_streams() {
    for (auto slot = slots_.begin(); slot != slots_.end();) {
        if (slot->state != State::streamed) {
            ++slot;
            continue;
        }
        if (slot->on_abandoned) {
            std::exchange(slot->on_abandoned, nullptr)();
        } else {
            // The closure may own the reply, so it goes last.
            const auto dropped = std::exchange(slot->on_room, nullptr);
            slot->reply->cut();
            end_stream(*slot);
        }
        slot = slots_.begin();
    }
}

void ReplyQueue::detach() {
    // Closures may own replies, so they are called and destroyed when no slot is left.
    std::vector<std::function<void()>> untold, dropped;
    const std::size_t waiting_bytes = std::exchange(waiting_bytes_, 0);
    if (waiting_bytes > 0) channel_.count_waiting(-static_cast<std::ptrdiff_t>(waiting_bytes));
    for (; !slots_.empty(); slots_.pop_front()) {
        ReplySlot& slot = slots_.front();
        if (slot.reply != nullptr) slot.reply->cut();
        if (slot.on_room) dropped.push_back(std::exchange(slot.on_room, nullptr));
        if (slot.on_abandoned) untold.push_back(std::exchange(slot.on_abandoned, nullptr));
    }
    for (const auto& tell : untold) tell();
}

ReplyLink::ReplyLink(ReplySlot& slot) {
    link(slot);
}

ReplyLink::ReplyLink(ReplyLink&& other) noexcept : slot_(std::exchange(other.slot_, nullptr)) {
    if (slot_ != nullptr) slot_->reply = this;
}

void ReplyLink::link(ReplySlot& slot) {
    slot_ = &slot;
    slot.reply = this;
}

ReplySlot* ReplyLink::cut() {
    if (slot_ != nullptr) slot_->reply = nullptr;
    return std::exchange(slot_, nullptr);
}

DeferredReply::DeferredReply(DeferredReply&& other) noexcept
    : ReplyLink(std::move(other)), is_owed_(std::exchange(other.is_owed_, false)) {}

DeferredReply& DeferredReply::operator=(DeferredReply&& other) noexcept {
    if (this == &other) return *this;
    DeferredReply old(std::move(*this));
    if (ReplySlot* const slot = other.cut()) link(*slot);
    is_owed_ = std::exchange(other.is_owed_, false);
    return *this;
}

DeferredReply::~DeferredReply() {
    if (is_owed_) send(no_answer.status, no_answer.content_type, no_answer.body);
}

void DeferredReply::send(int status, std::string_view content_type, std::string_view body,
                         std::span<const HttpHeader> headers) {
    CHECK(std::exchange(is_owed_, false));
    if (ReplySlot* const slot = cut()) {
        slot->queue.answer_slot(*slot, {status, content_type, body, headers});
    }
}

StreamedReply DeferredReply::stream(int status, std::string_view content_type,
                                    std::span<const HttpHeader> headers, StreamOptions options) {
    CHECK(std::exchange(is_owed_, false));
    ReplySlot* const slot = cut();
    if (slot == nullptr) return {};
    slot->on_abandoned = nullptr;
    const HttpResponse head{status, content_type, {}, headers, options.length};
    return slot->queue.stream_slot(*slot, head, std::move(options.on_abandoned));
}

void DeferredReply::close_after() {
    CHECK(is_owed_);
    if (slot_ == nullptr) return;
    slot_->terms.keep_alive = false;
    slot_->queue.refuse_more();
}

StreamedReply& StreamedReply::operator=(StreamedReply&& other) noexcept {
    if (this == &other) return *this;
    StreamedReply old(std::move(*this));
    if (ReplySlot* const slot = other.cut()) link(*slot);
    return *this;
}

void StreamedReply::send(std::string_view piece) {
    if (slot_ != nullptr) slot_->queue.append_piece(*slot_, piece);
}

void StreamedReply::call_when_sent(std::function<void()> on_room) {
    CHECK(slot_ != nullptr);
    slot_->queue.call_when_sent(*slot_, std::move(on_room));
}

bool StreamedReply::is_congested() const {
    return slot_ != nullptr && slot_->queue.congested(*slot_);
}

void StreamedReply::end() {
    if (ReplySlot* const slot = cut()) slot->queue.end_stream(*slot);
}

HttpReply::~HttpReply() {
    if (!used_) answer(no_answer);
}

void HttpReply::answer(const HttpResponse& response) {
    if (!may_send_at_once_) terms_.keep_alive = false;
    queue_.answer(response, terms_);
}

void HttpReply::send(int status, std::string_view content_type, std::string_view body,
                     std::span<const HttpHeader> headers) {
    CHECK(!std::exchange(used_, true));
    answer({status, content_type, body, headers});
}

DeferredReply HttpReply::defer(std::function<void()> on_abandoned) {
    CHECK(!std::exchange(used_, true));
    return queue_.defer(terms_, std::move(on_abandoned));
}

StreamedReply HttpReply::stream(int status, std::string_view content_type,
                                std::span<const HttpHeader> headers,
                                std::function<void()> on_abandoned) {
    CHECK(!std::exchange(used_, true));
    return queue_.stream({status, content_type, {}, headers}, terms_, std::move(on_abandoned));
}

}  // namespace holdfast::net

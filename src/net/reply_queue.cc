#include "net/reply_queue.h"

#include <memory>
#include <utility>
#include <vector>

#include "base/check.h"

namespace holdfast::net {

namespace {

constexpr HttpResponse no_answer{.status = 500,
                                 .content_type = "application/json",
                                 .body = "{\"error\":\"the request was not answered\"}\n"};

}  // namespace

ReplyQueue::ReplyQueue(Channel& channel, std::size_t pending_max)
    : channel_(channel), pending_max_(pending_max) {}

ReplyQueue::~ReplyQueue() {
    detach();
}

void ReplyQueue::answer(const HttpResponse& response, HttpTerms terms) {
    if (!terms.keep_alive) closing_ = true;
    if (slots_.empty()) {
        append_response(channel_.output(), response, terms);
        if (!terms.keep_alive) channel_.close_after_flush();
        return;
    }
    auto& slot = open_slot(terms);
    slot.answered = true;
    append_response(slot.answer, response, terms);
}

DeferredReply ReplyQueue::defer(const HttpTerms& terms, std::function<void()> on_abandoned) {
    if (!terms.keep_alive) closing_ = true;
    auto& slot = open_slot(terms);
    slot.on_abandoned = std::move(on_abandoned);
    return DeferredReply(slot);
}

void ReplyQueue::interim(std::string_view bytes) {
    if (slots_.empty()) {
        channel_.output().append(bytes);
        return;
    }
    auto& slot = open_slot({.keep_alive = true});
    slot.answered = true;
    slot.answer = bytes;
}

ReplySlot& ReplyQueue::open_slot(const HttpTerms& terms) {
    auto slot = std::make_unique<ReplySlot>();
    slot->queue = this;
    slot->terms = terms;
    slots_.push_back(*slot);
    if (full() && !std::exchange(paused_, true)) channel_.pause();
    return *slot.release();
}

void ReplyQueue::answer_slot(ReplySlot& slot, const HttpResponse& response) {
    const bool last = &slot == &slots_.back();
    if (channel_.draining() && last && !paused_) {
        slot.terms.keep_alive = false;
        closing_ = true;
    }
    slot.answered = true;
    slot.on_abandoned = nullptr;
    const bool first = &slot == &slots_.front();
    append_response(first ? channel_.output() : slot.answer, response, slot.terms);
    if (first) send_answered();
    channel_.flush();
}

void ReplyQueue::send_answered() {
    while (!slots_.empty() && slots_.front().answered) {
        const std::unique_ptr<ReplySlot> slot(&slots_.front());
        slots_.pop_front();
        channel_.output().append(slot->answer);
        if (!slot->terms.keep_alive) channel_.close_after_flush();
    }
    if (paused_ && !full()) {
        paused_ = false;
        channel_.resume();
    }
}

// A callback may answer, and so remove, any slot: begin again after each.
void ReplyQueue::abandon() {
    for (auto slot = slots_.begin(); slot != slots_.end();) {
        if (slot->answered || !slot->on_abandoned) {
            ++slot;
            continue;
        }
        std::exchange(slot->on_abandoned, nullptr)();
        slot = slots_.begin();
    }
}

void ReplyQueue::detach() {
    std::vector<std::function<void()>> untold;
    while (!slots_.empty()) {
        ReplySlot& slot = slots_.front();
        slots_.pop_front();
        slot.queue = nullptr;
        if (slot.answered) {
            delete &slot;
        } else if (slot.on_abandoned) {
            untold.push_back(std::exchange(slot.on_abandoned, nullptr));
        }
    }
    for (const auto& tell : untold) tell();
}

DeferredReply::DeferredReply(DeferredReply&& other) noexcept
    : slot_(std::exchange(other.slot_, nullptr)) {}

DeferredReply& DeferredReply::operator=(DeferredReply&& other) noexcept {
    DeferredReply old(std::move(*this));
    slot_ = std::exchange(other.slot_, nullptr);
    return *this;
}

DeferredReply::~DeferredReply() {
    if (slot_) send(no_answer.status, no_answer.content_type, no_answer.body);
}

void DeferredReply::send(int status, std::string_view content_type, std::string_view body,
                         std::span<const HttpHeader> headers) {
    CHECK(slot_);
    ReplySlot* const slot = std::exchange(slot_, nullptr);
    if (slot->queue) {
        slot->queue->answer_slot(*slot, {status, content_type, body, headers});
    } else {
        delete slot;
    }
}

HttpReply::~HttpReply() {
    if (!used_) queue_.answer(no_answer, terms_);
}

void HttpReply::send(int status, std::string_view content_type, std::string_view body,
                     std::span<const HttpHeader> headers) {
    CHECK(!std::exchange(used_, true));
    queue_.answer({status, content_type, body, headers}, terms_);
}

DeferredReply HttpReply::defer(std::function<void()> on_abandoned) {
    CHECK(!std::exchange(used_, true));
    return queue_.defer(terms_, std::move(on_abandoned));
}

}  // namespace holdfast::net

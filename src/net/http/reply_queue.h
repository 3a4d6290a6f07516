#pragma once

// ReplyQueue: makes answers leave in the order of their requests.
//
// While no answer is owed the queue is empty, and an answer goes straight into the channel's
// output. A reply that is deferred or streamed has a slot. Whatever is answered after it waits in a
// slot of its own until its turn comes: until it is at the front.
//
//     state of a slot   event                              next state
//     -                 HttpReply::defer()                 owed
//     -                 HttpReply::stream()                streamed
//     -                 HttpReply::send(), behind a slot   answered
//     owed              DeferredReply::send()              answered
//     owed              DeferredReply::stream()            streamed
//     streamed          StreamedReply::send()              streamed
//     streamed          StreamedReply::end(), or shutdown  answered
//     answered          it is at the front                 its bytes are output, the slot is gone
//     any               the connection is gone             the slot is gone
//
// What a slot at the front says goes straight into the output; what another slot says waits in its
// `answer`. The queue owns its slots. A slot that is owed or streamed is linked with its reply: the
// reply finds the slot, and the slot the reply. The link is cut, by whichever comes first, when the
// answer is complete or when the slot goes. A reply without a slot sends nothing.
//
// Answers that wait are memory that the peer gets for a few bytes of requests. So they are counted,
// and reading stops when they are too many (full()). The answer to a GET may be long: while it is
// not known, nothing behind it is read, and it counts as `unknown_answer_bytes`.
//
// Thread safety: only on the channel's loop.

#include <array>
#include <chrono>
#include <functional>
#include <list>
#include <string>

#include "net/http/http_parser.h"
#include "net/http/http_reply.h"
#include "net/loop/channel.h"

namespace holdfast::net {

struct ReplySlot {
    enum class State : std::uint8_t { owed, streamed, answered };

    ReplySlot(ReplyQueue& its_queue, const HttpTerms& its_terms)
        : queue(its_queue), terms(its_terms) {}

    ReplyQueue& queue;
    HttpTerms terms;
    State state = State::owed;
    ReplyLink* reply = nullptr;       // null: answered, or the shutdown has ended the stream
    std::uint64_t bytes_to_come = 0;  // with terms.plain: of those that were announced
    std::string answer = {};          // what waits for its turn
    std::size_t counted_bytes = 0;    // by the queue, for the answer
    int status = 0;                   // of the answer, once it is known
    std::function<void()> on_abandoned = {};
    std::function<void()> on_room = {};
};

class ReplyQueue {
  public:
    // The limits outlive the queue.
    ReplyQueue(Channel& channel, const HttpLimits& limits);
    ~ReplyQueue();
    ReplyQueue(const ReplyQueue&) = delete;
    ReplyQueue& operator=(const ReplyQueue&) = delete;

    [[nodiscard]] bool empty() const { return slots_.empty(); }
    // Whether another request would be too much: too many are unanswered, or too many bytes wait.
    // An empty queue is never full.
    [[nodiscard]] bool full() const;
    // Pauses the channel if the queue is full, until it is not. Returns whether it is full.
    [[nodiscard]] bool pause_if_full();
    // The channel gives input again, for whatever reason.
    void note_input() { paused_ = false; }
    // Whether an answer after which the connection closes has been given: no request may follow.
    [[nodiscard]] bool closing() const { return closing_; }

    void answer(const HttpResponse& response, const HttpTerms& terms);
    [[nodiscard]] DeferredReply defer(const HttpTerms& terms, std::function<void()> on_abandoned);
    // Answers a slot that is owed, and flushes.
    void answer_slot(ReplySlot& slot, const HttpResponse& response);
    // Sends, in its turn, an interim response such as `100 Continue`, to the request that is being
    // read.
    void interim(std::string_view bytes);
    // The same, to the last request that was handled and is unanswered.
    void interim_to_last(std::string_view bytes);
    // The connection closes after the last answer that is owed. REQUIRES: there is one.
    void close_after_last();
    // Tells the counts how long the answers took that were given at once, up to now: the clock is read
    // once for all of them. To be called at the end of each call into the protocol.
    void note_durations();
    // No further request may follow.
    void refuse_more() { closing_ = true; }

    // Begins a streamed answer with its header; `head` has no body.
    [[nodiscard]] StreamedReply stream(const HttpResponse& head, const HttpTerms& terms,
                                       std::function<void()> on_abandoned);
    // The same for a slot that is owed.
    [[nodiscard]] StreamedReply stream_slot(ReplySlot& slot, const HttpResponse& head,
                                            std::function<void()> on_abandoned);
    void call_when_sent(ReplySlot& slot, std::function<void()> on_room);
    // All output is sent: lets the reply at the front send more. Returns whether it did.
    [[nodiscard]] bool make_use_of_room();
    // Sends a piece of a streamed slot; ends it. Both flush.
    void append_piece(ReplySlot& slot, std::string_view piece);
    void end_stream(ReplySlot& slot);
    // Whether the channel is over its limit; or, if the slot is not at the front, whether too much
    // waits.
    [[nodiscard]] bool congested(const ReplySlot& slot) const;

    // Calls the on_abandoned of every reply that is owed or streamed, each once.
    void abandon();
    // Calls the on_abandoned of every streamed reply, unless it was called before, and ends those
    // streams that go on after the call.
    void end_streams();
    // The connection is gone: removes every slot, then calls every on_abandoned that was not called
    // before.
    void detach();

  private:
    ReplySlot& open_slot(const HttpTerms& terms);
    void close_if_draining(ReplySlot& slot);
    void count_at_once(const HttpTerms& terms, int status);
    static void count_late(const ReplySlot& slot);
    std::string& place_for(ReplySlot& slot);
    void count(ReplySlot& slot);
    void resume_unless_full();
    void finish(ReplySlot& slot);
    void send_answered();

    Channel& channel_;
    const HttpLimits& limits_;
    bool closing_ = false;
    bool paused_ = false;
    std::size_t waiting_bytes_ = 0;  // what count() has counted
    // Of answers that were given at once: whose duration is not counted yet.
    struct Timed {
        RouteCounts* counts;
        std::chrono::steady_clock::time_point begun;
    };
    std::array<Timed, 16> untimed_;
    std::size_t untimed_count_ = 0;
    std::list<ReplySlot> slots_;
};

}  // namespace holdfast::net

#pragma once

// Protocol and Channel: the two sides of a connection.
//
// The network gives a Protocol bytes, and the Protocol appends answers to its Channel. Neither
// knows whether there is a socket, a TLS stream or a test behind the other.
//
// Thread safety: both live on one loop and are called on its thread only.
// Lifetime: the connection owns its protocol; a protocol may use its channel until on_closed() has
// returned.

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace holdfast::net {

// What a protocol may do to its connection. Nothing here calls back into the protocol.
class Channel {
  public:
    // The unsent bytes: append only, and do not change what is there. Bytes that are appended
    // during on_input(), on_end_of_input() or on_read_timeout() are sent at the end of this turn.
    [[nodiscard]] virtual std::string& output() = 0;

    // Sends, at the end of this turn, bytes that were appended outside of those calls.
    virtual void flush() = 0;

    // Sends output() and closes. The protocol gets no further input.
    virtual void close_after_flush() = 0;

    // Sends output() and tells the peer that nothing more will come. Input goes on. The connection
    // closes when the input has ended, too, and the protocol is idle.
    virtual void finish_output() = 0;

    // Closes at the end of this turn. Unsent output is lost.
    virtual void cut() = 0;

    // Holds back further input: on_input() is not called until resume(), however much arrives. The
    // protocol is still told at once if the peer goes away.
    virtual void pause() = 0;
    virtual void resume() = 0;

    // Whether so much output waits for a slow peer that no more should be appended for now.
    [[nodiscard]] virtual bool congested() const = 0;

    // Whether on_input() should return before it handles another request: the channel is congested,
    // or this connection has worked long enough and others should have their turn. on_input() is
    // called again with the rest. Always false before the first request of a call, unless the
    // channel is congested.
    [[nodiscard]] virtual bool should_return() = 0;

    // Tells that this many more bytes (fewer, if negative) of answers wait outside of output(),
    // because an earlier request of this connection is unanswered.
    virtual void count_waiting(std::ptrdiff_t bytes) = 0;

    // Whether the waiting answers of all connections leave room for one more. If not, on_input()
    // should call pause() before a request whose answer would have to wait, and return. The channel
    // resumes by itself when there is room.
    [[nodiscard]] virtual bool has_room_to_wait() = 0;

    // Whether the server is shutting down: the connection will close soon, at the latest when
    // everything is done that was under way when the shutdown began.
    [[nodiscard]] virtual bool draining() const = 0;

    // The address of the client as text, for people: that of the real client if the connection came
    // through another node. `unix` for a Unix socket; empty if it is not known any more.
    [[nodiscard]] virtual std::string client_address() const = 0;

    // Whether the client may be at work, although its connection ends: it came through another
    // node, and that node has not said that the client has left. So the node, or the network
    // between the nodes, was lost. Locks that end with the client's connection must stay then.
    [[nodiscard]] virtual bool is_client_lost() const = 0;

    // When this turn began.
    [[nodiscard]] virtual std::chrono::steady_clock::time_point now() const = 0;

  protected:
    ~Channel() = default;
};

// The address of a client without its port. It is looked up when it is asked for first.
class ClientHost {
  public:
    // The channel outlives this.
    explicit ClientHost(const Channel& channel) : channel_(channel) {}

    [[nodiscard]] const std::string& text() const {
        if (!text_) text_ = without_port(channel_.client_address());
        return *text_;
    }

  private:
    static std::string without_port(std::string address) {
        address.resize(std::min(address.rfind(':'), address.size()));
        const bool is_in_brackets = address.starts_with('[') && address.ends_with(']');
        return is_in_brackets ? address.substr(1, address.size() - 2) : address;
    }

    const Channel& channel_;
    mutable std::optional<std::string> text_;
};

// What speaks over a connection; one object for each.
class Protocol {
  public:
    virtual ~Protocol() = default;

    // Handles the whole requests at the front of `input` and returns their size. The rest comes
    // again, with more behind it; all views are valid during the call only. A protocol may leave
    // whole requests unhandled only if it has called pause() or should_return() was true.
    [[nodiscard]] virtual std::size_t on_input(std::string_view input) = 0;

    // The peer has stopped sending: it is dead, or has half-closed and waits for its answers.
    // Called once; while paused, before the input that is held back. The connection closes by
    // itself when the protocol is idle.
    virtual void on_end_of_input() {}

    // All input has come, and on_input() has seen all of it; the rest is the beginning of a
    // request. Called once at most, after on_end_of_input().
    virtual void on_end_of_data() {}

    // All output is sent. Returns whether there is more of it now.
    [[nodiscard]] virtual bool on_output_sent() { return false; }

    // Whether the peer is sending something long, and must continue in time.
    [[nodiscard]] virtual bool awaits_input() const { return false; }

    // Whether all input matters that the peer sent before it closed, even if nothing can be sent to
    // the peer any more. If so, the connection closes only when all of it was handled.
    [[nodiscard]] virtual bool wants_all_input() const { return false; }

    // The server shuts down: ends what would not end by itself. Called once at most.
    virtual void on_drain() {}

    // A request began but was not whole in time; or the peer did not continue what awaits_input()
    // is about. The connection stays open unless the protocol closes it, and is not timed again for
    // the same bytes.
    virtual void on_read_timeout() = 0;

    // The connection is gone. The last call.
    virtual void on_closed() {}

    // Whether nothing is owed to the peer: no request half read or unanswered.
    [[nodiscard]] virtual bool idle() const = 0;
};

}  // namespace holdfast::net

#pragma once

// Http2Session: the client's side of HTTP/2 with one member of etcd, without a socket.
//
// Bytes from the peer go in by receive(), bytes for the peer are taken from output(). A request is a
// stream; its answer is messages and one end. libnghttp2 is hidden here.
//
// Before the peer's first SETTINGS frame it is not known whether the peer speaks HTTP/2 at all, so
// is_greeted() is false and nothing should be requested.
//
// Bytes of any kind are borne: receive() fails, or is_over() is true when the peer has been told what
// is wrong. The session is of no more use then.
//
// Thread safety: none.
// Lifetime: outlived by its listener, which is called from inside receive() and output(), and must
// not destroy the session then.

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "etcd/wire/grpc.h"

struct nghttp2_session;  // NOLINT(readability-identifier-naming): libnghttp2's

namespace holdfast::etcd {

using StreamId = std::int32_t;

struct Http2Request {
    std::string path;
    std::string token;  // of authentication; empty: none
    // The member must know a leader, or refuse.
    bool needs_leader = false;
    // More may follow, so the request has no end. A watch is such a request.
    bool stays_open = false;
    std::shared_ptr<const std::string> frame;  // of gRPC
};

class Http2Listener {
  public:
    virtual void on_message(StreamId stream, std::string message) = 0;
    // The stream is over: the last that is heard of it.
    virtual void on_end(StreamId stream, StreamEnd end) = 0;

  protected:
    ~Http2Listener() = default;
};

class Http2Session {
  public:
    // `authority` is HOST:PORT, as the peer is called.
    Http2Session(std::string authority, bool is_tls, Http2Listener& listener);
    ~Http2Session();
    Http2Session(const Http2Session&) = delete;
    Http2Session& operator=(const Http2Session&) = delete;

    // What the peer has sent. False if that is not HTTP/2: the connection must be closed.
    [[nodiscard]] bool receive(std::string_view bytes);

    // What has to be sent. Valid until the next call of anything else.
    [[nodiscard]] std::string_view output();
    // The first `count` bytes of the output were sent.
    void sent(std::size_t count);

    // No value if there can be no more streams on this connection.
    [[nodiscard]] std::optional<StreamId> request(const Http2Request& request);
    // Nothing more is heard of the stream.
    void cancel(StreamId id);
    // Asks the peer for a sign of life.
    void ping();

    // Whether everything was said: after an error of the peer, for one. Looked at when there is no
    // more output.
    [[nodiscard]] bool is_over() const;
    [[nodiscard]] bool is_greeted() const { return is_greeted_; }
    // The peer takes no new requests, but finishes those that it has.
    [[nodiscard]] bool is_leaving() const { return is_leaving_; }

  private:
    struct Stream;
    struct Callbacks;

    std::string authority_;
    const bool is_tls_;
    Http2Listener& listener_;
    // Those that are not closed, cancelled ones too. libnghttp2 reads their requests, so they outlive
    // the session.
    std::map<StreamId, Stream> streams_;
    std::unique_ptr<nghttp2_session, void (*)(nghttp2_session*)> session_;
    std::string output_;
    std::size_t output_sent_ = 0;
    bool is_greeted_ = false;
    bool is_leaving_ = false;
};

}  // namespace holdfast::etcd

#pragma once

// Bodies that are taken in pieces, as they arrive: for handlers of bodies that are too large to be
// held in memory.
//
// Thread safety: only on the thread of the connection's loop.

#include <string_view>

#include "net/http/http_message.h"

namespace holdfast::net {

// Why a request is refused by the server itself. The connection closes after it.
struct HttpFault {
    int status;
    std::string_view json;  // the whole body, fixed text
};

// Takes the body of one request. It is the connection's: destroyed when the body is whole, has
// failed, or will never be whole because the connection is gone; then without any call before.
class BodySink {
  public:
    virtual ~BodySink() = default;

    // One more piece, good during the call; never an empty one.
    virtual void on_piece(std::string_view piece) = 0;

    // That was all of it.
    virtual void on_whole() = 0;

    // It is malformed, or stopped arriving: that is the answer to give, if none was given. The
    // connection closes after it.
    virtual void on_fault(const HttpFault& fault) = 0;

    // Whether no more pieces should come for now. BodySource::resume() tells that they may again. A
    // client that asks before it sends its body (`Expect: 100-continue`) is answered when they may.
    [[nodiscard]] virtual bool is_congested() const = 0;

    // Whether the body is of any use still. Of one that is not, what comes is read past, and a
    // client that has asked whether to send it is told no more than the answer.
    [[nodiscard]] virtual bool is_wanted() const { return true; }
};

// Where a sink's body comes from. Lives as long as the sink.
class BodySource {
  public:
    // The sink is no longer congested.
    virtual void resume() = 0;

  protected:
    ~BodySource() = default;
};

}  // namespace holdfast::net

#pragma once

// Exchange: a request whose answer comes later, from a thread of the disk or from the lock service.

#include <functional>
#include <memory>
#include <utility>

#include "doors/hengdang/hengdang_door.h"
#include "net/http/http_reply.h"
#include "net/loop/event_loop.h"
#include "service/ports/port.h"

namespace holdfast::doors::hengdang {

// The surroundings of a request. Loop and port outlive the request. The request shares the door with
// all others, so that the door exists until the last of them is done.
struct HengdangContext {
    std::shared_ptr<HengdangDoor> door;
    net::EventLoop& loop;
    service::Port& port;  // of the loop
};

// Thread safety: answer() and reply() only on the loop. Any thread may own the object, but the last
// owner must be on the loop unless it is answered.
class Exchange {
  public:
    Exchange(const HengdangContext& context, FileOperation operation, net::DeferredReply reply)
        : context_(context), operation_(operation), reply_(std::move(reply)) {}

    [[nodiscard]] const HengdangContext& context() const { return context_; }
    [[nodiscard]] net::DeferredReply& reply() { return reply_; }

    // REQUIRES: not answered yet.
    void answer(const FileAnswer& answer) {
        context_.door->counts().count_answer(operation_, answer.status);
        send(reply_, answer);
    }

  private:
    const HengdangContext context_;
    const FileOperation operation_;
    net::DeferredReply reply_;
};

// Runs `work` on a thread of the pool and answers with its result.
inline void answer_from(base::WorkPool& pool, std::shared_ptr<Exchange> exchange,
                        std::function<FileAnswer()> work) {
    pool.run([exchange = std::move(exchange), work = std::move(work)]() mutable {
        auto answer = std::make_shared<const FileAnswer>(work());
        net::EventLoop& loop = exchange->context().loop;
        loop.post([exchange = std::move(exchange), answer] { exchange->answer(*answer); });
    });
}

}  // namespace holdfast::doors::hengdang

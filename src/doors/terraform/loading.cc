// GET of a state, and the requests that are answered with a short text: see state_requests.h.

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "doors/terraform/state_requests.h"

namespace holdfast::doors::terraform {

namespace {

constexpr std::size_t load_piece_bytes = 256 * 1024;

class Loading : public std::enable_shared_from_this<Loading> {
  public:
    Loading(const TerraformContext& context, LoadRequest request, net::DeferredReply reply)
        : context_(context), request_(std::move(request)), reply_(std::move(reply)) {}

    void begin() {
        context_.door.disk().run([self = shared_from_this()]() mutable {
            self->refusal_ = self->open();
            if (!self->refusal_) self->read_next();
            post(std::move(self), &Loading::answer);
        });
    }

  private:
    // Goes on in a turn of the loop, which becomes the only owner.
    static void post(std::shared_ptr<Loading> self, void (Loading::*next)()) {
        net::EventLoop& loop = self->context_.loop;
        loop.post([self = std::move(self), next] { ((*self).*next)(); });
    }

    // On the threads of the disk.

    Objection open() {
        const auto store = context_.door.store();
        if (!store) return store.error();
        auto found = (*store)->open_version(request_.name, request_.version);
        if (!found) return refuse(found.error());
        file_ = std::move(*found);
        return {};
    }

    // Nothing is read if the disk fails.
    void read_next() {
        piece_.resize(std::min<std::uint64_t>(load_piece_bytes, file_.version.size_bytes - read_));
        ssize_t count = 0;
        do {
            count = ::pread(file_.descriptor.get(), piece_.data(), piece_.size(),
                            static_cast<off_t>(read_));
        } while (count < 0 && errno == EINTR);
        piece_.resize(count < 0 ? 0 : static_cast<std::size_t>(count));
        read_ += piece_.size();
    }

    // On the loop.

    void answer() {
        if (!refusal_ && piece_.empty()) refusal_ = refuse(500, "the state cannot be read");
        if (refusal_) return send(reply_, *refusal_);
        const std::string version = std::to_string(file_.version.number);
        const net::HttpHeader headers[] = {{"Cache-Control", "no-store"},
                                           {"Holdfast-Version", version}};
        stream_ =
            reply_.stream(200, "application/json", headers, {.length = file_.version.size_bytes});
        send_piece();
    }

    // REQUIRES: no piece is being read, and the last one has left.
    void send_piece() {
        if (!stream_) return;
        stream_.send(piece_);
        // Without the next piece the connection is broken off: its length was announced.
        if (read_ == file_.version.size_bytes || piece_.empty()) return stream_.end();
        steps_left_ = 2;
        stream_.call_when_sent([self = shared_from_this()] { self->go_on(); });
        context_.door.disk().run([self = shared_from_this()]() mutable {
            self->read_next();
            post(std::move(self), &Loading::go_on);
        });
    }

    // Called twice for each piece: when the last one has left, and when the next one was read.
    void go_on() {
        if (--steps_left_ == 0) send_piece();
    }

    const TerraformContext context_;
    const LoadRequest request_;
    // Used by the thread of the disk while it works, by the loop otherwise.
    Objection refusal_;
    files::OpenVersion file_;
    std::string piece_;
    std::uint64_t read_ = 0;
    // On the loop.
    net::DeferredReply reply_;
    net::StreamedReply stream_;
    int steps_left_ = 0;  // before the next piece is sent: see go_on()
};

}  // namespace

void begin_loading(const TerraformContext& context, LoadRequest request, net::HttpReply& reply) {
    std::make_shared<Loading>(context, std::move(request), reply.defer())->begin();
}

void begin_work(const TerraformContext& context, StateWork work, net::HttpReply& reply) {
    auto later = std::make_shared<net::DeferredReply>(reply.defer());
    context.door.disk().run([context, work = std::move(work), later = std::move(later)]() mutable {
        const auto store = context.door.store();
        auto answer = std::make_shared<const StateAnswer>(store ? work(context.door, **store)
                                                                : store.error());
        context.loop.post([later = std::move(later), answer] { send(*later, *answer); });
    });
}

}  // namespace holdfast::doors::terraform

#include "net/loop/server.h"

#include <utility>

#include "base/check.h"

namespace holdfast::net {

base::Result<std::unique_ptr<Server>> Server::start(const Endpoint& endpoint,
                                                    const std::vector<EventLoop*>& loops,
                                                    ProtocolFactory factory,
                                                    ServerOptions options) {
    CHECK(!loops.empty());
    TRY(auto listener, Listener::open(*loops.front(), endpoint));
    return std::unique_ptr<Server>(
        new Server(std::move(listener), loops, std::move(factory), std::move(options)));
}

Server::Server(std::unique_ptr<Listener> listener, const std::vector<EventLoop*>& loops,
               ProtocolFactory factory, ServerOptions options)
    : options_(std::move(options)),
      factory_(std::move(factory)),
      waiting_room_(options_.waiting_bytes_max),
      listener_(std::move(listener)),
      turned_away_(*loops.front(), options_.turn_away_text) {
    const ConnectionSet::Common common{.limits = options_.limits,
                                       .factory = factory_,
                                       .waiting_room = waiting_room_,
                                       .tls = options_.tls,
                                       .divert = options_.divert};
    for (EventLoop* loop : loops) {
        sets_.push_back(std::make_unique<ConnectionSet>(*loop, common));
    }
    sets_busy_ = sets_draining_ = sets_.size();
    loops.front()->post([this] {
        listener_->start([this](Transport transport) { accept(std::move(transport)); },
                         options_.on_error);
    });
}

Server::~Server() = default;

ServerCounts Server::counts() const {
    ServerCounts counts;
    for (const auto& set : sets_) counts.connections += set->size_with_diverted();
    counts.accepted = accepted_.load(std::memory_order_relaxed);
    counts.refused = refused_.load(std::memory_order_relaxed);
    counts.waiting_bytes = waiting_room_.bytes();
    return counts;
}

// On the first loop.
void Server::accept(Transport transport) {
    if (!is_full()) return deal(std::move(transport), nullptr);
    if (options_.tls == nullptr) turned_away_.add(std::move(transport));
    if (options_.on_refused) options_.on_refused();
}

// Counts a connection that has come. True: there are too many.
bool Server::is_full() {
    accepted_.fetch_add(1, std::memory_order_relaxed);
    if (counts().connections < options_.connections_max) return false;
    refused_.fetch_add(1, std::memory_order_relaxed);
    return true;
}

void Server::deal(Transport transport, std::shared_ptr<const Peer> peer) {
    const std::size_t next = next_set_.fetch_add(1, std::memory_order_relaxed);
    sets_[next % sets_.size()]->hand_over(std::move(transport), std::move(peer));
}

bool Server::adopt(Transport transport, std::shared_ptr<const Peer> peer) {
    CHECK(peer);
    if (is_full()) {
        // This may be the thread of another loop.
        if (options_.on_refused) sets_.front()->loop().post(options_.on_refused);
        return false;
    }
    deal(std::move(transport), std::move(peer));
    return true;
}

void Server::send_away() {
    for (const auto& owned : sets_) {
        ConnectionSet& set = *owned;
        set.loop().post([&set] { set.send_away(); });
    }
}

void Server::begin_shut_down(const std::function<void()>& on_quiet) {
    EventLoop& first = sets_.front()->loop();
    for (const auto& owned : sets_) {
        ConnectionSet& set = *owned;
        set.loop().post([this, &first, &set, on_quiet] {
            set.begin_drain([this, &first, on_quiet] {
                if (sets_busy_.fetch_sub(1) == 1) first.post(on_quiet);
            });
        });
    }
}

// Posts to the accepting loop first. So connections that it has handed over are in the queues of
// the other loops before the call to drain.
void Server::shut_down(std::chrono::milliseconds grace, std::function<void()> on_done) {
    EventLoop& first = sets_.front()->loop();
    first.post([this, grace, &first, on_done = std::move(on_done)] {
        listener_->stop();
        turned_away_.close_all();
        for (const auto& owned : sets_) {
            ConnectionSet& set = *owned;
            set.loop().post([this, grace, &first, &set, on_done] {
                set.drain(grace, [this, &first, on_done] {
                    if (sets_draining_.fetch_sub(1) == 1) first.post(on_done);
                });
            });
        }
    });
}

}  // namespace holdfast::net

#include "app/cluster/leader_finder.h"

#include <poll.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/log/log.h"
#include "net/client/address_lookup.h"

namespace holdfast::app {

namespace {

constexpr std::chrono::milliseconds lookup_timeout{2'000};

net::Endpoint to_endpoint(const net::SocketAddress& address) {
    boost::asio::ip::tcp::endpoint endpoint;
    std::memcpy(endpoint.data(), address.data(), address.size);
    return endpoint;
}

// A name server may give them in another order each time.
std::vector<std::string> sorted_texts(const LeaderFinder::Addresses& addresses) {
    std::vector<std::string> texts;
    for (const net::Endpoint& address : addresses) texts.push_back(net::to_text(address));
    std::ranges::sort(texts);
    return texts;
}

}  // namespace

std::string host_of_peer(const std::string& peer) {
    std::string host = peer.substr(0, peer.rfind(':'));
    if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
    return host;
}

base::Result<LeaderFinder::Addresses> look_up_peer(const std::string& peer) {
    TRY(const auto lookup,
        net::AddressLookup::start(host_of_peer(peer), peer.substr(peer.rfind(':') + 1)));
    if (lookup->descriptor() >= 0) {
        pollfd waiting{.fd = lookup->descriptor(), .events = POLLIN, .revents = 0};
        if (::poll(&waiting, 1, static_cast<int>(lookup_timeout.count())) != 1) {
            return base::fail("the name server does not answer");
        }
    }
    TRY(const auto found, lookup->take());
    LeaderFinder::Addresses addresses;
    for (const net::SocketAddress& address : found) addresses.push_back(to_endpoint(address));
    return addresses;
}

LeaderFinder::LeaderFinder(Parts parts)
    : parts_(std::move(parts)), timer_(parts_.loop, [this] { look_after(); }) {}

void LeaderFinder::find(const std::string& peer) {
    peer_ = peer;
    found_.clear();
    set_trouble("");
    look_up();
    timer_.call_at(net::EventLoop::Clock::now() + parts_.interval);
}

void LeaderFinder::stop() {
    peer_.clear();
    found_.clear();
    ++search_;
    is_searching_ = false;
    set_trouble("");
    timer_.cancel();
}

void LeaderFinder::look_after() {
    timer_.call_at(net::EventLoop::Clock::now() + parts_.interval);
    if (!is_searching_ && (found_.empty() || parts_.fails())) look_up();
}

void LeaderFinder::look_up() {
    is_searching_ = true;
    threads_.run([this, search = ++search_, peer = peer_] {
        auto answer = parts_.look_up(peer);
        parts_.loop.post([this, search, answer = std::move(answer)] {
            if (search == search_) on_answer(answer);
        });
    });
}

void LeaderFinder::on_answer(const base::Result<Addresses>& answer) {
    is_searching_ = false;
    if (!answer) {
        if (!found_.empty()) return;  // the old ones may work again
        if (trouble().empty()) {
            base::log(base::LogLevel::error, "the leader cannot be found; trying again",
                      {{"address", peer_}, {"error", answer.error().message}});
        }
        return set_trouble("the leader cannot be found at " + peer_ + ": " +
                           answer.error().message);
    }
    set_trouble("");
    const bool is_same = found_ == sorted_texts(*answer);
    found_ = sorted_texts(*answer);
    is_same ? parts_.on_found_again() : parts_.on_found(*answer);
}

void LeaderFinder::set_trouble(const std::string& trouble) {
    const std::lock_guard guard(mutex_);
    trouble_ = trouble;
}

std::string LeaderFinder::trouble() const {
    const std::lock_guard guard(mutex_);
    return trouble_;
}

}  // namespace holdfast::app

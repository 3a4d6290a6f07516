#include "net/loop/turned_away.h"

#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <utility>

namespace holdfast::net {

namespace {

// How often the peers are looked at. There are only a few, and only when a server is full.
constexpr std::chrono::milliseconds tick{20};

// Throws away what has arrived, a bounded amount of it. Returns whether the peer has closed.
bool has_closed(int descriptor) {
    constexpr int receives_max = 8;
    std::array<char, 8192> unread{};
    for (int i = 0; i < receives_max; ++i) {
        const ssize_t size = ::recv(descriptor, unread.data(), unread.size(), MSG_DONTWAIT);
        if (size > 0) continue;
        return size == 0 || (errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR);
    }
    return false;
}

}  // namespace

TurnedAway::TurnedAway(EventLoop& loop, std::string text)
    : loop_(loop), text_(std::move(text)), timer_(loop, [this] { look(); }) {}

void TurnedAway::add(Transport transport) {
    if (text_.empty()) return;
    const int descriptor = transport.descriptor();
    const ssize_t sent =
        ::send(descriptor, text_.data(), text_.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
    if (sent < 0 || ::shutdown(descriptor, SHUT_WR) != 0) return;
    if (kept_.size() >= kept_max) kept_.pop_front();
    if (kept_.empty()) timer_.call_at(loop_.now() + tick);
    kept_.push_back({.transport = std::move(transport), .until = loop_.now() + kept_time_max});
}

void TurnedAway::look() {
    for (Kept& kept : kept_) {
        kept.is_gone = kept.until <= loop_.now() || has_closed(kept.transport.descriptor());
        if (kept.is_gone) kept.transport.close();
    }
    // All are kept for the same time, so those that stay are not many, and go soon.
    std::deque<Kept> staying;
    for (Kept& kept : kept_) {
        if (!kept.is_gone) staying.push_back(std::move(kept));
    }
    kept_.swap(staying);
    if (!kept_.empty()) timer_.call_at(loop_.now() + tick);
}

void TurnedAway::close_all() {
    timer_.cancel();
    kept_.clear();
}

}  // namespace holdfast::net

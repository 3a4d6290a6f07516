#include "net/loop/arrival.h"

#include <utility>

#include "net/loop/connection_set.h"

namespace holdfast::net {

Arrival::Arrival(ConnectionSet& set, Transport transport)
    : set_(&set), transport_(std::move(transport)) {
    set_->diverted_.fetch_add(1, std::memory_order_relaxed);
}

Arrival::Arrival(Arrival&& other) noexcept
    : set_(std::exchange(other.set_, nullptr)), transport_(std::move(other.transport_)) {}

Arrival::~Arrival() {
    if (set_) set_->diverted_.fetch_sub(1, std::memory_order_relaxed);
}

EventLoop& Arrival::loop() const {
    return set_->loop();
}

// The connection is counted twice for a moment, never not at all.
void Arrival::serve() && {
    set_->size_.fetch_add(1, std::memory_order_relaxed);
    set_->serve(std::move(transport_), nullptr);
}

}  // namespace holdfast::net

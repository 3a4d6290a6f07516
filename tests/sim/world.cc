#include "sim/world.h"

#include <algorithm>
#include <tuple>

namespace holdfast::sim {

void History::add(std::string line) {
    for (const char letter : line) {  // FNV-1a: the same on every machine
        hash_ = (hash_ ^ static_cast<unsigned char>(letter)) * 0x100000001b3;
    }
    lines_.push_back(std::move(line));
    if (lines_.size() > lines_max_) lines_.pop_front();
}

bool World::is_later(const Event& a, const Event& b) {
    return std::tie(a.moment, a.order, a.number) > std::tie(b.moment, b.order, b.number);
}

void World::at(Moment moment, std::function<void()> action) {
    push(std::max(moment, now_), 1 + (random_.bits() >> 1), std::move(action));
}

void World::next(std::function<void()> action) {
    push(now_, 0, std::move(action));
}

void World::push(Moment moment, std::uint64_t order, std::function<void()> action) {
    events_.push_back(
        {.moment = moment, .order = order, .number = ++pushed_, .action = std::move(action)});
    std::push_heap(events_.begin(), events_.end(), is_later);
}

bool World::step(Moment end) {
    if (events_.empty() || events_.front().moment > end) return false;
    std::pop_heap(events_.begin(), events_.end(), is_later);
    const Event event = std::move(events_.back());
    events_.pop_back();
    now_ = event.moment;
    ++steps_;
    event.action();
    return true;
}

void World::accuse(int invariant, std::string what) {
    note("VIOLATION of ({}): {}", invariant, what);
    if (violation_) return;
    violation_ = Violation{.invariant = invariant, .what = std::move(what), .step = steps_};
}

double World::seconds() const {
    return std::chrono::duration<double>(now_.time_since_epoch()).count();
}

}  // namespace holdfast::sim

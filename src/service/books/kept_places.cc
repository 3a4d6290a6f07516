#include "service/books/kept_places.h"

#include "base/check.h"

namespace holdfast::service {

void KeptPlaces::keep(core::WaiterId waiter, core::Time until) {
    CHECK(places_.empty() || places_.back().until <= until);
    const Place place = places_.insert(places_.end(), {.waiter = waiter, .until = until});
    CHECK(by_serial_.find(waiter.serial) == nullptr);
    by_serial_[waiter.serial] = place;
}

void KeptPlaces::grant(core::WaiterId waiter, core::Token lease) {
    const Place* const found = by_serial_.find(waiter.serial);
    if (found != nullptr) (*found)->grant = lease;
}

std::optional<KeptPlace> KeptPlaces::take(core::WaiterId waiter) {
    const Place* const found = by_serial_.find(waiter.serial);
    if (found == nullptr) return std::nullopt;
    return remove(*found);
}

std::optional<KeptPlace> KeptPlaces::take_due(core::Time now) {
    if (places_.empty() || places_.front().until > now) return std::nullopt;
    return remove(places_.begin());
}

std::optional<KeptPlace> KeptPlaces::take_any() {
    if (places_.empty()) return std::nullopt;
    return remove(places_.begin());
}

std::optional<core::Time> KeptPlaces::next_deadline() const {
    if (places_.empty()) return std::nullopt;
    return places_.front().until;
}

void KeptPlaces::clear() {
    places_.clear();
    by_serial_.clear();
}

KeptPlace KeptPlaces::remove(Place place) {
    KeptPlace taken = *place;
    by_serial_.erase(taken.waiter.serial);
    places_.erase(place);
    return taken;
}

}  // namespace holdfast::service

#include "service/books/request_memory.h"

#include <algorithm>
#include <random>
#include <utility>

#include "service/ports/port.h"

namespace holdfast::service {

namespace {

using State = RequestMemory::Known::State;

// Every part but the last is preceded by its length, so that no two requests have one key.
std::string key_of(const core::Owner& owner, const std::string& scope_text, std::string_view id) {
    std::string key = std::to_string(static_cast<unsigned>(owner.door));
    for (const std::string_view part : {owner.name, std::string_view(scope_text)}) {
        key.append(":").append(std::to_string(part.size())).append(":").append(part);
    }
    return key.append(":").append(id);
}

std::string key_of(const core::AcquireRequest& request) {
    // A set is another thing than its first scope alone.
    const bool is_set = request.members.size() > 1;
    return key_of(request.owner,
                  is_set ? core::set_to_text(request.members) : core::to_text(request.scope),
                  request.notes.request_id);
}

std::string key_of(const core::LeaseView& lease) {
    const bool is_set = !lease.members.empty();
    return key_of(lease.owner, is_set ? std::string(lease.members) : core::to_text(lease.scope),
                  lease.notes.request_id);
}

// What the id of an ended lease takes: its key twice, and the records around that.
std::size_t bytes_of(const std::string& key) {
    constexpr std::size_t records = 256;
    return 2 * key.size() + records;
}

}  // namespace

std::uint32_t RequestMemory::KeyHash::operator()(std::string_view key) const {
    static const std::uint64_t seed = std::random_device{}() * std::uint64_t{0x9e3779b97f4a7c15};
    return static_cast<std::uint32_t>(core::hash_text(seed, key));
}

const RequestMemory::Known* RequestMemory::find(const core::AcquireRequest& request,
                                                std::string_view by, core::Time now) const {
    if (request.notes.request_id.empty()) return nullptr;
    const std::vector<Known>* const all = known_.find(key_of(request));
    if (all == nullptr) return nullptr;
    const std::string_view token_name = access_token_in(by);
    const Known* of_no_token = nullptr;
    for (const Known& known : *all) {
        if (known.state == State::ended && now - known.ended_at >= ended_kept) continue;
        if (known.token_name == token_name) return &known;
        if (known.token_name.empty()) of_no_token = &known;
    }
    return of_no_token;
}

template <class Predicate>
RequestMemory::Known* RequestMemory::find_if(const std::string& key, Predicate is_meant) {
    std::vector<Known>* const all = known_.find(key);
    if (all == nullptr) return nullptr;
    const auto found = std::find_if(all->begin(), all->end(), is_meant);
    return found == all->end() ? nullptr : &*found;
}

template <class Predicate>
void RequestMemory::erase_if(const std::string& key, Predicate is_meant) {
    std::vector<Known>* const all = known_.find(key);
    if (all == nullptr) return;
    size_ -= std::erase_if(*all, is_meant);
    if (all->empty()) known_.erase(key);
}

// Replaces what was known of the request of the same token.
void RequestMemory::put(const std::string& key, Known known) {
    Known* const found =
        find_if(key, [&](const Known& other) { return other.token_name == known.token_name; });
    if (found != nullptr) {
        *found = std::move(known);
    } else {
        known_[key].push_back(std::move(known));
        ++size_;
    }
}

bool RequestMemory::asks_for_the_same(const core::AcquireRequest& request, const Known& known) {
    if (request.members.size() > 1) return true;  // the key has the modes and limits
    if (request.scope.kind == core::ScopeKind::semaphore) return request.limit == known.limit;
    return request.mode == known.mode;
}

void RequestMemory::on_event(const core::Event& event) {
    const core::LeaseView& lease = event.lease;
    if (lease.notes.request_id.empty()) return;
    Known known{
        .waiter = event.waiter, .token = lease.token, .mode = lease.mode, .limit = event.limit};
    switch (event.kind) {
        case core::EventKind::queued:
            known.token = {};
            known.token_name = access_token_in(event.by);
            put(key_of(lease), std::move(known));
            break;
        case core::EventKind::granted:
            known.state = State::held;
            known.token_name = access_token_in(event.by);
            put(key_of(lease), std::move(known));
            break;
        case core::EventKind::wait_timed_out:
        case core::EventKind::wait_cancelled:
            erase_if(key_of(lease), [&](const Known& other) {
                return other.state == State::waiting && other.waiter == event.waiter;
            });
            break;
        case core::EventKind::released:
        case core::EventKind::expired: end(key_of(lease), event); break;
        case core::EventKind::renewed:
        case core::EventKind::grace_ended:
        case core::EventKind::session_opened:
        case core::EventKind::session_ended:
        case core::EventKind::value_set:
        case core::EventKind::deadlock: return;
    }
    forget_old(event.at);
}

void RequestMemory::forget(const core::Event& event) {
    erase_if(key_of(event.lease),
             [&](const Known& known) { return known.token == event.lease.token; });
}

void RequestMemory::on_restored(const core::RestoreRequest& lease) {
    if (lease.notes.request_id.empty() || lease.is_in_grace) return;
    put(key_of(lease), {.state = State::held,
                        .token = lease.token,
                        .mode = lease.mode,
                        .limit = lease.limit,
                        .token_name = std::string(access_token_in(lease.by))});
}

void RequestMemory::end(std::string key, const core::Event& event) {
    const core::Token token = event.lease.token;
    Known known{.state = State::ended,
                .token = token,
                .ended_at = event.at,
                .mode = event.lease.mode,
                .limit = event.limit};
    // The event says who has ended the lease. What is known says who was granted it.
    const Known* const found =
        find_if(key, [&](const Known& other) { return other.token == token; });
    if (found != nullptr) known.token_name = found->token_name;
    put(key, std::move(known));
    ended_bytes_ += bytes_of(key);
    ended_.push_back({.key = std::move(key), .token = token, .at = event.at});
    while (ended_.size() > ended_max || ended_bytes_ > ended_bytes_max) forget_oldest();
}

void RequestMemory::forget_old(core::Time now) {
    // A few at a time: very many may have become old together.
    for (int left = 256; left > 0; --left) {
        if (ended_.empty() || now - ended_.front().at < ended_kept) return;
        forget_oldest();
    }
}

std::optional<core::Time> RequestMemory::next_removal() const {
    if (ended_.empty()) return std::nullopt;
    return ended_.front().at + ended_kept + removal_delay;
}

// REQUIRES: there is one.
void RequestMemory::forget_oldest() {
    const Ended& oldest = ended_.front();
    erase_if(oldest.key, [&](const Known& known) {
        return known.state == State::ended && known.token == oldest.token;
    });
    ended_bytes_ -= bytes_of(oldest.key);
    ended_.pop_front();
}

}  // namespace holdfast::service

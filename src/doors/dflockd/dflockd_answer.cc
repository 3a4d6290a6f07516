#include "doors/dflockd/dflockd_answer.h"

#include <fmt/compile.h>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <iterator>
#include <span>

#include "base/json/json.h"
#include "base/text/append_all.h"
#include "base/text/hex.h"
#include "base/text/number.h"
#include "base/text/percent.h"
#include "base/text/utf8.h"
#include "service/doors.h"

namespace holdfast::doors::dflockd {

namespace {

using Kind = core::Outcome::Kind;

constexpr std::string_view owner_prefix = "conn-";

std::int64_t whole_seconds(core::Duration duration) {
    return std::max<std::int64_t>(0, std::chrono::floor<std::chrono::seconds>(duration).count());
}

void append_number(std::string& out, std::int64_t number) {
    const fmt::format_int text(number);
    out.append(text.data(), text.size());
}

// `ok <token> <lease>`. `word` ends in a blank.
void append_grant(std::string& out, std::string_view word, const core::LeaseView& lease) {
    // A client computes from this when to renew, so a fraction of a second is not promised. A lease
    // of less than a second is shown as one second, because zero would mean no lease.
    const fmt::format_int seconds(std::max<std::int64_t>(1, whole_seconds(lease.ttl)));
    char line[96];
    char* end = std::copy(word.begin(), word.end(), line);
    for (const std::uint64_t half :
         {core::as_number(lease.token.fence), static_cast<std::uint64_t>(lease.token.secret)}) {
        base::write_hex(std::span<char, base::hex_digits>(end, base::hex_digits), half);
        end += base::hex_digits;
    }
    *end++ = ' ';
    end = std::copy_n(seconds.data(), seconds.size(), end);
    *end++ = '\n';
    out.append(line, end);
}

std::string_view refusal_line(core::Refusal refusal) {
    switch (refusal) {
        case core::Refusal::held:
        case core::Refusal::in_grace:
        case core::Refusal::timed_out: return "timeout\n";
        case core::Refusal::locks_max:
        case core::Refusal::leases_max: return "error_max_locks\n";
        case core::Refusal::waiters_max:
        case core::Refusal::waiters_per_lock_max: return "error_max_waiters\n";
        case core::Refusal::limit_mismatch: return "error_limit_mismatch\n";
        case core::Refusal::already_enqueued: return "error_already_enqueued\n";
        case core::Refusal::not_enqueued: return "error_not_enqueued\n";
        case core::Refusal::stopping: return "error_draining\n";
        default: return "error\n";
    }
}

// The engine refuses a request that does not wait as held, even if the queue is full. The original
// checks the queue first.
bool is_queue_full(Verb verb, const core::Outcome& outcome) {
    const bool is_held =
        outcome.refusal == core::Refusal::held || outcome.refusal == core::Refusal::in_grace;
    return verb == Verb::lock && is_held && outcome.is_queue_full;
}

// The number of the connection that holds a lease; 0 if none does.
std::uint64_t connection_of(const core::LeaseView& lease) {
    std::string_view name = lease.owner.name;
    if (!lease.session || lease.owner.door != service::dflockd_door) return 0;
    if (!name.starts_with(owner_prefix)) return 0;
    name.remove_prefix(owner_prefix.size());
    return base::parse_decimal<std::uint64_t>(name).value_or(0);
}

double seconds(core::Duration duration) {
    return std::chrono::duration<double>(duration).count();
}

// Writes the four lists of an answer to `stats`.
class Stats {
  public:
    Stats(std::string& out, const service::Response& response)
        : out_(out), bytes_at_start_(out.size()), response_(response) {}

    // Appends a list of the locks for which `is_shown` is true. `append_rest` writes the fields
    // after the key and ends the object.
    template <class IsShown, class AppendRest>
    void append_list(std::string_view name, IsShown is_shown, AppendRest append_rest) {
        out_.append(",\"").append(name).append("\":[");
        bool is_first = true;
        for (const core::LockView& lock : locks()) {
            if (!is_shown(lock)) continue;
            if (out_.size() - bytes_at_start_ >= stats_bytes_max) {
                is_cut_ = true;
                break;
            }
            out_.append(is_first ? "{\"key\":" : ",{\"key\":");
            is_first = false;
            base::append_json_string(out_, lock.scope.name);
            if (!base::is_utf8(lock.scope.name)) {
                base::append_all(out_, R"(,"name_bytes":")", base::percent_encode(lock.scope.name),
                                 "\"");
            }
            append_rest(lock);
        }
        out_.append("]");
    }

    // Whether some locks are not shown.
    [[nodiscard]] bool is_truncated() const {
        return is_cut_ || response_.locks().size() > stats_locks_max;
    }

  private:
    [[nodiscard]] std::span<const core::LockView> locks() const {
        const std::span<const core::LockView> all(response_.locks());
        return all.first(std::min(all.size(), stats_locks_max));
    }

    std::string& out_;
    const std::size_t bytes_at_start_;
    const service::Response& response_;
    bool is_cut_ = false;
};

bool is_idle(const core::LockView& lock) {
    return lock.holder_count == 0 && lock.waiter_count == 0;
}

void append_locks(Stats& stats, std::string& out, core::Time now) {
    const auto is_shown = [](const core::LockView& lock) {
        return lock.scope.kind == core::ScopeKind::named && !is_idle(lock);
    };
    stats.append_list("locks", is_shown, [&](const core::LockView& lock) {
        const core::LeaseView* holder = lock.holders.empty() ? nullptr : &lock.holders.front();
        const core::Duration left =
            holder == nullptr ? core::Duration::zero() : holder->expires_at - now;
        fmt::format_to(std::back_inserter(out),
                       R"(,"owner_conn_id":{},"lease_expires_in_s":{},"waiters":{}}})",
                       holder == nullptr ? 0 : connection_of(*holder), std::max(0.0, seconds(left)),
                       lock.waiter_count);
    });
}

void append_semaphores(Stats& stats, std::string& out) {
    const auto is_shown = [](const core::LockView& lock) {
        return lock.scope.kind == core::ScopeKind::semaphore && !is_idle(lock);
    };
    stats.append_list("semaphores", is_shown, [&](const core::LockView& lock) {
        fmt::format_to(std::back_inserter(out), R"(,"limit":{},"holders":{},"waiters":{}}})",
                       lock.limit, lock.holder_count, lock.waiter_count);
    });
}

struct IdleList {
    std::string_view name;
    core::ScopeKind kind;
};

void append_idle(Stats& stats, std::string& out, const IdleList& list, core::Time now) {
    const auto is_shown = [&](const core::LockView& lock) {
        return lock.scope.kind == list.kind && is_idle(lock);
    };
    stats.append_list(list.name, is_shown, [&](const core::LockView& lock) {
        core::Time since = lock.idle_since.value_or(now);
        if (lock.lapsed) since = lock.lapsed->grace_until;
        fmt::format_to(std::back_inserter(out), R"(,"idle_s":{}}})",
                       std::max(0.0, seconds(now - since)));
    });
}

}  // namespace

void append_answer(std::string& out, Verb verb, const service::Response& response) {
    const core::Outcome& outcome = response.outcome;
    if (!response.failure.empty()) {
        out.append("error\n");
        return;
    }
    switch (outcome.kind) {
        case Kind::granted:
            return append_grant(out, verb == Verb::enqueue ? "acquired " : "ok ", outcome.lease);
        case Kind::queued: out.append("queued\n"); return;
        case Kind::released: out.append("ok\n"); return;
        case Kind::renewed:
        case Kind::found:
            out.append("ok ");
            append_number(out, whole_seconds(outcome.lease.expires_at - response.now));
            out.append("\n");
            return;
        case Kind::refused: break;
    }
    if (is_queue_full(verb, outcome)) {
        out.append(refusal_line(core::Refusal::waiters_per_lock_max));
        return;
    }
    if (outcome.refusal == core::Refusal::denied) {
        out.append("error_denied lock ").append(core::to_text(outcome.lease.scope)).append("\n");
        return;
    }
    const bool is_late = verb == Verb::wait && outcome.refusal == core::Refusal::lease_ended;
    out.append(is_late ? "error_lease_expired\n" : refusal_line(outcome.refusal));
}

void append_stats(std::string& out, std::size_t connections, const service::Response& response) {
    if (!response.failure.empty()) {
        out.append("error\n");
        return;
    }
    fmt::format_to(std::back_inserter(out), R"(ok {{"connections":{})", connections);
    Stats stats(out, response);
    append_locks(stats, out, response.now);
    append_semaphores(stats, out);
    append_idle(stats, out, {"idle_locks", core::ScopeKind::named}, response.now);
    append_idle(stats, out, {"idle_semaphores", core::ScopeKind::semaphore}, response.now);
    out.append(stats.is_truncated() ? ",\"truncated\":true}\n" : "}\n");
}

std::string owner_name(std::uint64_t connection_id) {
    return fmt::format(FMT_COMPILE("{}{}"), owner_prefix, connection_id);
}

}  // namespace holdfast::doors::dflockd

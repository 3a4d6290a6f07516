#include "cli/lease_options.h"

#include <algorithm>
#include <cstdlib>

#include "base/result.h"
#include "cli/failure.h"
#include "cli/lock_argument.h"
#include "cli/server.h"
#include "options/options.h"
#include "sdk/http/exchange.h"
#include "sdk/lease_calls.h"

namespace holdfast::cli {

namespace {

// A hundred years: in practice, without an end.
constexpr std::chrono::milliseconds without_end = std::chrono::hours{24 * 36'525};

// How long a server that is away is asked again, at least.
constexpr std::chrono::milliseconds patience_min{1'000};

tl::unexpected<Failure> usage(std::string message) {
    return fail(exit_usage, std::move(message));
}

}  // namespace

void declare_lease_options(const options::Command& command, LeaseOptions& options) {
    command
        .add_option("lock", options.names,
                    "a name, or path:/a/b, inode:7, range:7:0-4096, semaphore:x. Several: all of "
                    "them or none")
        .takes("LOCK");
    command.add_duration("--ttl", options.ttl, "how long the lease lasts after its last renewal");
    const auto set_wait = [&options](std::chrono::nanoseconds wait) {
        options.wait = std::chrono::ceil<std::chrono::milliseconds>(wait);
    };
    const options::Option wait =
        command.add_duration("-w,--wait", std::function(set_wait),
                             "how long to wait for the lock. Default: as long as it takes");
    command.add_flag("-n,--try", options.is_try, "do not wait").excludes(wait);
    command.add_flag("-s,--shared", options.is_shared,
                     "hold the lock together with other --shared holders");
    command
        .add_option("--limit", options.limit,
                    "how many may hold the lock at the same time; of several locks, those that are "
                    "semaphore:x")
        .takes("N")
        .above_zero(false)
        .shows_default();
    const auto set_on_deadlock = [&options](const std::vector<std::string>& words) {
        options.on_deadlock = words.back() == "wait" ? OnDeadlock::tell : OnDeadlock::refuse;
        return true;
    };
    command
        .add_option("--on-deadlock", options::Command::TakeValues(set_on_deadlock),
                    "what to do when waiting would never end, because others wait for us: fail, or "
                    "wait nevertheless")
        .takes("WHAT")
        .among({"refuse", "wait"})
        .shows_default("refuse");
    command
        .add_option("--owner", options.owner,
                    "name that is shown as the holder. Default: this host and process")
        .takes("TEXT")
        .variable("HOLDFAST_OWNER");
    command.add_option("--metadata", options.metadata, "note that is shown with the lease")
        .takes("TEXT");
    declare_server_options(command, options.server);
    if (const char* const waiter = std::getenv("HOLDFAST_WAITER")) options.waiter = waiter;
}

std::string LeaseOptions::title() const {
    std::string text;
    for (const std::string& name : names) text += (text.empty() ? "" : " ") + name;
    return text;
}

Asked<LeaseRequest> to_request(const LeaseOptions& options) {
    const std::vector<std::string> nothing{""};
    const auto& names = options.names.empty() ? nothing : options.names;
    const bool is_one = names.size() == 1;
    std::vector<LockSetMember> members;
    bool has_limit = false;
    for (const std::string& name : names) {
        TRY(LockScope scope, read_scope(name));
        const bool is_named = std::holds_alternative<LockScope::Named>(scope.value());
        const bool is_semaphore = std::holds_alternative<LockScope::Semaphore>(scope.value()) ||
                                  (is_one && is_named && options.limit > 1);
        if (is_semaphore && options.is_shared) {
            return usage("a semaphore cannot be --shared: it has permits");
        }
        has_limit = has_limit || is_semaphore;
        members.push_back({.scope = std::move(scope),
                           .mode = options.is_shared ? LockMode::shared : LockMode::exclusive,
                           .limit = is_semaphore ? options.limit : 1});
    }
    if (options.limit > 1 && !has_limit) {
        return usage(is_one ? "--limit works only with a name"
                            : "--limit needs a semaphore:NAME among several locks");
    }
    if (options.ttl <= std::chrono::milliseconds::zero()) return usage("--ttl must not be zero");
    LeaseRequest request{.holder = options.owner.empty() ? sdk::make_holder() : options.owner,
                         .ttl = options.ttl,
                         .metadata = options.metadata,
                         .on_deadlock = options.on_deadlock};
    if (is_one) {
        request.scope = std::move(members.front().scope);
        request.mode = members.front().mode;
        request.limit = members.front().limit;
    } else {
        request.scopes = std::move(members);
    }
    request.waiter = options.waiter.empty() ? request.holder : options.waiter;
    return request;
}

std::chrono::milliseconds wait_of(const LeaseOptions& options) {
    if (options.is_try) return std::chrono::milliseconds::zero();
    return options.wait.value_or(without_end);
}

ClientOptions to_client_options(const LeaseOptions& options) {
    ClientOptions client = to_client_options(options.server);
    // A command that does not wait long for the lock does not wait longer for the server.
    client.retry_for = std::min(client.retry_for, std::max(wait_of(options), patience_min));
    return client;
}

}  // namespace holdfast::cli

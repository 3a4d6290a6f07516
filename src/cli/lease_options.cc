#include "cli/lease_options.h"

#include <fmt/format.h>

#include "cli/screen/terminal_text.h"
#include "cli/server.h"
#include "options/options.h"
#include "sdk/http/exchange.h"

namespace holdfast::cli {

namespace {

// A hundred years: in practice, without an end.
constexpr std::chrono::milliseconds without_end = std::chrono::hours{24 * 36'525};

tl::unexpected<Failure> usage(std::string message) {
    return tl::unexpected<Failure>({.exit_code = exit_usage, .message = std::move(message)});
}

}  // namespace

void declare_lease_options(const options::Command& command, LeaseOptions& options) {
    command.add_option("name", options.name, "the lock").takes("NAME");
    command
        .add_option("--scope", options.scope,
                    "instead of a name: path:/a/b, inode:7, range:7:0-4096, named:x")
        .takes("SCOPE");
    command.add_duration("--ttl", options.ttl, "how long the lease lasts when nobody renews it");
    const auto set_wait = [&options](std::chrono::nanoseconds wait) {
        options.wait = std::chrono::ceil<std::chrono::milliseconds>(wait);
    };
    const options::Option wait =
        command.add_duration("-w,--wait", std::function(set_wait),
                             "how long to wait for the lock; not given: without an end");
    command.add_flag("-n,--try", options.is_try, "do not wait at all").excludes(wait);
    command.add_flag("-s,--shared", options.is_shared,
                     "hold it together with others that share it");
    command.add_option("--limit", options.limit, "so many may hold it at the same time")
        .takes("N")
        .above_zero(false)
        .shows_default();
    command
        .add_option("--owner", options.owner,
                    "who is shown to hold it; not given: this host and process")
        .takes("TEXT");
    command.add_option("--metadata", options.metadata, "a note that is shown with it")
        .takes("TEXT");
    declare_server_options(command, options.server);
}

Asked<LeaseRequest> to_request(const LeaseOptions& options) {
    if (options.name.empty() == options.scope.empty()) {
        return usage(options.name.empty() ? "which lock? Say its NAME, or a --scope"
                                          : "say a NAME or a --scope, not both");
    }
    auto scope = options.scope.empty() ? LockScope(LockScope::Named{options.name})
                                       : LockScope::parse(options.scope);
    if (!scope) {
        return usage(
            fmt::format("there is no scope {}: write path:/a/b, inode:7, range:7:0-4096 "
                        "or named:x",
                        options.scope));
    }
    const bool is_named = std::holds_alternative<LockScope::Named>(scope->value());
    if (options.limit > 1 && (!is_named || options.is_shared)) {
        return usage("--limit is for names, and not for --shared");
    }
    if (options.ttl <= std::chrono::milliseconds::zero()) return usage("--ttl must not be zero");
    return LeaseRequest{.scope = std::move(*scope),
                        .owner = options.owner,
                        .ttl = options.ttl,
                        .mode = options.is_shared ? LockMode::shared : LockMode::exclusive,
                        .limit = options.limit,
                        .metadata = options.metadata};
}

std::chrono::milliseconds wait_of(const LeaseOptions& options) {
    if (options.is_try) return std::chrono::milliseconds::zero();
    return options.wait.value_or(without_end);
}

ClientOptions to_client_options(const LeaseOptions& options) {
    ClientOptions client;
    client.servers = sdk::split_by_commas(options.server.server);
    client.token_file = options.server.token_file;
    client.ca_file = options.server.ca_file;
    // A command that does not wait for the lock does not wait for the server either.
    if (options.is_try) client.retry_for = std::chrono::seconds{2};
    return client;
}

Failure to_failure(const LockError& error, const std::string& title) {
    if (const auto* const held = std::get_if<LockHeld>(&error)) {
        if (held->holder.empty()) {
            return {exit_not_got, fmt::format("{} was not to be had in time", title)};
        }
        const auto until =
            std::chrono::floor<std::chrono::milliseconds>(held->expires_at.time_since_epoch());
        return {exit_not_got, fmt::format("{} is held by {} until {}", title, held->holder,
                                          moment(until.count()))};
    }
    const std::string message = to_text(error);
    if (std::holds_alternative<ServerUnavailable>(error)) {
        return {exit_unavailable, message + "; is `holdfast serve` running there? see --server"};
    }
    if (std::holds_alternative<NotPermitted>(error)) {
        return {exit_not_permitted, message + "; see --token-file"};
    }
    if (std::holds_alternative<InvalidLockRequest>(error)) return {exit_usage, message};
    if (std::holds_alternative<LockLimitReached>(error) ||
        std::holds_alternative<LockStoreFailure>(error)) {
        return {exit_unavailable, message};
    }
    return {exit_refused, message};
}

}  // namespace holdfast::cli

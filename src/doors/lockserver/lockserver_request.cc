#include "doors/lockserver/lockserver_request.h"

#include <utility>

#include "base/json/json_object.h"
#include "base/text/hex.h"
#include "base/text/number.h"
#include "net/client/url.h"
#include "service/wait_limits.h"

namespace holdfast::doors::lockserver {

namespace {

using Parsed = tl::expected<LockserverRequest, Fault>;
using Number = std::optional<std::int64_t>;

constexpr std::string_view locks_folder = "/v1/locks/";
constexpr std::int64_t time_max_ms = 600'000;
constexpr std::int64_t wait_max_ms =
    std::chrono::duration_cast<std::chrono::milliseconds>(service::WaitLimits{}.answer_max).count();
constexpr std::int64_t permits_max = 1'000'000;
constexpr std::size_t page_max = 1'000;

tl::unexpected<Fault> refuse(std::string error) {
    return tl::unexpected(Fault{.error = std::move(error)});
}

bool is_time(const Number& milliseconds) {
    return milliseconds && *milliseconds > 0 && *milliseconds <= time_max_ms;
}

Parsed parse_acquire(std::string lock_name, std::string_view body) {
    Acquire request{.lock_name = std::move(lock_name)};
    Number ttl_ms, wait_ms, limit;
    std::string mode;
    const auto read = base::read_json_object(body, {{"owner_id", &request.owner_id},
                                                    {"ttl_ms", &ttl_ms},
                                                    {"wait_ms", &wait_ms},
                                                    {"mode", &mode},
                                                    {"limit", &limit},
                                                    {"request_id", &request.request_id},
                                                    {"metadata", &request.metadata}});
    if (!read) return refuse(read.error().message);
    if (request.owner_id.empty()) return refuse("owner_id required");
    if (!is_time(ttl_ms)) return refuse("ttl_ms must be in (0, 600000]");
    if (wait_ms.value_or(0) < 0) return refuse("wait_ms must not be negative");
    if (wait_ms.value_or(0) > wait_max_ms && request.request_id.empty()) {
        return refuse("wait_ms must be in [0, 600000]; a longer wait needs a request_id");
    }
    if (mode == "shared") {
        request.mode = core::Mode::shared;
    } else if (!mode.empty() && mode != "exclusive") {
        return refuse("mode must be exclusive or shared");
    }
    if (limit && (*limit < 1 || *limit > permits_max)) {
        return refuse("limit must be in [1, 1000000]");
    }
    request.limit = static_cast<std::uint32_t>(limit.value_or(1));
    if (request.limit > 1 && request.mode == core::Mode::shared) {
        return refuse("a lock with a limit cannot be shared: every holder takes one permit");
    }
    request.ttl = std::chrono::milliseconds{*ttl_ms};
    request.wait = std::chrono::milliseconds{wait_ms.value_or(0)};
    return request;
}

// The lease that both name; an id that no lease has, if they do not fit together.
LeaseId find_lease(std::string_view lease_id, std::int64_t fencing_token) {
    const auto id = parse_lease_id(lease_id);
    const core::Fence fence{static_cast<std::uint64_t>(fencing_token)};
    return id && id->token.fence == fence ? *id : LeaseId{};
}

constexpr const char* proof_required = "owner_id, lease_id, fencing_token required";

Parsed parse_renew(std::string lock_name, std::string_view body) {
    Renew request{.lock_name = std::move(lock_name)};
    std::string lease_id;
    Number fencing_token, extend_by_ms;
    const auto read = base::read_json_object(body, {{"owner_id", &request.owner_id},
                                                    {"lease_id", &lease_id},
                                                    {"fencing_token", &fencing_token},
                                                    {"extend_by_ms", &extend_by_ms}});
    if (!read) return refuse(read.error().message);
    if (request.owner_id.empty() || lease_id.empty() || fencing_token.value_or(0) <= 0) {
        return refuse(proof_required);
    }
    if (!is_time(extend_by_ms)) return refuse("extend_by_ms must be in (0, 600000]");
    request.lease = find_lease(lease_id, *fencing_token);
    request.extend_by = std::chrono::milliseconds{*extend_by_ms};
    return request;
}

Parsed parse_release(std::string lock_name, std::string_view body) {
    Release request{.lock_name = std::move(lock_name)};
    std::string lease_id;
    Number fencing_token;
    const auto read = base::read_json_object(body, {{"owner_id", &request.owner_id},
                                                    {"lease_id", &lease_id},
                                                    {"fencing_token", &fencing_token}});
    if (!read) return refuse(read.error().message);
    if (request.owner_id.empty() || lease_id.empty() || fencing_token.value_or(0) <= 0) {
        return refuse(proof_required);
    }
    request.lease = find_lease(lease_id, *fencing_token);
    return request;
}

// The kind of scope that the query names. The name of a range is `7:0-4096`.
tl::expected<std::optional<core::ScopeKind>, Fault> parse_kind(const std::string& lock_name,
                                                               std::string_view query) {
    using core::ScopeKind;
    const auto text = net::query_parameter(query, "kind");
    if (!text) return refuse(text.error().message);
    if (!*text) return std::nullopt;
    for (const ScopeKind kind : {ScopeKind::named, ScopeKind::semaphore, ScopeKind::path,
                                 ScopeKind::inode, ScopeKind::range}) {
        if (**text != core::to_text(kind)) continue;
        if (kind == ScopeKind::range && !core::parse_scope("range:" + lock_name)) {
            return refuse("a range is written <inode>:<start>-<end>");
        }
        if (kind == ScopeKind::inode && !base::parse_decimal<std::uint64_t>(lock_name)) {
            return refuse("an inode is a number");
        }
        return kind;
    }
    return refuse("kind must be named, semaphore, path, inode or range");
}

Parsed parse_get(std::string lock_name, const RequestParts& parts) {
    const auto kind = parse_kind(lock_name, parts.query);
    if (!kind) return tl::make_unexpected(kind.error());
    const auto queue = net::query_parameter(parts.query, "queue");
    if (!queue) return refuse(queue.error().message);
    if (*queue && **queue != "true" && **queue != "false") {
        return refuse("queue must be true or false");
    }
    const auto after = net::query_parameter(parts.query, "holders_after");
    if (!after) return refuse(after.error().message);
    Get request{.lock_name = std::move(lock_name),
                .kind = *kind,
                .with_queue = *queue && **queue == "true",
                .with_lease_ids = parts.is_admin};
    if (*after) {
        const auto number = base::parse_decimal<std::uint64_t>(**after);
        if (!number) return refuse("holders_after must be the `holders_next` of an earlier page");
        request.holders_after = core::Fence{*number};
    }
    return request;
}

Parsed parse_force_release(std::string lock_name, std::string_view query) {
    const auto kind = parse_kind(lock_name, query);
    if (!kind) return tl::make_unexpected(kind.error());
    return ForceRelease{.lock_name = std::move(lock_name), .kind = *kind};
}

Parsed parse_list(const RequestParts& parts) {
    ListLocks request{.with_lease_ids = parts.is_admin};
    auto prefix = net::query_parameter(parts.query, "prefix");
    auto after = net::query_parameter(parts.query, "after");
    auto limit = net::query_parameter(parts.query, "limit");
    for (const auto* parameter : {&prefix, &after, &limit}) {
        if (!*parameter) return refuse(parameter->error().message);
    }
    request.prefix = std::move(*prefix).value_or("");
    if (*after && !(*after)->empty()) {
        auto last = base::decode_hex(**after);
        if (!last || !core::parse_scope(*last)) {
            return refuse("after must be the `next` of an earlier page");
        }
        request.after = *std::move(last);
    }
    if (*limit) {
        const auto number = base::parse_decimal<std::uint64_t>(**limit);
        if (!number || *number == 0 || *number > page_max) {
            return refuse("limit must be in [1, 1000]");
        }
        request.limit = static_cast<std::size_t>(*number);
    }
    return request;
}

Parsed parse_events(const RequestParts& parts) {
    WatchEvents request;
    auto prefix = net::query_parameter(parts.query, "prefix");
    if (!prefix) return refuse(prefix.error().message);
    request.prefix = std::move(*prefix).value_or("");
    auto scope = net::query_parameter(parts.query, "scope");
    if (!scope) return refuse(scope.error().message);
    request.scope = std::move(*scope).value_or("");
    if (!request.scope.empty() && !core::parse_scope(request.scope)) {
        return refuse("scope must be the text of a lock, such as nightly or path:/srv/x");
    }
    const auto after = net::query_parameter(parts.query, "after");
    if (!after) return refuse(after.error().message);
    if (*after && !(*after)->empty()) {
        request.after = base::parse_decimal<std::uint64_t>(**after);
        if (!request.after) return refuse("after must be the id of an event, or a position");
    }
    // A browser that connects again sends the same address, and how far it has come since.
    if (parts.last_event_id && !parts.last_event_id->empty()) {
        request.after = base::parse_decimal<std::uint64_t>(*parts.last_event_id);
        if (!request.after) return refuse("Last-Event-ID must be the id of an event");
    }
    return request;
}

}  // namespace

Parsed parse_request(Action action, const RequestParts& parts) {
    if (action == Action::list) return parse_list(parts);
    if (action == Action::watch) return parse_events(parts);
    auto lock_name = net::percent_decode(parts.lock_name);
    if (!lock_name) return refuse(lock_name.error().message);
    switch (action) {
        case Action::acquire: return parse_acquire(std::move(*lock_name), parts.body);
        case Action::renew: return parse_renew(std::move(*lock_name), parts.body);
        case Action::release: return parse_release(std::move(*lock_name), parts.body);
        case Action::force_release: return parse_force_release(std::move(*lock_name), parts.query);
        default: return parse_get(std::move(*lock_name), parts);
    }
}

// NOLINTNEXTLINE(bugprone-easily-swappable-parameters): in the order of a request's line
bool is_unknown_for(std::string_view method, std::string_view path) {
    if (!path.starts_with(locks_folder)) return false;
    std::string_view rest = path.substr(locks_folder.size());
    while (rest.ends_with('/')) rest.remove_suffix(1);
    const bool has_action = rest.find('/') != std::string_view::npos;
    return has_action ? method == "GET" : method == "POST";
}

Fault explain_path(const WrongPath& wrong) {
    std::string_view rest = wrong.path.substr(locks_folder.size());
    while (rest.ends_with('/')) rest.remove_suffix(1);  // LockServer ignores these, too
    const std::size_t slash = rest.find('/');
    const auto lock_name = net::percent_decode(rest.substr(0, slash));
    if (!lock_name) return {.error = lock_name.error().message};
    const std::string_view action =
        slash == std::string_view::npos ? std::string_view() : rest.substr(slash + 1);
    if (action.find('/') != std::string_view::npos) return {.status = 404, .error = "invalid path"};
    if (lock_name->empty()) return {.error = "lock_name required"};
    if (wrong.method == "GET") return {.status = 404, .error = "invalid path"};
    return {.status = 404, .error = "unknown action"};
}

}  // namespace holdfast::doors::lockserver

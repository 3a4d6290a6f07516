#include "doors/scoped/scoped_request.h"

#include <fmt/format.h>

#include <utility>

#include "base/text/duration.h"
#include "base/text/number.h"
#include "core/values/ids.h"
#include "net/client/url.h"
#include "service/wait_limits.h"

namespace holdfast::doors::scoped {

namespace {

using Parsed = tl::expected<ScopedRequest, Fault>;
using Integer = std::optional<std::int64_t>;
using Milliseconds = std::chrono::milliseconds;

constexpr std::string_view leases_folder = "/v1/leases/", fence_folder = "/v1/fence/",
                           elections_folder = "/v1/elections";
constexpr std::string_view check_name = "check";
constexpr Milliseconds wait_max =
    std::chrono::duration_cast<Milliseconds>(service::WaitLimits{}.answer_max);
constexpr std::size_t page_max = 1'000;
constexpr std::int64_t permits_max = 1'000'000;
constexpr std::size_t members_max = 64;  // core::Limits::set_members_max
// Of the names of all members together. In a cluster the set is a part of one value in etcd, which may
// be six times as long there, and a part of one answer to the next leader.
constexpr std::size_t members_bytes_max = std::size_t{64} << 10U;

tl::unexpected<Fault> refuse(std::string message) {
    return tl::unexpected(Fault{.message = std::move(message)});
}

std::string between(std::string_view field, std::int64_t from, Milliseconds to) {
    return std::string(field) + " must be in [" + std::to_string(from) + ", " +
           std::to_string(to.count()) + "]";
}

// How long a lease shall last: `ttl_ms`, or `duration_ms` as clients of the original call it.
struct TtlFields {
    Integer ttl_ms, duration_ms;

    // Nothing, if neither was given.
    [[nodiscard]] base::Result<std::optional<Milliseconds>> read(
        const ScopedOptions& options) const {
        if (ttl_ms && duration_ms && *ttl_ms != *duration_ms) {
            return base::fail("ttl_ms and duration_ms are the same thing; give one of them");
        }
        const Integer given = ttl_ms ? ttl_ms : duration_ms;
        if (!given) return std::nullopt;
        if (*given < 1 || *given > options.duration_max.count()) {
            return base::fail(between(ttl_ms ? "ttl_ms" : "duration_ms", 1, options.duration_max) +
                              ": a lease lasts for " + base::format_duration(options.duration_max) +
                              " at most here, and can be renewed");
        }
        return Milliseconds{*given};
    }
};

// Takes the number of permits of one scope. Only a semaphore has permits.
base::Result<std::uint32_t> read_limit(const core::Scope& scope, core::Mode mode, Integer limit) {
    const bool is_semaphore = scope.kind == core::ScopeKind::semaphore;
    if (!is_semaphore && limit.value_or(1) != 1) return base::fail("a limit is for semaphores");
    if (!is_semaphore) return 1U;
    if (!limit) {
        return base::fail("a semaphore needs a limit: how many may hold it at the same time");
    }
    if (*limit < 1 || *limit > permits_max) return base::fail("limit must be in [1, 1000000]");
    if (mode == core::Mode::shared) {
        return base::fail("a semaphore cannot be shared: every holder takes one permit");
    }
    return static_cast<std::uint32_t>(*limit);
}

base::Result<core::Mode> read_mode(std::string_view text, core::Mode otherwise) {
    if (text.empty()) return otherwise;
    if (text == "shared") return core::Mode::shared;
    if (text == "exclusive") return core::Mode::exclusive;
    return base::fail("mode must be exclusive or shared");
}

// An element of `scopes`: a scope as text, or an object with `scope`, `mode` and `limit`.
base::Result<OwnedMember> read_member(const base::JsonTextOrObject& element, core::Mode mode) {
    base::JsonTextOrObject scope = element;
    std::string mode_text;
    Integer limit;
    if (element.object) {
        scope = {};
        TRY(base::read_json_object(*element.object,
                                   {{"scope", &scope}, {"mode", &mode_text}, {"limit", &limit}}));
    }
    OwnedMember member;
    TRY(member.scope, read_scope(scope));
    TRY(member.mode, read_mode(mode_text, mode));
    TRY(member.limit, read_limit(member.scope.view(), member.mode, limit));
    return member;
}

// Whether one lease cannot be on both. A lock and a semaphore cannot have the same name at a time.
bool overlap(const core::Scope& a, const core::Scope& b) {
    if (a.is_of_inode() || b.is_of_inode()) {
        return a.is_of_inode() && b.is_of_inode() && a.inode == b.inode &&
               a.range.overlaps(b.range);
    }
    const bool is_path = a.kind == core::ScopeKind::path;
    return is_path == (b.kind == core::ScopeKind::path) && a.name == b.name;
}

base::Result<std::vector<OwnedMember>> read_members(const base::JsonItems& elements,
                                                    core::Mode mode) {
    if (elements.size() > members_max) {
        return base::fail(fmt::format("scopes may have {} elements at most, not {}", members_max,
                                      elements.size()));
    }
    std::vector<OwnedMember> members;
    std::size_t bytes = 0;
    for (const base::JsonTextOrObject& element : elements) {
        auto member = read_member(element, mode);
        if (!member) {
            return base::fail(
                fmt::format("scopes[{}]: {}", members.size(), member.error().message));
        }
        const core::Scope scope = member->scope.view();
        bytes += scope.name.size();
        if (bytes > members_bytes_max) {
            return base::fail(fmt::format("the names in scopes may have {} bytes together, at most",
                                          members_bytes_max));
        }
        for (const OwnedMember& other : members) {
            if (!overlap(other.scope.view(), scope)) continue;
            return base::fail(fmt::format("scopes must not overlap: {} and {} do",
                                          core::to_text(other.scope.view()), core::to_text(scope)));
        }
        members.push_back(*std::move(member));
    }
    return members;
}

// What is asked for: `scope`, or `scopes`, of which one alone is a usual lease.
struct ScopeFields {
    base::JsonTextOrObject scope;
    base::JsonItems scopes;
    std::string mode;
    Integer limit;

    [[nodiscard]] base::Result<void> read(Acquire& request) const {
        TRY(request.mode, read_mode(mode, core::Mode::exclusive));
        const bool has_one = scope.text || scope.object;
        if (has_one && !scopes.empty()) return base::fail("give scope or scopes, not both");
        if (scopes.empty()) {
            TRY(request.scope, read_scope(scope));
            TRY(request.limit, read_limit(request.scope.view(), request.mode, limit));
            return {};
        }
        if (limit) return base::fail("each element of scopes has a limit of its own");
        TRY(request.members, read_members(scopes, request.mode));
        const OwnedMember& first = request.members.front();
        request.scope = first.scope;
        request.mode = first.mode;
        request.limit = first.limit;
        if (request.members.size() == 1) request.members.clear();
        return {};
    }
};

base::Result<bool> read_on_deadlock(std::string_view text) {
    if (text.empty() || text == "tell") return false;
    if (text == "refuse") return true;
    return base::fail("on_deadlock must be tell or refuse");
}

Parsed parse_acquire(std::string_view body, const ScopedOptions& options) {
    Acquire request;
    ScopeFields scopes;
    TtlFields ttl;
    Integer wait_ms;
    std::string on_deadlock;
    const auto read = base::read_json_object(body, {{"scope", &scopes.scope},
                                                    {"scopes", &scopes.scopes},
                                                    {"holder", &request.holder},
                                                    {"ttl_ms", &ttl.ttl_ms},
                                                    {"duration_ms", &ttl.duration_ms},
                                                    {"wait_ms", &wait_ms},
                                                    {"mode", &scopes.mode},
                                                    {"limit", &scopes.limit},
                                                    {"request_id", &request.request_id},
                                                    {"metadata", &request.metadata},
                                                    {"waiter", &request.waiter},
                                                    {"on_deadlock", &on_deadlock},

                                                    {"value", &request.value}});
    if (!read) return refuse(read.error().message);
    if (auto taken = scopes.read(request); !taken) return refuse(std::move(taken).error().message);
    if (request.holder.empty()) return refuse("holder required");
    const auto duration = ttl.read(options);
    if (!duration) return refuse(duration.error().message);
    request.duration = duration->value_or(options.default_duration);
    if (wait_ms.value_or(0) < 0) return refuse("wait_ms must not be negative");
    if (wait_ms.value_or(0) > wait_max.count() && request.request_id.empty()) {
        return refuse(between("wait_ms", 0, wait_max) + "; a longer wait needs a request_id");
    }
    request.wait = Milliseconds{wait_ms.value_or(0)};
    const auto refuses = read_on_deadlock(on_deadlock);
    if (!refuses) return refuse(refuses.error().message);
    request.refuses_deadlock = *refuses;
    return request;
}

Parsed parse_renew(core::Token token, std::string_view body, const ScopedOptions& options) {
    Renew request{.token = token, .duration = std::nullopt};
    if (body.empty()) return request;
    TtlFields ttl;
    const auto read =
        base::read_json_object(body, {{"ttl_ms", &ttl.ttl_ms}, {"duration_ms", &ttl.duration_ms}});
    if (!read) return refuse(read.error().message);
    const auto duration = ttl.read(options);
    if (!duration) return refuse(duration.error().message);
    if (*duration) request.duration = **duration;
    return request;
}

Parsed parse_value(core::Token token, std::string_view body) {
    base::JsonTextOrObject value;
    const auto read = base::read_json_object(body, {{"value", &value}});
    if (!read) return refuse(read.error().message);
    if (!value.text) return refuse("value required: a text; an empty one takes the value away");
    return SetValue{.token = token, .value = std::move(*value.text)};
}

struct WatchParameters {
    std::optional<std::string> watch, after, wait_ms;
};

base::Result<WatchParameters> read_watch(std::string_view query) {
    WatchParameters read;
    const std::pair<const char*, std::optional<std::string>*> parameters[] = {
        {"watch", &read.watch}, {"after", &read.after}, {"wait_ms", &read.wait_ms}};
    for (const auto& [name, target] : parameters) {
        TRY(*target, net::query_parameter(query, name));
        if (*target && (*target)->empty()) target->reset();
    }
    return read;
}

Parsed parse_election(const RequestParts& parts) {
    auto name = net::percent_decode(parts.name);
    if (!name) return refuse(std::move(name).error().message);
    const auto read = read_watch(parts.query);
    if (!read) return refuse(read.error().message);
    LookAtElection request{.name = std::move(*name), .after = std::nullopt};
    request.is_watch = read->watch == "true" || read->watch == "1";
    if (read->watch && !request.is_watch && *read->watch != "false" && *read->watch != "0") {
        return refuse("watch must be true or false");
    }
    request.is_stream =
        request.is_watch && parts.accept.find("text/event-stream") != parts.accept.npos;
    if (read->after) {
        request.after = base::parse_decimal<std::uint64_t>(*read->after);
        if (!request.after) return refuse("after must be the position of an earlier answer");
    }
    if (read->wait_ms) {
        const auto wait = base::parse_decimal<std::uint64_t>(*read->wait_ms);
        if (!wait || *wait > static_cast<std::uint64_t>(wait_max.count())) {
            return refuse(between("wait_ms", 0, wait_max));
        }
        request.wait = Milliseconds{*wait};
    }
    return request;
}

struct ListParameters {
    std::optional<std::string> kind, holder, inode, path, after, limit;
};

base::Result<ListParameters> read_parameters(std::string_view query) {
    ListParameters read;
    const std::pair<const char*, std::optional<std::string>*> parameters[] = {
        {"kind", &read.kind}, {"holder", &read.holder}, {"inode", &read.inode},
        {"path", &read.path}, {"after", &read.after},   {"limit", &read.limit}};
    for (const auto& [name, target] : parameters) {
        TRY(*target, net::query_parameter(query, name));
        if (*target && (*target)->empty()) target->reset();  // `?kind=&holder=w1`
    }
    return read;
}

Parsed parse_list(std::string_view query) {
    const auto read = read_parameters(query);
    if (!read) return refuse(read.error().message);
    ListLeases request{.holder = read->holder.value_or("")};
    if (read->kind) {
        request.kind = core::parse_kind(*read->kind);
        if (!request.kind) return refuse("kind must be named, semaphore, path, inode or range");
    }
    if (read->inode && read->path) return refuse("inode and path exclude one another");
    if (read->inode) {
        const auto inode = base::parse_decimal<std::uint64_t>(*read->inode);
        if (!inode) return refuse("inode must be a whole number that is not negative");
        request.on = OwnedScope{.kind = core::ScopeKind::inode, .inode = *inode};
    }
    if (read->path) request.on = OwnedScope{.kind = core::ScopeKind::path, .name = *read->path};
    if (read->after) {
        const auto after = base::parse_decimal<std::uint64_t>(*read->after);
        if (!after) return refuse("after must be the `next` of an earlier page");
        request.after = core::Fence{*after};
    }
    if (read->limit) {
        const auto limit = base::parse_decimal<std::uint64_t>(*read->limit);
        if (!limit || *limit == 0 || *limit > page_max) {
            return refuse("limit must be in [1, 1000]");
        }
        request.limit = static_cast<std::size_t>(*limit);
    }
    return request;
}

Parsed parse_check(std::string_view body) {
    std::string token;
    base::JsonTextOrObject scope;
    const auto read = base::read_json_object(body, {{"token", &token}, {"scope", &scope}});
    if (!read) {
        return refuse(read.error().message +
                      " (this checks a token; a resource cannot be called check)");
    }
    if (token.empty()) return refuse("token required");
    auto checked = read_scope(scope);
    if (!checked) return refuse(std::move(checked).error().message);
    return CheckToken{.token = core::parse_token(token).value_or(core::Token{}),
                      .scope = std::move(*checked)};
}

Parsed parse_raise(std::string resource, std::string_view body) {
    Integer fencing_token;
    const auto read = base::read_json_object(body, {{"fencing_token", &fencing_token}});
    if (!read) return refuse(read.error().message);
    const auto largest = static_cast<std::int64_t>(core::as_number(core::fence_max));
    if (!fencing_token) return refuse("fencing_token required");
    if (*fencing_token < 1 || *fencing_token > largest) {
        return refuse("fencing_token must be in [1, " + std::to_string(largest) + "]");
    }
    return RaiseFence{.resource = std::move(resource),
                      .fence = core::Fence{static_cast<std::uint64_t>(*fencing_token)}};
}

// `check` is no resource, however it is encoded: raising its fence checks a token.
Parsed parse_fence(Action action, const RequestParts& parts) {
    auto resource = net::percent_decode(parts.name);
    if (!resource) return refuse(std::move(resource).error().message);
    if (*resource == check_name) {
        if (action == Action::raise_fence) return parse_check(parts.body);
        return refuse("a resource cannot be called check");
    }
    if (action == Action::raise_fence) return parse_raise(std::move(*resource), parts.body);
    if (action == Action::read_fence) return ReadFence{.resource = std::move(*resource)};
    return DropFence{.resource = std::move(*resource)};
}

Fault not_found(std::string message) {
    return {.status = 404, .code = "NotFound", .message = std::move(message)};
}

}  // namespace

Parsed parse_request(Action action, const RequestParts& parts, const ScopedOptions& options) {
    switch (action) {
        case Action::acquire: return parse_acquire(parts.body, options);
        case Action::list: return parse_list(parts.query);
        case Action::list_deadlocks: return ListDeadlocks{};
        case Action::check_token: return parse_check(parts.body);
        case Action::raise_fence:
        case Action::read_fence:
        case Action::drop_fence: return parse_fence(action, parts);
        case Action::look_at_election: return parse_election(parts);
        default: break;
    }
    const core::Token token = core::parse_token(parts.name).value_or(core::Token{});
    if (action == Action::renew) return parse_renew(token, parts.body, options);
    if (action == Action::set_value) return parse_value(token, parts.body);
    if (action == Action::release) return Release{.token = token};
    return Look{.token = token};
}

Fault explain_path(std::string_view path) {
    if (path == leases_folder) return not_found("a lease is at /v1/leases/{token}");
    if (path.starts_with(leases_folder)) {
        return not_found("of a lease there are only /v1/leases/{token}/renew and /value");
    }
    if (path.starts_with(elections_folder)) {
        return not_found("an election is at /v1/elections/{name}; write a slash in its name %2F");
    }
    if (path == fence_folder) return {.message = "resource required"};
    if (path.starts_with(fence_folder)) {
        return not_found("a fence is at /v1/fence/{resource}; write a slash in its name %2F");
    }
    return not_found("a fence is at /v1/fence/{resource}");
}

}  // namespace holdfast::doors::scoped

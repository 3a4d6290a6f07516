#include "app/doors.h"

#include <fmt/format.h>

#include <algorithm>

#include "app/http/http_router.h"
#include "app/loop_parts.h"
#include "base/json/json_writer.h"
#include "base/log/log.h"
#include "doors/dflockd/dflockd_protocol.h"
#include "doors/hengdang/hengdang_handler.h"
#include "doors/redis/redis_protocol.h"
#include "net/http/http_protocol.h"

namespace holdfast::app {

namespace {

ConnectionsMax usual_connections(const ServeOptions& options) {
    return {options.connections_max, "--connections-max"};
}

// The answer to whatever request will come.
std::string http_turn_away(std::string_view error, const ConnectionsMax& most) {
    std::string body;
    base::JsonWriter(body)
        .begin_object()
        .field("error", error)
        .field("message", fmt::format("this server has as many open connections as {} allows ({}); "
                                      "try again later",
                                      most.option, most.number))
        .end_object();
    body += '\n';
    return fmt::format(
        "HTTP/1.1 503 Service Unavailable\r\nContent-Type: application/json\r\n"
        "Content-Length: {}\r\nRetry-After: 1\r\nConnection: close\r\n\r\n{}",
        body.size(), body);
}

std::string turn_http_away(const ConnectionsMax& most) {
    return http_turn_away("too many connections", most);
}

// The file door begins its errors with a capital letter.
std::string turn_files_away(const ConnectionsMax& most) {
    return http_turn_away("Too many connections", most);
}

// As Redis.
std::string turn_redis_away(const ConnectionsMax& /*most*/) {
    return "-ERR max number of clients reached\r\n";
}

// As dflockd.
std::string turn_away_silently(const ConnectionsMax& /*most*/) {
    return "";
}

net::ConnectionLimits http_limits(const ServeOptions& options) {
    net::ConnectionLimits limits;
    limits.request_timeout = options.http_request_timeout;
    limits.idle_timeout = options.http_idle_timeout;
    return limits;
}

std::unique_ptr<net::Protocol> make_http(net::Channel& channel, LoopParts& parts) {
    return std::make_unique<net::HttpProtocol>(channel, *parts.router, parts.http_limits.http);
}

const net::RequestCounts& http_requests(const LoopParts& parts) {
    return parts.router->counts();
}

const net::RequestCounts& file_requests(const LoopParts& parts) {
    return parts.files.counts();
}

const net::RequestCounts& status_requests(const LoopParts& parts) {
    return parts.node_router->counts();
}

net::ConnectionLimits dflockd_limits(const ServeOptions& options) {
    net::ConnectionLimits limits;
    limits.request_timeout = options.dflockd_read_timeout;
    limits.write_timeout = options.dflockd_write_timeout;
    limits.idle_timeout = std::chrono::milliseconds::zero();
    return limits;
}

ConnectionsMax dflockd_connections(const ServeOptions& options) {
    const DflockdLimits& own = options.dflockd_limits;
    if (own.connections_max == 0) return usual_connections(options);
    return {own.connections_max, own.connections_option};
}

std::unique_ptr<net::Protocol> make_dflockd(net::Channel& channel, LoopParts& parts) {
    return std::make_unique<doors::dflockd::DflockdProtocol>(
        channel, doors::dflockd::DflockdContext{parts.dflockd_door, *parts.port, *parts.loop});
}

// A client may be silent for hours between two commands.
net::ConnectionLimits redis_limits(const ServeOptions& options) {
    net::ConnectionLimits limits;
    limits.request_timeout = options.redis_request_timeout;
    limits.idle_timeout = std::chrono::milliseconds::zero();
    return limits;
}

bool opens_never(const ServeOptions& /*options*/) {
    return false;
}

std::unique_ptr<net::Protocol> make_redis(net::Channel& channel, LoopParts& parts) {
    return std::make_unique<doors::redis::RedisProtocol>(
        channel, doors::redis::RedisContext{parts.redis_door, *parts.port, *parts.loop});
}

bool has_file_root(const ServeOptions& options) {
    return !options.files.root.empty();
}

// Clients must log in, so keys guard the files as well as a token does.
base::Result<void> check_files(const ServeOptions& options, const net::Endpoint& endpoint) {
    if (!has_file_root(options))
        return base::fail("--files needs --files-root, the folder to serve");
    if (options.cluster.is_on() && !options.cluster.has_shared_files) {
        return base::fail(
            "in a cluster any node may have to serve the files, so all nodes must see the same "
            "folder: if they do, add --files-shared");
    }
    if (!has_auth_token(options) && options.files.owner_keys.empty()) {
        return base::fail(
            "nobody could log in to the files: set the key of an owner with --files-owner, or a "
            "token with --auth-token-file, or tokens with --tokens");
    }
    const bool has_url =
        !options.files.urls.empty() || (!endpoint.is_unspecified() && !endpoint.is_unix());
    if (options.files.owner_keys.empty() || has_url) return {};
    return base::fail("clients sign their logins for the address of the files, and " +
                      net::to_text(endpoint) +
                      " does not say which address they use: set it with --files-url, such as "
                      "--files-url http://files.example.org:8081");
}

std::unique_ptr<net::Protocol> make_files(net::Channel& channel, LoopParts& parts) {
    return std::make_unique<net::HttpProtocol>(channel, parts.files, parts.http_limits.files);
}

bool has_cluster(const ServeOptions& options) {
    return options.cluster.is_on();
}

std::unique_ptr<net::Protocol> make_status(net::Channel& channel, LoopParts& parts) {
    return std::make_unique<net::HttpProtocol>(channel, *parts.node_router,
                                               parts.http_limits.status);
}

constexpr Door doors_table[] = {
    {.name = "http",
     .tls_name = "https",
     .help = "address for HTTP: ADDR:PORT (port 0 is any free port), unix:PATH, or none",
     .default_address = "127.0.0.1:8080",
     .address = &ServeOptions::http_address,
     .guard = Guard::token,
     .is_http = true,
     .is_shared = true,
     .opens_by_default = nullptr,
     .check_needs = nullptr,
     .limits = http_limits,
     .connections_max = usual_connections,
     .turn_away_text = turn_http_away,
     .make_protocol = make_http,
     .requests = http_requests},
    {.name = "dflockd",
     .tls_name = "dflockd",
     .help = "address for dflockd's clients: ADDR:PORT, unix:PATH, or none",
     .default_address = "127.0.0.1:6388",
     .address = &ServeOptions::dflockd_address,
     .guard = Guard::token,
     .is_http = false,
     .is_shared = true,
     .opens_by_default = nullptr,
     .check_needs = nullptr,
     .limits = dflockd_limits,
     .connections_max = dflockd_connections,
     .turn_away_text = turn_away_silently,
     .make_protocol = make_dflockd},
    {.name = "redis",
     .tls_name = "redis",
     .help = "address for lock clients of Redis: ADDR:PORT, unix:PATH, or none. Default: none. "
             "Redis itself uses 127.0.0.1:6379",
     .default_address = "127.0.0.1:6379",
     .address = &ServeOptions::redis_address,
     .guard = Guard::token,
     .is_http = false,
     .is_shared = true,
     .opens_by_default = opens_never,
     .check_needs = nullptr,
     .limits = redis_limits,
     .connections_max = usual_connections,
     .turn_away_text = turn_redis_away,
     .make_protocol = make_redis},
    {.name = "files",
     .tls_name = "files",
     .help = "address for files: ADDR:PORT, unix:PATH, or none. Default: 127.0.0.1:8081 if "
             "--files-root is set, otherwise none",
     .default_address = "127.0.0.1:8081",
     .address = &ServeOptions::files_address,
     .guard = Guard::login,
     .is_http = true,
     .is_shared = true,
     .opens_by_default = has_file_root,
     .check_needs = check_files,
     .limits = http_limits,
     .connections_max = usual_connections,
     .turn_away_text = turn_files_away,
     .make_protocol = make_files,
     .requests = file_requests},
    {.name = "status",
     .tls_name = "status",
     .help = "address for the status of this cluster node, over HTTP: ADDR:PORT, unix:PATH, or "
             "none. Default: 127.0.0.1:8082 if --cluster is set, otherwise none",
     .default_address = "127.0.0.1:8082",
     .address = &ServeOptions::status_address,
     .guard = Guard::token,
     .is_http = true,
     .is_shared = false,
     .opens_by_default = has_cluster,
     .check_needs = nullptr,
     .limits = http_limits,
     .connections_max = usual_connections,
     .turn_away_text = turn_http_away,
     .make_protocol = make_status,
     .requests = status_requests},
};

// Whether browsers reach the files by a proxy that speaks TLS.
bool has_https_url(const ServeOptions& options) {
    return std::ranges::any_of(options.files.urls,
                               [](const std::string& url) { return url.starts_with("https://"); });
}

// Whether strangers are kept out.
base::Result<void> check_guard(const Door& door, const net::Endpoint& endpoint,
                               const ServeOptions& options) {
    const bool has_logins = door.guard == Guard::login && !options.files.owner_keys.empty();
    const bool is_unguarded =
        options.is_dflockd_unguarded && door.address == &ServeOptions::dflockd_address;
    if (endpoint.is_local() || has_auth_token(options) || has_logins || options.is_insecure ||
        is_unguarded) {
        return {};
    }
    return base::fail(
        "refusing to listen on " + net::to_text(endpoint) +
        ": everybody who can reach it could acquire and release locks. Listen on 127.0.0.1, or "
        "require a token with --auth-token-file or --tokens, or add --insecure if you want this");
}

}  // namespace

std::span<const Door> all_doors() {
    return doors_table;
}

std::string address_of(const Door& door, const ServeOptions& options) {
    const std::string& given = options.*door.address;
    if (!given.empty()) return given;
    const bool opens = door.opens_by_default == nullptr || door.opens_by_default(options);
    return opens ? door.default_address : no_address;
}

std::vector<const Door*> open_doors(const ServeOptions& options) {
    std::vector<const Door*> open;
    for (const Door& door : doors_table) {
        if (address_of(door, options) != no_address) open.push_back(&door);
    }
    return open;
}

base::Result<void> check_doors(const ServeOptions& options) {
    const auto open = open_doors(options);
    if (open.empty()) {
        std::string flags;
        for (const Door& door : doors_table) {
            flags += std::string(flags.empty() ? "" : ", ") + "--" + door.name;
        }
        return base::fail("nothing to serve: " + flags + " are all none");
    }
    for (const Door* const door : open) {
        TRY(const auto endpoint, net::parse_endpoint(address_of(*door, options)));
        if (door->check_needs != nullptr) TRY(door->check_needs(options, endpoint));
        TRY(check_guard(*door, endpoint, options));
    }
    return {};
}

void warn_of_open_doors(const ServeOptions& options) {
    const bool has_tls = !options.tls.certificate_file.empty();
    const bool has_tokens = has_auth_token(options) || !options.admin_token_file.empty();
    for (const Door* const door : open_doors(options)) {
        const std::string address = address_of(*door, options);
        const auto endpoint = net::parse_endpoint(address);
        if (!endpoint || endpoint->is_local()) continue;
        const auto warn = [&](std::string_view message, std::string_view remedy) {
            base::log(base::LogLevel::warning, message, {{"address", address}, {"remedy", remedy}});
        };
        if (door->guard == Guard::token && !has_auth_token(options)) {
            warn("everybody who can reach this address may acquire and release locks",
                 "--auth-token-file");
        }
        if (has_tls) continue;
        constexpr std::string_view remedy = "--tls-cert and --tls-key";
        // After a login, whatever kind of login it was, the id of the session is the proof.
        if (door->guard == Guard::login) {
            warn("sessions and files travel in the clear", remedy);
            if (!options.files.origins.empty() && !has_https_url(options)) {
                warn(
                    "browsers send no cookie of the files for the pages of --files-origin, because "
                    "that needs TLS: those apps cannot stay logged in",
                    remedy);
            }
        }
        if (door->guard == Guard::token && has_tokens) warn("tokens travel in the clear", remedy);
    }
}

std::uint64_t descriptors_needed(const ServeOptions& options) {
    // The database, its journal, files that are served, nodes of a cluster, and what is turned away.
    constexpr std::uint64_t others = 500;
    std::uint64_t most = 0;
    for (const Door* const door : open_doors(options)) {
        const std::size_t number = door->connections_max(options).number;
        if (number != SIZE_MAX) most = std::max<std::uint64_t>(most, number);
    }
    return most == 0 ? 0 : most + others;
}

std::string_view shown_name(const Door& door, const net::Endpoint& endpoint, bool has_tls) {
    return has_tls && !endpoint.is_unix() ? door.tls_name : door.name;
}

}  // namespace holdfast::app

#include "cli/server.h"

#include <fmt/format.h>

#include <cstdio>

#include "cli/exit_codes.h"
#include "cli/screen/lock_rows.h"
#include "cli/screen/terminal_text.h"
#include "net/client/url.h"
#include "options/options.h"
#include "sdk/http/server_access.h"

namespace holdfast::cli {

namespace {

tl::unexpected<Failure> fail(int exit_code, std::string message) {
    return tl::unexpected<Failure>({.exit_code = exit_code, .message = std::move(message)});
}

// What is the same trouble whatever was asked.
Asked<Answer> judge(Answer answer) {
    const auto with_message = [&](const std::string& text) {
        return answer.message().empty() ? text : fmt::format("{} ({})", text, answer.message());
    };
    if (answer.status == 401) {
        return fail(exit_not_permitted,
                    with_message("the server wants a secret, or another one: see --token-file"));
    }
    if (answer.status == 403) {
        return fail(exit_not_permitted,
                    with_message("this takes the admin's secret: see --token-file"));
    }
    if (answer.status == 400 || answer.status == 413) {
        return fail(exit_usage, with_message("the server does not understand this"));
    }
    if (answer.status >= 500) {
        return fail(exit_unavailable, with_message("the server cannot do this now"));
    }
    return answer;
}

Failure unreachable(const net::HttpFailure& failure) {
    using Kind = net::HttpFailure::Kind;
    std::string advice;
    if (failure.kind == Kind::unreachable) {
        advice = "; is `holdfast serve` running there? see --server";
    } else if (failure.kind == Kind::certificate) {
        advice = "; see --ca-file";
    }
    return {.exit_code = exit_unavailable, .message = failure.message + advice};
}

}  // namespace

void declare_server_options(const options::Command& command, ServerOptions& options) {
    const std::string group = "Server";
    command.add_option("--server", options.server, "where the server is")
        .takes("URL")
        .variable("HOLDFAST_SERVER")
        .shows_default()
        .group(group);
    command
        .add_option("--token-file", options.token_file,
                    "file with the server's secret, if it has one")
        .takes("FILE")
        .variable("HOLDFAST_TOKEN_FILE")
        .group(group);
    command
        .add_option("--ca-file", options.ca_file,
                    "who vouches for an https server; not given: whom the system trusts")
        .takes("FILE")
        .variable("HOLDFAST_CA_FILE")
        .group(group);
}

void declare_kind_option(const options::Command& command, std::string& kind) {
    command
        .add_option("--kind", kind,
                    "of things that share a name, this one: named, semaphore, path, inode")
        .takes("KIND")
        .among({"named", "semaphore", "path", "inode"}, false);
}

std::string lock_target(std::string_view name, std::string_view kind) {
    std::string target = "/v1/locks/" + net::percent_encode(name);
    if (!kind.empty()) target.append("?kind=").append(kind);
    return target;
}

std::string shown_lock_target(std::string_view name, std::string_view kind) {
    const std::string target = lock_target(name, kind);
    return target + (kind.empty() ? "?" : "&") + "queue=true";
}

int complain(const Failure& failure) {
    std::fprintf(stderr, "holdfast: %s\n", shown(failure.message).c_str());
    return failure.exit_code;
}

std::string_view Answer::reason() const {
    const std::string_view reason = json["reason"].text();
    return reason.empty() ? json["error"].text() : reason;
}

std::string_view Answer::message() const {
    const std::string_view message = json["message"].text();
    return message.empty() ? json["error"].text() : message;
}

Asked<Server> Server::open(const ServerOptions& options) {
    std::vector<std::unique_ptr<net::HttpClient>> clients;
    for (const std::string& url : sdk::split_by_commas(options.server)) {
        auto address = net::HttpAddress::parse(url);
        if (!address) return fail(exit_usage, "--server: " + address.error().message);
        auto client = net::HttpClient::open(std::move(*address), {.ca_file = options.ca_file});
        if (!client) return fail(exit_usage, client.error().message);
        clients.push_back(std::move(*client));
    }
    if (clients.empty()) return fail(exit_usage, "--server names no server");
    return Server(options, std::move(clients));
}

// Read anew for every request: who renews the secret writes another one into the file.
Asked<std::vector<std::pair<std::string, std::string>>> Server::headers() const {
    if (options_.token_file.empty()) return {};
    const auto token = sdk::read_token(options_.token_file);
    if (!token || token->empty()) {
        return fail(exit_usage, "there is no secret in " + options_.token_file +
                                    ": see --token-file and HOLDFAST_TOKEN_FILE");
    }
    return std::vector<std::pair<std::string, std::string>>{{"Authorization", "Bearer " + *token}};
}

Asked<Answer> Server::ask(const std::string& method, const std::string& target,
                          const std::string& body) {
    TRY(auto with_secret, headers());
    const net::HttpCall call{.method = method,
                             .target = target,
                             .body = body,
                             .headers = std::move(with_secret),
                             .repeat = method == "GET" ? net::Repeat::allowed : net::Repeat::never};
    net::HttpFailure failure;
    for (const auto& client : clients_) {
        auto answer = client->send(call);
        if (answer) {
            auto json = base::JsonValue::parse(answer->body);
            return judge({.status = answer->status,
                          .body = std::move(answer->body),
                          .json = json ? std::move(*json) : base::JsonValue()});
        }
        failure = answer.error();
        // It may have had an effect there.
        if (failure.kind != net::HttpFailure::Kind::unreachable && method != "GET") break;
    }
    return tl::unexpected(unreachable(failure));
}

Asked<Answer> Server::get(const std::string& target) {
    TRY(auto answer, ask("GET", target));
    if (answer.status == 200) return answer;
    return fail(exit_refused, std::string(answer.message()));
}

Asked<void> Server::stream(const net::HttpCall& call,
                           const std::function<bool(std::string_view)>& on_bytes,
                           const std::function<void()>& on_open) {
    TRY(auto with_secret, headers());
    net::HttpCall whole = call;
    whole.headers.insert(whole.headers.end(), with_secret.begin(), with_secret.end());
    net::HttpFailure failure;
    for (const auto& client : clients_) {
        Answer refusal;
        const auto is_welcome = [&](const net::HttpAnswer& head) {
            refusal.status = head.status;
            if (head.status == 200 && on_open) on_open();
            return head.status == 200;
        };
        const auto done = client->stream(whole, {.on_head = is_welcome, .on_bytes = on_bytes});
        if (done && refusal.status == 200) return {};
        if (done) {
            TRY(auto answer, judge(std::move(refusal)));
            return fail(exit_refused, fmt::format("{} has no {}: it may be older than this program",
                                                  address(), call.target));
        }
        failure = done.error();
        if (failure.kind != net::HttpFailure::Kind::unreachable) break;
    }
    return tl::unexpected(unreachable(failure));
}

Asked<std::chrono::milliseconds> Server::clock_offset() {
    const std::int64_t before = unix_now_ms();
    TRY(const auto status, get("/v1/status"));
    const std::int64_t middle = before + (unix_now_ms() - before) / 2;
    return std::chrono::milliseconds{number_of(status.json["now_ms"]) - middle};
}

std::int64_t unix_now_ms() {
    return std::chrono::floor<std::chrono::milliseconds>(std::chrono::system_clock::now())
        .time_since_epoch()
        .count();
}

}  // namespace holdfast::cli

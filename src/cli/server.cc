#include "cli/server.h"

#include <fmt/format.h>

#include "base/token_file.h"
#include "cli/screen/lock_rows.h"
#include "cli/screen/terminal_text.h"
#include "net/client/url.h"
#include "options/options.h"

namespace holdfast::cli {

namespace {

// The failure that an answer means for every command, if it means one.
std::optional<Failure> find_failure(const Answer& answer) {
    const auto failure = [&](int exit_code, const char* text) {
        return Failure{exit_code, fmt::format("{} ({})", text, answer.message())};
    };
    if (answer.is_foreign() && answer.status != 401 && answer.status < 500) {
        return Failure{exit_unavailable, to_text(answer.to_error()) + " See --server"};
    }
    if (answer.status == 401) {
        return failure(exit_not_permitted,
                       "the server needs a token, or another one: see --token-file");
    }
    if (answer.status == 403) {
        return failure(exit_not_permitted, "your token does not permit this: see --token-file");
    }
    if (answer.status == 400 || answer.status == 413) {
        return failure(exit_usage, "the server did not accept this request");
    }
    if (answer.status >= 500) return failure(exit_unavailable, "the server cannot do this now");
    return std::nullopt;
}

}  // namespace

Asked<std::string> next_page(const base::JsonValue& next, std::string_view after) {
    std::string begins(next.text());
    if (const auto number = next.number()) begins = std::to_string(*number);
    if (begins.empty() || begins != after) return begins;
    return fail(exit_unavailable, "the server's listing does not go on after " + escape(begins));
}

void declare_server_options(const options::Command& command, ServerOptions& options) {
    const std::string group = "Server";
    command.add_option("--server", options.server, "the server: HOST:PORT, a URL, or unix:PATH")
        .takes("URL")
        .variable("HOLDFAST_SERVER")
        .shows_default()
        .group(group);
    command
        .add_option("--token-file", options.token_file,
                    "file with the server's token, if it needs one. Or set HOLDFAST_TOKEN to the "
                    "token itself")
        .takes("FILE")
        .variable("HOLDFAST_TOKEN_FILE")
        .group(group);
    command
        .add_option("--ca-file", options.ca_file,
                    "certificates to trust for https. Default: those of the system")
        .takes("FILE")
        .variable("HOLDFAST_CA_FILE")
        .group(group);
    command.add_flag("--json", options.is_json, "print JSON, also for failures");
}

// NOLINTNEXTLINE(bugprone-easily-swappable-parameters): as in the URL
std::string lock_target(std::string_view name, std::string_view kind) {
    std::string target = "/v1/locks/" + net::percent_encode(name);
    if (!kind.empty()) target.append("?kind=").append(kind);
    return target;
}

ClientOptions to_client_options(const ServerOptions& options) {
    ClientOptions client = ClientOptions::from_environment();
    if (!options.token_file.empty()) client.token.clear();
    client.servers = sdk::split_by_commas(options.server);
    client.token_file = options.token_file;
    client.ca_file = options.ca_file;
    return client;
}

Asked<Server> Server::open(const ServerOptions& options,
                           std::optional<std::chrono::milliseconds> timeout) {
    ClientOptions client = to_client_options(options);
    client.timeout = timeout.value_or(client.timeout);
    if (client.servers.empty()) return fail(exit_usage, "--server names no server");
    if (!options.token_file.empty() && !base::read_token_file(options.token_file)) {
        return fail(exit_usage, "there is no token in " + options.token_file +
                                    ": see --token-file and HOLDFAST_TOKEN_FILE");
    }
    auto exchange = sdk::Exchange::open(client);
    if (!exchange) return fail(exit_usage, to_text(exchange.error()));
    return Server(options.server, *std::move(exchange));
}

Failure Server::to_failure(const sdk::NoAnswer& none, const std::string& target) const {
    if (none.answer) {
        if (auto failure = find_failure(*none.answer)) return *std::move(failure);
        return {exit_refused,
                fmt::format("{} has no {}: it may be older than this program", address(), target)};
    }
    std::string advice;
    if (none.is_unreachable) {
        advice = "; is `holdfast serve` running there? see --server";
    } else if (none.is_final && !none.is_cancelled()) {  // the certificate was not accepted
        advice = "; see --ca-file";
    }
    return {exit_unavailable, to_text(none.error) + advice};
}

Asked<Answer> Server::ask(const std::string& method, const std::string& target,
                          const std::string& body) {
    auto answer = exchange_->ask_once({.method = method,
                                       .target = target,
                                       .body = body,
                                       .timeout = exchange_->options().timeout,
                                       .is_repeatable = method == "GET"});
    if (!answer) return tl::unexpected(to_failure(answer.error(), target));
    if (auto failure = find_failure(*answer)) return tl::unexpected(*std::move(failure));
    return *std::move(answer);
}

Asked<Answer> Server::get(const std::string& target) {
    TRY(auto answer, ask("GET", target));
    if (answer.status == 200) return answer;
    return fail(exit_refused, answer.message());
}

Asked<void> Server::stream(const std::string& target, std::chrono::milliseconds timeout,
                           const std::function<bool(std::string_view)>& on_bytes) {
    const auto done =
        exchange_->stream({.target = target, .timeout = timeout, .on_bytes = on_bytes});
    if (!done) return tl::unexpected(to_failure(done.error(), target));
    return {};
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

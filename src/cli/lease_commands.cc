// `holdfast lock`, `renew` and `unlock`: leases by hand, for scripts that cannot use `holdfast run`.

#include <fmt/format.h>

#include "base/json/json_writer.h"
#include "cli/command.h"
#include "cli/lease_options.h"
#include "cli/screen/terminal_text.h"
#include "cli/server.h"
#include "net/client/url.h"
#include "options/options.h"

namespace holdfast::cli {

namespace {

struct LockOptions {
    LeaseOptions lease;
    bool is_json = false;
};

struct TokenOptions {
    ServerOptions server;
    std::string token;
    std::optional<std::chrono::milliseconds> ttl;
};

void print_lease(const Lease& lease, bool is_json) {
    const auto expires =
        std::chrono::floor<std::chrono::milliseconds>(lease.expires_at.time_since_epoch());
    if (!is_json) {
        fmt::print("{} {} {}\n", lease.token, lease.fencing_token, moment(expires.count()));
        return;
    }
    std::string text;
    base::JsonWriter(text)
        .begin_object()
        .field("token", lease.token)
        .field("fencing_token", lease.fencing_token)
        .field("scope", lease.scope.to_text())
        .field("owner", lease.owner)
        .field("expires_at", moment(expires.count()))
        .field("ttl_ms", lease.ttl.count())
        .end_object();
    fmt::print("{}\n", text);
}

int lock(const LockOptions& options) {
    const auto request = to_request(options.lease);
    if (!request) return complain(request.error());
    const std::string& title = options.lease.title();
    auto client = Client::open(to_client_options(options.lease));
    if (!client) return complain(to_failure(client.error(), title));
    const auto lease = client->acquire(*request, wait_of(options.lease));
    if (!lease) return complain(to_failure(lease.error(), title));
    print_lease(*lease, options.is_json);
    return exit_success;
}

Failure no_lease(const Answer& answer) {
    return {exit_refused, answer.reason() == "LockExpired"
                              ? "the lease is over: somebody else may have the lock"
                              : "this is the token of no lease"};
}

int renew(const TokenOptions& options) {
    auto server = Server::open(options.server);
    if (!server) return complain(server.error());
    const std::string body =
        options.ttl ? fmt::format("{{\"duration_ms\":{}}}", options.ttl->count()) : "{}";
    const auto answer =
        server->ask("POST", "/v1/leases/" + net::percent_encode(options.token) + "/renew", body);
    if (!answer) return complain(answer.error());
    if (answer->status != 200) return complain(no_lease(*answer));
    fmt::print("{}\n", escape(answer->json["expires_at"].text()));
    return exit_success;
}

int unlock(const TokenOptions& options) {
    auto server = Server::open(options.server);
    if (!server) return complain(server.error());
    const auto answer = server->ask("DELETE", "/v1/leases/" + net::percent_encode(options.token));
    if (!answer) return complain(answer.error());
    return answer->status == 200 ? exit_success : complain(no_lease(*answer));
}

options::Command declare_token_command(const options::Command& program, const std::string& name,
                                       const std::string& help, TokenOptions& options) {
    const options::Command command = program.add_command(name, help);
    command.add_option("token", options.token, "the lease, by what `holdfast lock` printed first")
        .takes("TOKEN")
        .required();
    declare_server_options(command, options.server);
    return command;
}

}  // namespace

Command declare_lock(const options::Command& program) {
    const auto options = std::make_shared<LockOptions>();
    const options::Command command =
        program.add_command("lock", "take a lock, print its token, and leave the renewing to you");
    declare_lease_options(command, options->lease);
    command.add_flag("--json", options->is_json, "print a JSON object");
    command.footer(
        "Prints the token, the fencing number and when it ends. NOBODY RENEWS THIS LEASE: after\n"
        "--ttl the lock is somebody else's, whatever your script is doing then. Prefer `run`.\n"
        "\n"
        "  holdfast lock nightly --ttl 10m --owner \"$USER\"\n"
        "  read -r token fence expires <<< \"$(holdfast lock nightly --ttl 10m --wait 1m)\"\n"
        "  holdfast renew \"$token\"\n"
        "  holdfast unlock \"$token\"");
    return {.options = command, .run = [options] { return lock(*options); }};
}

Command declare_renew(const options::Command& program) {
    const auto options = std::make_shared<TokenOptions>();
    const options::Command command = declare_token_command(
        program, "renew", "let a lease begin anew, and print when it ends", *options);
    const auto set_ttl = [options](std::chrono::nanoseconds ttl) {
        options->ttl = std::chrono::ceil<std::chrono::milliseconds>(ttl);
    };
    command.add_duration("--ttl", std::function(set_ttl),
                         "for so long from now on; not given: for as long as it was");
    command.footer(
        "Ends with 1 if the lease is over: then the lock may be somebody else's.\n"
        "\n"
        "  holdfast renew 0006604efeeb32d670ecdeec23021d23");
    return {.options = command, .run = [options] { return renew(*options); }};
}

Command declare_unlock(const options::Command& program) {
    const auto options = std::make_shared<TokenOptions>();
    const options::Command command =
        declare_token_command(program, "unlock", "give a lease back", *options);
    command.footer(
        "Ends with 1 if the lease was over already.\n"
        "\n"
        "  holdfast unlock 0006604efeeb32d670ecdeec23021d23");
    return {.options = command, .run = [options] { return unlock(*options); }};
}

}  // namespace holdfast::cli

// `holdfast lock`, `renew` and `unlock`: leases by hand, for scripts that cannot use `holdfast run`.

#include <fmt/format.h>

#include <algorithm>

#include "base/json/json_writer.h"
#include "base/result.h"
#include "cli/command.h"
#include "cli/lease_options.h"
#include "cli/screen/terminal_text.h"
#include "cli/server.h"
#include "cli/wait_notice.h"
#include "options/options.h"

namespace holdfast::cli {

namespace {

using std::chrono::milliseconds;

struct TokenOptions {
    ServerOptions server;
    std::string token;
    std::optional<milliseconds> ttl;
};

void print_lease(const Lease& lease, bool is_json) {
    const auto expires = std::chrono::floor<milliseconds>(lease.expires_at.time_since_epoch());
    if (!is_json) {
        fmt::print("{} {} {}\n", lease.token, lease.fencing_token, moment(expires.count()));
        return;
    }
    std::string text;
    base::JsonWriter json(text);
    json.begin_object()
        .field("token", lease.token)
        .field("fencing_token", lease.fencing_token)
        .field("scope", lease.scope.to_text())
        .field("holder", lease.holder)
        .field("mode", lease.mode == LockMode::shared ? "shared" : "exclusive")
        .field("expires_at", moment(expires.count()))
        .field("ttl_ms", lease.ttl.count());
    if (!lease.scopes.empty()) {
        json.begin_array("scopes");
        for (const LockSetMember& member : lease.scopes) json.element(member.scope.to_text());
        json.end_array();
    }
    json.end_object();
    fmt::print("{}\n", text);
}

// A lease of which only the token is known.
Lease lease_of(const TokenOptions& options) {
    return {.scope = LockScope::Named{},
            .token = options.token,
            .lasts_until = BootClock::now() + to_client_options(options.server).retry_for};
}

Asked<int> lock(const LeaseOptions& options) {
    TRY(const LeaseRequest request, to_request(options));
    const milliseconds wait = wait_of(options);
    ClientOptions client_options = to_client_options(options);
    // Nothing is renewed here, so a server that does not answer is not waited for any longer either.
    client_options.timeout = std::clamp(wait, milliseconds{2'000}, client_options.timeout);
    TRY(Client client, asked(Client::open(client_options)));
    std::optional<WaitNotice> notice;
    if (wait > milliseconds::zero()) {
        notice.emplace(AwaitedLock{.server = options.server,
                                   .locks = options.names,
                                   .owner = request.holder,
                                   .wait = wait});
    }
    auto lease = client.acquire(request, wait);
    notice.reset();
    TRY(const Lease held, asked(std::move(lease), options.title()));
    print_lease(held, options.server.is_json);
    return exit_success;
}

Asked<int> renew(const TokenOptions& options) {
    TRY(Client client, asked(Client::open(to_client_options(options.server))));
    TRY(const Lease lease, asked(client.renew(lease_of(options), options.ttl)));
    if (options.server.is_json) {
        print_lease(lease, true);
        return exit_success;
    }
    const auto expires = std::chrono::floor<milliseconds>(lease.expires_at.time_since_epoch());
    fmt::print("{}\n", moment(expires.count()));
    return exit_success;
}

Asked<int> unlock(const TokenOptions& options) {
    TRY(Client client, asked(Client::open(to_client_options(options.server))));
    TRY(asked(client.release(lease_of(options))));
    if (options.server.is_json) fmt::print("{{\"released\":true}}\n");
    return exit_success;
}

options::Command declare_token_command(const options::Command& program, const std::string& name,
                                       const std::string& help, TokenOptions& options) {
    const options::Command command = program.add_command(name, help);
    command
        .add_option("token", options.token,
                    "token of the lease: the first word that `holdfast lock` printed")
        .takes("TOKEN")
        .required();
    declare_server_options(command, options.server);
    return command;
}

}  // namespace

Command declare_lock(const options::Command& program) {
    const auto options = std::make_shared<LeaseOptions>();
    const options::Command command =
        program.add_command("lock", "acquire locks and print their token; you have to renew it");
    declare_lease_options(command, *options);
    command.usage("LOCK... [OPTIONS]");
    command.footer(
        "Prints the token, the fencing number and the expiry of the lease. NOBODY RENEWS THIS "
        "LEASE:\n"
        "after --ttl somebody else can have the lock, even if your script still works. Prefer "
        "`run`.\n"
        "\n"
        "  holdfast lock nightly --ttl 10m --owner \"$USER\"\n"
        "  holdfast lock db-a db-b --owner \"$USER\"\n"
        "  read -r token fence expires <<< \"$(holdfast lock nightly --ttl 10m --wait 1m)\"\n"
        "  holdfast renew \"$token\"\n"
        "  holdfast unlock \"$token\"");
    return {.options = command, .run = [options] { return lock(*options); }};
}

Command declare_renew(const options::Command& program) {
    const auto options = std::make_shared<TokenOptions>();
    const options::Command command =
        declare_token_command(program, "renew", "renew a lease and print its new expiry", *options);
    const auto set_ttl = [options](std::chrono::nanoseconds ttl) {
        options->ttl = std::chrono::ceil<std::chrono::milliseconds>(ttl);
    };
    command.add_duration("--ttl", std::function(set_ttl),
                         "new TTL. Default: the TTL that the lease has");
    command.footer(
        "Exits with 1 if the lease has ended: then somebody else may hold the lock.\n"
        "\n"
        "  holdfast renew 0006604efeeb32d670ecdeec23021d23");
    return {.options = command, .run = [options] { return renew(*options); }};
}

Command declare_unlock(const options::Command& program) {
    const auto options = std::make_shared<TokenOptions>();
    const options::Command command =
        declare_token_command(program, "unlock", "release a lease", *options);
    command.footer(
        "Exits with 1 if the lease had ended already.\n"
        "\n"
        "  holdfast unlock 0006604efeeb32d670ecdeec23021d23");
    return {.options = command, .run = [options] { return unlock(*options); }};
}

}  // namespace holdfast::cli

// `holdfast fence`: shows a fencing number for a resource that cannot remember such numbers itself.

#include <fmt/format.h>

#include "cli/command.h"
#include "cli/screen/lock_rows.h"
#include "cli/screen/terminal_text.h"
#include "cli/server.h"
#include "net/client/url.h"
#include "options/options.h"

namespace holdfast::cli {

namespace {

struct FenceOptions {
    ServerOptions server;
    std::string resource;
    std::uint64_t number = 0;
    bool is_show = false;
    bool is_drop = false;
};

int show(Server& server, const std::string& target, const FenceOptions& options) {
    const auto answer = server.ask("GET", target);
    if (!answer) return complain(answer.error());
    if (answer->status != 200) {
        return complain({exit_refused, "no number was ever shown for " + options.resource});
    }
    fmt::print("{}\n", number_of(answer->json["highest"]));
    return exit_success;
}

int drop(Server& server, const std::string& target, const FenceOptions& options) {
    const auto answer = server.ask("DELETE", target);
    if (!answer) return complain(answer.error());
    if (answer->status != 200) {
        return complain({exit_refused, "no number was ever shown for " + options.resource});
    }
    fmt::print("dropped {}, which was at {}\n", escape(options.resource),
               number_of(answer->json["highest"]));
    return exit_success;
}

int pass(Server& server, const std::string& target, const FenceOptions& options) {
    const auto answer =
        server.ask("POST", target, fmt::format("{{\"fencing_token\":{}}}", options.number));
    if (!answer) return complain(answer.error());
    if (answer->status == 200) return exit_success;
    return complain(
        {exit_refused,
         fmt::format("{} is too old for {}: somebody came with {}. Do not write.", options.number,
                     options.resource, number_of(answer->json["highest"]))});
}

int fence(const FenceOptions& options, bool has_number) {
    if (int{options.is_show} + int{options.is_drop} + int{has_number} != 1) {
        return complain({exit_usage, "say one of: a NUMBER to be checked, --show, --drop"});
    }
    auto server = Server::open(options.server);
    if (!server) return complain(server.error());
    const std::string target = "/v1/fence/" + net::percent_encode(options.resource);
    if (options.is_show) return show(*server, target, options);
    if (options.is_drop) return drop(*server, target, options);
    return pass(*server, target, options);
}

}  // namespace

Command declare_fence(const options::Command& program) {
    const auto options = std::make_shared<FenceOptions>();
    const options::Command command = program.add_command(
        "fence", "have a fencing number checked before a write; refused if a larger one was seen");
    command.add_option("resource", options->resource, "what is about to be written")
        .takes("RESOURCE")
        .required();
    const options::Option number =
        command.add_option("number", options->number, "the fencing number of your lock")
            .takes("NUMBER");
    command.add_flag("--show", options->is_show, "print the largest number so far");
    command.add_flag("--drop", options->is_drop, "forget the resource; an admin's");
    declare_server_options(command, options->server);
    command.footer(
        "Ends with 0 if the number is good, with 1 if it is too old.\n"
        "\n"
        "  holdfast run nightly -- sh -c 'holdfast fence bucket $HOLDFAST_FENCE && upload'\n"
        "  holdfast fence bucket --show");
    return {.options = command,
            .run = [options, number] { return fence(*options, number.is_given()); }};
}

}  // namespace holdfast::cli

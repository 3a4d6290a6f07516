// `holdfast fence`: shows a fencing number for a resource that cannot remember such numbers itself.

#include <fmt/format.h>

#include "base/json/json_writer.h"
#include "base/result.h"
#include "cli/command.h"
#include "cli/screen/terminal_text.h"
#include "cli/server.h"
#include "holdfast/client.h"
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

// Prints the largest number of the resource after what was done with it.
void print_highest(const FenceOptions& options, std::uint64_t highest, const std::string& text) {
    if (!options.server.is_json) {
        fmt::print("{}", text);
        return;
    }
    std::string json;
    base::JsonWriter(json)
        .begin_object()
        .field("resource", options.resource)
        .field("highest", highest)
        .end_object();
    fmt::print("{}\n", json);
}

Asked<int> fence(const FenceOptions& options, bool has_number) {
    if (int{options.is_show} + int{options.is_drop} + int{has_number} != 1) {
        return fail(exit_usage, "give exactly one of these: a NUMBER to check, --show, --drop");
    }
    TRY(Client client, asked(Client::open(to_client_options(options.server))));
    if (has_number) {
        TRY(const auto highest, asked(client.pass_fence(options.resource, options.number)));
        print_highest(options, highest, "");
        return exit_success;
    }
    TRY(const auto highest, asked(options.is_show ? client.get_fence(options.resource)
                                                  : client.drop_fence(options.resource)));
    if (!highest) return fail(exit_refused, "no fencing number is known for " + options.resource);
    print_highest(options, *highest,
                  options.is_show ? fmt::format("{}\n", *highest)
                                  : fmt::format("dropped {}, which was at {}\n",
                                                escape(options.resource), *highest));
    return exit_success;
}

}  // namespace

Command declare_fence(const options::Command& program) {
    const auto options = std::make_shared<FenceOptions>();
    const options::Command command = program.add_command(
        "fence", "check a fencing number before a write; refuse it if a larger one was seen");
    command.add_option("resource", options->resource, "name of the resource to write to")
        .takes("RESOURCE")
        .required();
    const options::Option number =
        command.add_option("number", options->number, "fencing number of your lock")
            .takes("NUMBER");
    command.add_flag("--show", options->is_show, "print the largest number seen");
    command.add_flag("--drop", options->is_drop, "forget the resource (admin)");
    declare_server_options(command, options->server);
    command.footer(
        "Exits with 0 if you may write, and with 1 if the number is too old.\n"
        "\n"
        "  holdfast run nightly -- sh -c 'holdfast fence bucket $HOLDFAST_FENCE && upload'\n"
        "  holdfast fence bucket --show");
    return {.options = command,
            .run = [options, number] { return fence(*options, number.is_given()); }};
}

}  // namespace holdfast::cli

// `holdfast restore FILE`: puts a backup in the place where `holdfast serve` will look.

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>

#include "app/commands/commands.h"
#include "app/serve_options.h"
#include "options/options.h"
#include "service/ports/clock.h"
#include "store/backup.h"

namespace holdfast::app {

namespace {

struct RestoreCommand {
    std::string copy_path;
    std::string data_folder = ServeOptions{}.data_folder;
    bool may_replace = false;
};

void declare_restore_options(const options::Command& command, RestoreCommand& restore) {
    command.add_option("FILE", restore.copy_path, "what `holdfast backup` has written").required();
    command.add_option("--data", restore.data_folder, "folder that the server keeps its locks in")
        .takes("DIR")
        .variable("HOLDFAST_DATA")
        .shows_default();
    command.add_flag("--replace", restore.may_replace,
                     "put the database aside that is there already");
    command.footer(
        "The server must not be running. Fencing numbers go on above all that were given out;\n"
        "leases in the backup begin their time anew when the server starts. Leases that were\n"
        "taken after the backup was made are not in it: see that whoever held them has stopped\n"
        "before the server is started.\n"
        "\n"
        "  holdfast backup locks.db                              while the server runs\n"
        "  holdfast restore locks.db --data /var/lib/holdfast    when it does not");
}

int run_restore(const RestoreCommand& restore) {
    const auto restored =
        store::restore({.copy_path = restore.copy_path,
                        .database_path = database_file({.data_folder = restore.data_folder}),
                        .token_floor = service::first_number(),
                        .may_replace = restore.may_replace});
    if (!restored) {
        std::fprintf(stderr, "holdfast: %s\n", restored.error().message.c_str());
        return EXIT_FAILURE;
    }
    std::printf("restored; leases: %zu, fences: %zu, the next fencing number: %llu or above\n",
                restored->leases, restored->fences,
                static_cast<unsigned long long>(restored->next_token));
    if (!restored->replaced.empty()) {
        std::printf("what was there before is now %s\n", restored->replaced.c_str());
    }
    if (!restored->replaced_problem.empty()) {
        std::printf(
            "the numbers it had given out could not be read (%s): the clock stands in for "
            "them\n",
            restored->replaced_problem.c_str());
    }
    return EXIT_SUCCESS;
}

}  // namespace

cli::Command declare_restore(const options::Command& program) {
    const auto options = std::make_shared<RestoreCommand>();
    const options::Command command =
        program.add_command("restore", "put a backup in the place of the database");
    declare_restore_options(command, *options);
    return {command, [options] { return run_restore(*options); }};
}

}  // namespace holdfast::app

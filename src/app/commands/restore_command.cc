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
    std::string data_folder;  // empty: the default
    bool may_replace = false;
};

void declare_restore_options(const options::Command& command, RestoreCommand& restore) {
    command.add_option("FILE", restore.copy_path, "the backup: a file that `holdfast backup` wrote")
        .required();
    command.add_option("--data", restore.data_folder, "folder of the server's database")
        .takes("DIR")
        .variable("HOLDFAST_DATA")
        .shows_default(data_folder_shown);
    command.add_flag("--replace", restore.may_replace,
                     "replace a database that exists; it is renamed, not deleted");
    command.footer(
        "Stop the server first. New fencing numbers will be larger than all numbers given out\n"
        "before. Leases in the backup get their full TTL again when the server starts. Leases\n"
        "granted after the backup was made are not in it: make sure that their holders have\n"
        "stopped before you start the server.\n"
        "\n"
        "  holdfast backup locks.db                              while the server runs\n"
        "  holdfast restore locks.db --data /var/lib/holdfast    after it has stopped");
}

int run_restore(const RestoreCommand& restore) {
    const std::string database =
        database_file({.data_folder = or_default_data_folder(restore.data_folder)});
    const auto restored = store::restore({.copy_path = restore.copy_path,
                                          .database_path = database,
                                          .token_floor = service::first_number(),
                                          .may_replace = restore.may_replace});
    if (!restored) {
        std::fprintf(stderr, "holdfast: %s\n", restored.error().message.c_str());
        return EXIT_FAILURE;
    }
    std::printf("restored; leases: %zu, fences: %zu, the next fencing number: %llu or above\n",
                restored->leases, restored->fences,
                static_cast<unsigned long long>(restored->next_token));
    std::printf("the database is %s\n", absolute_path(database).c_str());
    if (!restored->replaced.empty()) {
        std::printf("the old database is now %s\n", restored->replaced.c_str());
    }
    if (!restored->replaced_problem.empty()) {
        std::printf(
            "its fencing numbers could not be read (%s); new numbers start at the clock instead\n",
            restored->replaced_problem.c_str());
    }
    return EXIT_SUCCESS;
}

}  // namespace

cli::Command declare_restore(const options::Command& program) {
    const auto options = std::make_shared<RestoreCommand>();
    const options::Command command =
        program.add_command("restore", "replace the database of a stopped server with a backup");
    declare_restore_options(command, *options);
    return {command, [options] { return run_restore(*options); }};
}

}  // namespace holdfast::app

// `holdfast fold`: makes the database of a server that was killed complete, for people who read it.

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>

#include "app/commands/commands.h"
#include "app/serve_options.h"
#include "options/options.h"
#include "store/backup.h"

namespace holdfast::app {

namespace {

int run_fold(const std::string& data_folder) {
    const auto folded =
        store::fold_database(database_file({.data_folder = or_default_data_folder(data_folder)}));
    if (folded) return EXIT_SUCCESS;
    std::fprintf(stderr, "holdfast: %s\n", folded.error().message.c_str());
    return EXIT_FAILURE;
}

}  // namespace

cli::Command declare_fold(const options::Command& program) {
    const auto data_folder = std::make_shared<std::string>();
    const options::Command command =
        program.add_command("fold", "bring what the journal says into the database");
    command.add_option("--data", *data_folder, "folder that the server keeps its locks in")
        .takes("DIR")
        .variable("HOLDFAST_DATA")
        .shows_default(data_folder_shown);
    command.footer(
        "The server must not be running. A server folds its journal every second, when it stops\n"
        "and when it starts. This is for the database of a server that was killed, if somebody\n"
        "wants to read it before the next start:\n"
        "\n"
        "  holdfast fold --data /var/lib/holdfast\n"
        "  sqlite3 /var/lib/holdfast/holdfast.db 'SELECT * FROM lock_state'");
    return {command, [data_folder] { return run_fold(*data_folder); }};
}

}  // namespace holdfast::app

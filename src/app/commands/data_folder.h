#pragma once

// The folder of the database of a server that was not told one (`--data`).
//
// A server that is started again must find its locks, whatever folder it is started from. So there is
// one folder for each user. Older versions used `./holdfast-data` of the current folder: where that
// has a database, it is used as before.
//
// Thread safety: every function from any thread.

#include <string>
#include <vector>

namespace holdfast::app {

// The name of the database in a data folder.
inline constexpr const char* database_name = "holdfast.db";
// The default of older versions.
inline constexpr const char* data_folder_here = "./holdfast-data";
// How the default is written for people.
inline constexpr const char* data_folder_shown = "~/.local/state/holdfast";
// The folder of the packaged service, and of services that run as root.
inline constexpr const char* data_folder_of_system = "/var/lib/holdfast";

// What the place of the usual folder depends on. Empty texts are variables that are not set.
struct Surroundings {
    std::string state_directory;  // STATE_DIRECTORY: systemd has made it for this service
    std::string state_home;       // XDG_STATE_HOME
    std::string home;             // HOME
    bool is_root = false;
    bool is_service = false;  // started by systemd

    [[nodiscard]] static Surroundings of_this_process();
};

// The usual folder of this user, with its whole path. data_folder_here if the user has no home.
[[nodiscard]] std::string usual_data_folder(const Surroundings& surroundings);

// What `--data` means if it is not given: data_folder_here if that has a database, else the usual
// folder.
[[nodiscard]] std::string default_data_folder(const Surroundings& surroundings);

// The folder that was given with `--data`, or the default of this process if the text is empty.
[[nodiscard]] std::string or_default_data_folder(const std::string& given);

// Every folder that a server without `--data` may use, in whatever way this user starts it.
[[nodiscard]] std::vector<std::string> possible_data_folders(const Surroundings& surroundings);

// The first of `folders` that has a database which is easily overlooked: the server is about to use
// `database` in another folder, and that is new, or the folder is data_folder_here. Empty: there is
// none.
[[nodiscard]] std::string overlooked_data_folder(const std::string& database,
                                                 const std::vector<std::string>& folders);

// The path from the root on. It need not exist.
[[nodiscard]] std::string absolute_path(const std::string& path);

}  // namespace holdfast::app

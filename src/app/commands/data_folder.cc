#include "app/commands/data_folder.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <system_error>
#include <utility>

namespace holdfast::app {

namespace {

std::string variable(const char* name) {
    const char* const value = std::getenv(name);
    return value == nullptr ? "" : value;
}

// A database that was lost is not a new one: its journal is still there.
bool has_database_at(const std::filesystem::path& database) {
    std::error_code ignored;
    const auto exists = [&ignored](const std::filesystem::path& path) {
        return std::filesystem::exists(path, ignored);
    };
    return exists(database) || exists(database.string() + ".journal");
}

bool has_database_in(const std::string& folder) {
    return has_database_at(std::filesystem::path(folder) / database_name);
}

// A folder that this user may not look into may have one: to use it fails, instead of beginning with an
// empty database elsewhere.
bool may_have_database_in(const std::string& folder) {
    std::error_code error;
    if (!std::filesystem::is_directory(folder, error)) return false;
    (void)std::filesystem::exists(std::filesystem::path(folder) / database_name, error);
    return error == std::errc::permission_denied || has_database_in(folder);
}

// A folder may have several paths, through symbolic links.
bool is_same_folder(const std::string& a, const std::string& b) {
    std::error_code ignored;
    return absolute_path(a) == absolute_path(b) || std::filesystem::equivalent(a, b, ignored);
}

// A folder that a server may use which was not told one.
struct Candidate {
    std::string folder;
    bool is_usual;  // in these surroundings, unless an earlier one is
};

// In the order in which they count. data_folder_here is the last one, and always usual.
std::vector<Candidate> candidates(const Surroundings& surroundings) {
    std::vector<Candidate> all;
    // Several folders are separated by colons.
    const std::string& own = surroundings.state_directory;
    if (!own.empty()) all.push_back({own.substr(0, own.find(':')), true});
    // The specification of XDG says to ignore relative paths.
    if (surroundings.state_home.starts_with('/')) {
        all.push_back({surroundings.state_home + "/holdfast", true});
    }
    // It is the home of the user of the packaged service.
    const bool is_of_system = (surroundings.is_root && surroundings.is_service) ||
                              surroundings.home == data_folder_of_system;
    if (is_of_system) all.push_back({data_folder_of_system, true});
    if (surroundings.home.starts_with('/')) {
        all.push_back({surroundings.home + "/.local/state/holdfast", true});
    }
    if (!is_of_system) all.push_back({data_folder_of_system, surroundings.is_root});
    all.push_back({data_folder_here, true});
    return all;
}

}  // namespace

Surroundings Surroundings::of_this_process() {
    return {.state_directory = variable("STATE_DIRECTORY"),
            .state_home = variable("XDG_STATE_HOME"),
            .home = variable("HOME"),
            .is_root = ::geteuid() == 0,
            .is_service = !variable("INVOCATION_ID").empty()};
}

std::string usual_data_folder(const Surroundings& surroundings) {
    const auto all = candidates(surroundings);
    return std::ranges::find_if(all, &Candidate::is_usual)->folder;
}

std::vector<std::string> possible_data_folders(const Surroundings& surroundings) {
    std::vector<std::string> folders;
    for (Candidate& candidate : candidates(surroundings)) {
        folders.push_back(std::move(candidate.folder));
    }
    return folders;
}

std::string default_data_folder(const Surroundings& surroundings) {
    return may_have_database_in(data_folder_here) ? data_folder_here
                                                  : usual_data_folder(surroundings);
}

std::string or_default_data_folder(const std::string& given) {
    return given.empty() ? default_data_folder(Surroundings::of_this_process()) : given;
}

std::string overlooked_data_folder(const std::string& database,
                                   const std::vector<std::string>& folders) {
    const std::filesystem::path used = std::filesystem::path(database).parent_path();
    if (has_database_at(database) && used != data_folder_here) return "";
    const auto is_overlooked = [&used](const std::string& folder) {
        return !is_same_folder(folder, used.string()) && has_database_in(folder);
    };
    const auto found = std::ranges::find_if(folders, is_overlooked);
    return found == folders.end() ? "" : absolute_path(*found);
}

std::string absolute_path(const std::string& path) {
    std::error_code error;
    const auto absolute = std::filesystem::absolute(path.empty() ? "." : path, error);
    return error ? path : absolute.lexically_normal().string();
}

}  // namespace holdfast::app

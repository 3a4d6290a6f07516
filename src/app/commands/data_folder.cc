#include "app/commands/data_folder.h"

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <system_error>

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

}  // namespace

Surroundings Surroundings::of_this_process() {
    return {.state_directory = variable("STATE_DIRECTORY"),
            .state_home = variable("XDG_STATE_HOME"),
            .home = variable("HOME"),
            .is_root = ::geteuid() == 0,
            .is_service = !variable("INVOCATION_ID").empty()};
}

std::string usual_data_folder(const Surroundings& surroundings) {
    // Several folders are separated by colons.
    const std::string& own = surroundings.state_directory;
    if (!own.empty()) return own.substr(0, own.find(':'));
    // The specification of XDG says to ignore relative paths.
    if (surroundings.state_home.starts_with('/')) return surroundings.state_home + "/holdfast";
    if (surroundings.is_root && surroundings.is_service) return data_folder_of_system;
    // The home of the user of the packaged service.
    if (surroundings.home == data_folder_of_system) return data_folder_of_system;
    if (surroundings.home.starts_with('/')) return surroundings.home + "/.local/state/holdfast";
    return surroundings.is_root ? data_folder_of_system : data_folder_here;
}

std::string default_data_folder(const Surroundings& surroundings) {
    return may_have_database_in(data_folder_here) ? data_folder_here
                                                  : usual_data_folder(surroundings);
}

std::string or_default_data_folder(const std::string& given) {
    return given.empty() ? default_data_folder(Surroundings::of_this_process()) : given;
}

std::string overlooked_data_folder(const std::string& database, const Surroundings& surroundings) {
    const std::filesystem::path folder = std::filesystem::path(database).parent_path();
    if (has_database_at(database) && folder != data_folder_here) return "";
    for (const std::string& other :
         {usual_data_folder(surroundings), std::string(data_folder_here)}) {
        const bool is_same = is_same_folder(other, folder.string());
        if (!is_same && has_database_in(other)) return absolute_path(other);
    }
    return "";
}

std::string absolute_path(const std::string& path) {
    std::error_code error;
    const auto absolute = std::filesystem::absolute(path.empty() ? "." : path, error);
    return error ? path : absolute.lexically_normal().string();
}

}  // namespace holdfast::app

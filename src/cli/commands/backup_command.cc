// `holdfast backup`: the server's database as a file.

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>

#include "base/json/json_writer.h"
#include "base/result.h"
#include "cli/command.h"
#include "cli/screen/terminal_text.h"
#include "cli/server.h"
#include "options/options.h"

namespace holdfast::cli {

namespace {

struct BackupOptions {
    ServerOptions server;
    std::string file;
};

Failure cannot_write(const std::string& file) {
    return {exit_cannot_write, fmt::format("cannot write {}: {}", file, std::strerror(errno))};
}

bool write_all(int descriptor, std::string_view bytes) {
    while (!bytes.empty()) {
        const ssize_t count = ::write(descriptor, bytes.data(), bytes.size());
        if (count < 0 && errno == EINTR) continue;
        if (count < 0) return false;
        bytes.remove_prefix(static_cast<std::size_t>(count));
    }
    return true;
}

// Writes the whole backup to the descriptor. The server copies its database before it answers, so
// it is given time.
Asked<void> fetch(Server& server, int descriptor, const std::string& file) {
    bool is_written = true;
    std::uint64_t size = 0;
    const auto fetched =
        server.stream("/v1/backup", std::chrono::minutes{5}, [&](std::string_view bytes) {
            size += bytes.size();
            is_written = write_all(descriptor, bytes);
            return is_written;
        });
    if (!is_written) return tl::unexpected(cannot_write(file));
    if (!fetched) return tl::unexpected(fetched.error());
    if (size == 0) return tl::unexpected(Failure{exit_unavailable, "the server sent nothing"});
    return {};
}

// The name of the file is part of its folder, which must reach the disk, too.
bool sync_folder_of(const std::string& file) {
    const std::filesystem::path folder = std::filesystem::path(file).parent_path();
    const int descriptor =
        ::open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (descriptor < 0) return false;
    const bool is_synced = ::fsync(descriptor) == 0;
    ::close(descriptor);
    return is_synced;
}

// The file has another name until it is complete, so that an incomplete backup never replaces a
// good one.
Asked<void> fetch_to_file(Server& server, const std::string& file) {
    const std::string part = file + ".part";
    const int descriptor = ::open(part.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (descriptor < 0) return tl::unexpected(cannot_write(part));
    auto fetched = fetch(server, descriptor, part);
    if (fetched && ::fsync(descriptor) != 0) fetched = tl::unexpected(cannot_write(part));
    ::close(descriptor);
    if (fetched && (std::rename(part.c_str(), file.c_str()) != 0 || !sync_folder_of(file))) {
        fetched = tl::unexpected(cannot_write(file));
    }
    if (!fetched) ::unlink(part.c_str());
    return fetched;
}

Asked<int> back_up(const BackupOptions& options) {
    TRY(auto server, Server::open(options.server));
    if (options.file == "-") {
        if (::isatty(STDOUT_FILENO) == 1) {
            return fail(exit_usage,
                        "a backup is binary and is not written to a terminal: name a file");
        }
        TRY(fetch(server, STDOUT_FILENO, "the output"));
        return exit_success;
    }
    TRY(fetch_to_file(server, options.file));
    if (options.server.is_json) {
        std::string text;
        base::JsonWriter(text).begin_object().field("file", options.file).end_object();
        fmt::print("{}\n", text);
    } else {
        fmt::print("wrote {}\n", escape(options.file));
    }
    return exit_success;
}

}  // namespace

Command declare_backup(const options::Command& program) {
    const auto options = std::make_shared<BackupOptions>();
    const options::Command command = program.add_command(
        "backup", "copy the server's database to a file while the server runs (admin)");
    command.add_option("file", options->file, "file to write; - is standard output")
        .takes("FILE")
        .required();
    declare_server_options(command, options->server);
    command.footer(
        "The file appears under its name only when it is complete and on disk.\n"
        "\n"
        "  holdfast backup /var/backups/holdfast.db\n"
        "  holdfast backup - | gzip > holdfast.db.gz");
    return {.options = command, .run = [options] { return back_up(*options); }};
}

}  // namespace holdfast::cli

#include "files/versions/version_store.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <system_error>
#include <utility>

#include "base/text/number.h"
#include "base/text/utf8.h"
#include "files/disk/file_info.h"
#include "files/path/file_path.h"

namespace holdfast::files {

namespace {

// Documents may have secrets in them.
constexpr mode_t mode_of_versions = 0600;

bool stands_for_itself(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '_' || c == '.';
}

// The name of the document's folder.
std::string encode(std::string_view name) {
    constexpr std::string_view digits = "0123456789ABCDEF";
    std::string text;
    for (const char c : name) {
        if (stands_for_itself(c) && !(c == '.' && text.empty())) {
            text += c;
            continue;
        }
        const auto byte = static_cast<unsigned char>(c);
        text.append(1, '%').append(1, digits[byte >> 4]).append(1, digits[byte & 15]);
    }
    return text;
}

// The name of the document whose folder has this name; nothing for a folder of somebody else.
std::optional<std::string> decode(std::string_view text) {
    const auto value_of = [](char digit) { return digit <= '9' ? digit - '0' : digit - 'A' + 10; };
    std::string name;
    for (std::size_t at = 0; at < text.size(); ++at) {
        const bool is_code = text[at] == '%' && at + 2 < text.size();
        name += is_code ? static_cast<char>(value_of(text[at + 1]) * 16 + value_of(text[at + 2]))
                        : text[at];
        if (is_code) at += 2;
    }
    if (!VersionStore::is_name(name) || encode(name) != text) return std::nullopt;
    return name;
}

Version describe(std::uint64_t number, const struct stat& status) {
    return {.number = number,
            .size_bytes = static_cast<std::uint64_t>(status.st_size),
            .written_ms = changed_ms(status)};
}

// The numbers of the versions in a folder, the largest first.
SystemResult<std::vector<std::uint64_t>> read_numbers(int folder) {
    auto again = open_beneath(folder, ".", O_RDONLY | O_DIRECTORY);
    if (!again) return tl::unexpected(again.error());
    std::vector<std::uint64_t> numbers;
    const auto done = read_directory(std::move(*again), [&](const std::string& name, auto) {
        const auto number = base::parse_decimal<std::uint64_t>(name);
        if (number && *number > 0) numbers.push_back(*number);
    });
    if (!done) return tl::unexpected(done.error());
    std::sort(numbers.begin(), numbers.end(), std::greater<>());
    return numbers;
}

tl::unexpected<FileError> too_large(std::uint64_t bytes_max) {
    return refuse(Fault::too_large,
                  "a document may have " + std::to_string(bytes_max) + " bytes at most");
}

tl::unexpected<FileError> not_found(const std::string& name) {
    return refuse(Fault::not_found, "there is no state " + name);
}

}  // namespace

FileResult<void> VersionUpload::append(std::string_view bytes) {
    if (bytes.size() > bytes_max_ - size_bytes_) return too_large(bytes_max_);
    if (const auto done = write_all(file_.descriptor(), bytes); !done) {
        return refuse_by_errno(done.error(), "write a version");
    }
    size_bytes_ += bytes.size();
    return {};
}

base::Result<std::unique_ptr<VersionStore>> VersionStore::open(const std::string& root,
                                                               VersionLimits limits) {
    const auto fail = [&root](const std::string& why) {
        return base::fail("cannot use the folder " + root + ": " + why);
    };
    std::error_code error;
    if (std::filesystem::create_directories(root, error)) ::chmod(root.c_str(), 0700);
    if (error) return fail(error.message());
    base::Descriptor folder(::open(root.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!folder) return fail(std::generic_category().message(errno));
    auto own_folder = StateFolder::open(folder.get());
    if (!own_folder) return fail(own_folder.error().message);
    return std::unique_ptr<VersionStore>(
        new VersionStore(std::move(folder), std::move(*own_folder), limits));
}

bool VersionStore::is_name(std::string_view name) {
    const auto is_control = [](char c) {
        return static_cast<unsigned char>(c) < 0x20 || c == '\x7f';
    };
    const std::string encoded = encode(name);
    return is_segment(encoded) && base::is_utf8(name) &&
           std::none_of(name.begin(), name.end(), is_control);
}

FileResult<base::Descriptor> VersionStore::open_folder(const std::string& name) const {
    auto folder = open_beneath(root_.get(), encode(name), O_RDONLY | O_DIRECTORY);
    if (folder) return std::move(*folder);
    if (folder.error() == ENOENT) return not_found(name);
    return refuse_by_errno(folder.error(), "open the versions of " + name);
}

FileResult<OpenVersion> VersionStore::open_version(const std::string& name,
                                                   std::optional<std::uint64_t> number) const {
    TRY(const auto folder, open_folder(name));
    while (true) {
        std::uint64_t wanted = number.value_or(0);
        if (!number) {
            const auto numbers = read_numbers(folder.get());
            if (!numbers) return refuse_by_errno(numbers.error(), "read the versions of " + name);
            if (numbers->empty()) return not_found(name);
            wanted = numbers->front();
        }
        auto file = open_beneath(folder.get(), std::to_string(wanted), O_RDONLY);
        if (!file && file.error() == ENOENT) {
            if (!number) continue;  // so many newer versions were written that it was removed
            return refuse(Fault::not_found,
                          "there is no version " + std::to_string(wanted) + " of " + name);
        }
        if (!file) return refuse_by_errno(file.error(), "open " + name);
        const auto status = stat_of(file->get());
        if (!status) return refuse_by_errno(status.error(), "open " + name);
        if (status->st_size == 0) return not_found(name + ": it was removed");
        return OpenVersion{.version = describe(wanted, *status), .descriptor = std::move(*file)};
    }
}

FileResult<std::vector<Version>> VersionStore::versions(const std::string& name) const {
    std::vector<Version> found;
    const auto folder = open_folder(name);
    if (!folder && folder.error().fault == Fault::not_found) return found;
    if (!folder) return tl::unexpected(folder.error());
    const auto numbers = read_numbers(folder->get());
    if (!numbers) return refuse_by_errno(numbers.error(), "read the versions of " + name);
    for (const std::uint64_t number : *numbers) {
        const auto status = stat_in(folder->get(), std::to_string(number));
        if (status) found.push_back(describe(number, *status));  // else it was removed meanwhile
    }
    return found;
}

FileResult<std::vector<std::string>> VersionStore::names() const {
    auto again = open_beneath(root_.get(), ".", O_RDONLY | O_DIRECTORY);
    if (!again) return refuse_by_errno(again.error(), "read the names");
    std::vector<std::string> found;
    const auto done = read_directory(std::move(*again), [&](const std::string& entry, auto type) {
        auto name = decode(entry);
        if (name && type == DT_DIR && !is_own_folder(entry)) found.push_back(std::move(*name));
    });
    if (!done) return refuse_by_errno(done.error(), "read the names");
    std::sort(found.begin(), found.end());
    return found;
}

FileResult<VersionUpload> VersionStore::begin_upload(std::uint64_t expected_bytes) {
    if (expected_bytes > limits_.document_bytes_max) return too_large(limits_.document_bytes_max);
    auto file = own_folder_->make_temporary_file();
    if (!file) return refuse_by_errno(file.error(), "write a version");
    if (fchmod(file->descriptor(), mode_of_versions) != 0) {
        return refuse_by_errno(errno, "write a version");
    }
    return VersionUpload(std::move(*file), limits_.document_bytes_max);
}

FileResult<Version> VersionStore::commit(const std::string& name, VersionUpload upload,
                                         const Check& check) {
    if (const auto done = sync(upload.file_.descriptor()); !done) {
        return refuse_by_errno(done.error(), "write " + name);
    }
    const auto pass = gates_.enter(name);
    if (!check()) return refuse(Fault::refused, "the write is not allowed any more");
    const std::string folder = encode(name);
    if (mkdirat(root_.get(), folder.c_str(), 0700) == 0) {
        if (const auto done = sync(root_.get()); !done) {
            return refuse_by_errno(done.error(), "make the folder of " + name);
        }
    } else if (errno != EEXIST) {
        return refuse_by_errno(errno, "make the folder of " + name);
    }
    TRY(const auto before, versions(name));
    return put_in_place(name, std::move(upload), before.empty() ? 0 : before.front().number);
}

// REQUIRES: inside the gate; the file is on disk.
FileResult<Version> VersionStore::put_in_place(const std::string& name, VersionUpload upload,
                                               std::uint64_t newest) const {
    TRY(const auto folder, open_folder(name));
    const std::uint64_t number = newest + 1;
    const auto status = stat_of(upload.file_.descriptor());
    if (!status) return refuse_by_errno(status.error(), "write " + name);
    const auto renamed = upload.file_.rename_to(folder.get(), std::to_string(number));
    if (!renamed) return refuse_by_errno(renamed.error(), "write " + name);
    if (!sync(folder.get())) {
        return refuse(Fault::failed, "the disk failed when " + name +
                                         " had its new version already; that may be lost");
    }
    // A version that cannot be removed now is removed after a later write.
    const auto numbers = read_numbers(folder.get());
    for (std::size_t at = limits_.kept_max; numbers && at < numbers->size(); ++at) {
        unlinkat(folder.get(), std::to_string((*numbers)[at]).c_str(), 0);
    }
    return describe(number, *status);
}

FileResult<Version> VersionStore::remove(const std::string& name, const Check& check) {
    TRY(const auto present, open_version(name, std::nullopt));
    TRY(auto nothing, begin_upload());
    return commit(name, std::move(nothing), check);
}

FileResult<Version> VersionStore::restore(const std::string& name, std::uint64_t number,
                                          const Check& check) {
    TRY(const auto earlier, open_version(name, number));
    TRY(auto copy, begin_upload());
    const auto done = clone_file({.from = earlier.descriptor.get(), .to = copy.file_.descriptor()});
    if (!done) return refuse_by_errno(done.error(), "copy a version of " + name);
    return commit(name, std::move(copy), check);
}

void VersionStore::wait_for_writes(const std::string& name) {
    const auto pass = gates_.enter(name);
}

}  // namespace holdfast::files

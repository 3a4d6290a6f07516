#include "files/disk/file_info.h"

#include <sys/xattr.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>

#include "base/crypto.h"
#include "base/text/hex.h"
#include "files/path/content_type.h"

namespace holdfast::files {
namespace {

constexpr const char* attribute_name = "user.holdfast";
constexpr std::string_view version = "1";
constexpr std::string_view no_hash = "-";
constexpr std::size_t attribute_bytes_max = 512;

// The attribute, with a blank between its fields:
//
//     1 <inode of the file system> <size> <mtime in ns> <our inode> <timestamp in ms> <hash> <type>
struct Attribute {
    std::uint64_t own_inode = 0;
    std::uint64_t size_bytes = 0;
    std::int64_t changed_ns = 0;
    std::uint64_t inode_number = 0;
    std::int64_t timestamp_ms = 0;
    std::string hash;
    std::string content_type;
};

std::string to_text(const Attribute& attribute) {
    std::string text(version);
    for (const auto& field :
         {std::to_string(attribute.own_inode), std::to_string(attribute.size_bytes),
          std::to_string(attribute.changed_ns), std::to_string(attribute.inode_number),
          std::to_string(attribute.timestamp_ms),
          attribute.hash.empty() ? std::string(no_hash) : attribute.hash, attribute.content_type}) {
        text += ' ';
        text += field;
    }
    return text;
}

std::string_view next_field(std::string_view& rest) {
    const std::size_t end = std::min(rest.find(' '), rest.size());
    const std::string_view field = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    return field;
}

template <class Integer>
bool read_number(std::string_view& rest, Integer& number) {
    const std::string_view field = next_field(rest);
    const auto [end, error] = std::from_chars(field.begin(), field.end(), number);
    return error == std::errc() && end == field.end() && !field.empty();
}

std::optional<Attribute> parse_attribute(std::string_view text) {
    Attribute attribute;
    if (next_field(text) != version) return std::nullopt;
    if (!read_number(text, attribute.own_inode) || !read_number(text, attribute.size_bytes) ||
        !read_number(text, attribute.changed_ns) || !read_number(text, attribute.inode_number) ||
        !read_number(text, attribute.timestamp_ms)) {
        return std::nullopt;
    }
    attribute.hash = next_field(text);
    if (attribute.hash == no_hash) attribute.hash.clear();
    std::array<std::uint8_t, 32> bytes{};
    if (!attribute.hash.empty() && !base::parse_hex_bytes(attribute.hash, bytes)) {
        return std::nullopt;
    }
    attribute.content_type = text;
    if (attribute.content_type.empty()) return std::nullopt;
    return attribute;
}

// Nothing if the attribute was copied from another file.
std::optional<Attribute> read_attribute(int descriptor, const struct stat& status) {
    char text[attribute_bytes_max];
    const ssize_t size = fgetxattr(descriptor, attribute_name, text, sizeof text);
    if (size < 0) return std::nullopt;
    auto attribute = parse_attribute({text, static_cast<std::size_t>(size)});
    if (!attribute || attribute->own_inode != status.st_ino) return std::nullopt;
    return attribute;
}

}  // namespace

std::int64_t changed_ns(const struct stat& status) {
    return static_cast<std::int64_t>(status.st_mtim.tv_sec) * 1'000'000'000 +
           status.st_mtim.tv_nsec;
}

std::int64_t changed_ms(const struct stat& status) {
    return changed_ns(status) / 1'000'000;
}

std::string FileInfo::etag() const {
    return '"' + hash + '-' + std::to_string(timestamp_ms) + '"';
}

std::optional<FileInfo> read_info(int descriptor, const struct stat& status) {
    auto attribute = read_attribute(descriptor, status);
    const auto size_bytes = static_cast<std::uint64_t>(status.st_size);
    if (!attribute || attribute->size_bytes != size_bytes ||
        attribute->changed_ns != changed_ns(status)) {
        return std::nullopt;
    }
    return FileInfo{.size_bytes = size_bytes,
                    .hash = std::move(attribute->hash),
                    .timestamp_ms = attribute->timestamp_ms,
                    .inode_number = attribute->inode_number,
                    .content_type = std::move(attribute->content_type),
                    .mode = status.st_mode & 0777};
}

std::optional<std::uint64_t> read_inode_number(int descriptor, const struct stat& status) {
    const auto attribute = read_attribute(descriptor, status);
    if (!attribute) return std::nullopt;
    return attribute->inode_number;
}

SystemResult<void> write_info(int descriptor, const struct stat& status, const FileInfo& info) {
    const std::string text = to_text({.own_inode = status.st_ino,
                                      .size_bytes = static_cast<std::uint64_t>(status.st_size),
                                      .changed_ns = changed_ns(status),
                                      .inode_number = info.inode_number,
                                      .timestamp_ms = info.timestamp_ms,
                                      .hash = info.hash,
                                      .content_type = info.content_type});
    if (fsetxattr(descriptor, attribute_name, text.data(), text.size(), 0) != 0) {
        return tl::unexpected<int>(errno);
    }
    if ((status.st_mode & 0777) != info.mode && fchmod(descriptor, info.mode) != 0) {
        return tl::unexpected<int>(errno);
    }
    return {};
}

SystemResult<std::string> hash_content(int descriptor) {
    base::Sha256 hash;
    const auto done = read_pieces(descriptor, [&](std::string_view piece) { hash.update(piece); });
    if (!done) return tl::unexpected(done.error());
    return base::to_hex(hash.finish());
}

SystemResult<std::string> find_content_type(int descriptor, std::string_view name) {
    auto content = read_head(descriptor, magic_bytes_max);
    if (content && content->size() == magic_bytes_max && may_be_json(*content)) {
        content = read_head(descriptor, json_bytes_max + 1);
    }
    if (!content) return tl::unexpected(content.error());
    return std::string(content_type({.name = name, .content = *content}));
}

}  // namespace holdfast::files

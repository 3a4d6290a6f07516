#include "files/path/file_path.h"

#include <algorithm>
#include <optional>

#include "base/check.h"
#include "base/text/utf8.h"

namespace holdfast::files {
namespace {

// C0, DEL, and C1, which in UTF-8 is C2 followed by 80 to 9F.
bool has_control_character(std::string_view text) {
    for (std::size_t at = 0; at < text.size(); ++at) {
        const auto byte = static_cast<unsigned char>(text[at]);
        if (byte < 0x20 || byte == 0x7F) return true;
        if (byte == 0xC2 && at + 1 < text.size() && static_cast<unsigned char>(text[at + 1]) < 0xA0)
            return true;
    }
    return false;
}

std::size_t count_characters(std::string_view utf8) {
    return static_cast<std::size_t>(std::count_if(utf8.begin(), utf8.end(), [](char c) {
        return (static_cast<unsigned char>(c) & 0xC0) != 0x80;
    }));
}

// A segment `.` would give a file a second path.
bool is_dots(std::string_view segment) {
    return segment == "." || segment == "..";
}

template <class Visitor>
void for_each_segment(std::string_view text, Visitor visit) {
    while (!text.empty()) {
        text.remove_prefix(1);  // the slash
        const std::size_t end = std::min(text.find('/'), text.size());
        visit(text.substr(0, end));
        text.remove_prefix(end);
    }
}

std::optional<PathFault> fault_of_segments(std::string_view text) {
    std::optional<PathFault> fault;
    bool is_first = true;
    for_each_segment(text, [&](std::string_view segment) {
        if (fault) return;
        if (segment.empty()) fault = PathFault::empty_segment;
        if (is_dots(segment)) fault = PathFault::traversal;
        if (segment.size() > segment_bytes_max) fault = PathFault::segment_too_long;
        if (is_first && is_own_folder(segment)) fault = PathFault::own_folder;
        is_first = false;
    });
    return fault;
}

}  // namespace

std::string_view to_text(PathFault fault) {
    switch (fault) {
        case PathFault::no_slash: return "Path must start with /";
        case PathFault::too_long: return "Path too long (max 4096 characters)";
        case PathFault::too_many_bytes: return "Path too long (max 4096 bytes)";
        case PathFault::segment_too_long: return "Path segment too long (max 255 bytes)";
        case PathFault::not_utf8: return "Path is not valid UTF-8";
        case PathFault::control_character: return "Control characters not allowed in path";
        case PathFault::empty_segment: return "Empty path segments not allowed";
        case PathFault::traversal: return "Path traversal not allowed";
        case PathFault::own_folder: return "Path is reserved for the server";
    }
    CHECK(false);
}

tl::expected<FilePath, PathFault> FilePath::parse(std::string_view decoded) {
    const auto fault = [](PathFault which) { return tl::unexpected(which); };
    if (!decoded.starts_with('/')) return fault(PathFault::no_slash);
    if (has_control_character(decoded)) return fault(PathFault::control_character);
    if (!base::is_utf8(decoded)) return fault(PathFault::not_utf8);
    if (count_characters(decoded) > path_characters_max) return fault(PathFault::too_long);
    if (decoded.size() > path_bytes_max) return fault(PathFault::too_many_bytes);
    if (decoded.size() == 1) return FilePath("/", true);
    const bool ends_in_slash = decoded.ends_with('/');
    if (ends_in_slash) decoded.remove_suffix(1);
    if (const auto found = fault_of_segments(decoded)) return fault(*found);
    return FilePath(std::string(decoded), ends_in_slash);
}

std::string FilePath::beneath_root() const {
    return is_root() ? "." : text_.substr(1);
}

std::string FilePath::parent_beneath_root() const {
    CHECK(!is_root());
    const std::size_t slash = text_.rfind('/');
    return slash == 0 ? "." : text_.substr(1, slash - 1);
}

std::string FilePath::name() const {
    CHECK(!is_root());
    return text_.substr(text_.rfind('/') + 1);
}

std::vector<std::string_view> FilePath::segments() const {
    std::vector<std::string_view> found;
    if (is_root()) return found;
    for_each_segment(text_, [&](std::string_view segment) { found.push_back(segment); });
    return found;
}

bool FilePath::is_reserved() const {
    const auto is_at = [this](std::string_view prefix) {
        return text_.starts_with(prefix) &&
               (text_.size() == prefix.size() || text_[prefix.size()] == '/');
    };
    return is_at("/auth") || is_at("/events");
}

bool is_segment(std::string_view name) {
    return !name.empty() && name.size() <= segment_bytes_max && !is_dots(name) &&
           name.find('/') == std::string_view::npos && !has_control_character(name) &&
           base::is_utf8(name);
}

bool is_own_folder(std::string_view name) {
    const auto lower = [](char c) {
        return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    };
    return std::equal(name.begin(), name.end(), own_folder_name.begin(), own_folder_name.end(),
                      [&](char a, char b) { return lower(a) == b; });
}

}  // namespace holdfast::files

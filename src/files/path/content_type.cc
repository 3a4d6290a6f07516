#include "files/path/content_type.h"

#include <algorithm>
#include <cstdint>
#include <string>

#include "base/json/json_object.h"

namespace holdfast::files {
namespace {

using namespace std::string_view_literals;

// Bytes at a place, and perhaps others at a second place.
struct Magic {
    std::size_t at;
    std::string_view bytes;
    std::string_view type;
    std::size_t second_at = 0;
    std::string_view second_bytes{};
};

constexpr Magic magics[] = {
    {0, "\x89PNG\r\n\x1A\n"sv, "image/png"},
    {0, "\xFF\xD8\xFF"sv, "image/jpeg"},
    {0, "GIF87a"sv, "image/gif"},
    {0, "GIF89a"sv, "image/gif"},
    {0, "RIFF"sv, "image/webp", 8, "WEBP"sv},
    {0, "RIFF"sv, "audio/wav", 8, "WAVE"sv},
    {0, "RIFF"sv, "video/x-msvideo", 8, "AVI "sv},
    {0, "II*\0"sv, "image/tiff"},
    {0, "MM\0*"sv, "image/tiff"},
    {0, "\0\0\1\0"sv, "image/x-icon"},
    {0, "BM"sv, "image/bmp", 6, "\0\0\0\0"sv},
    {4, "ftypavif"sv, "image/avif"},
    {4, "ftypheic"sv, "image/heic"},
    {4, "ftypmif1"sv, "image/heif"},
    {4, "ftypqt  "sv, "video/quicktime"},
    {4, "ftypM4A "sv, "audio/mp4"},
    {4, "ftyp"sv, "video/mp4"},
    {0, "\x1A\x45\xDF\xA3"sv, "video/webm", 31, "webm"sv},
    {0, "\x1A\x45\xDF\xA3"sv, "video/webm", 24, "webm"sv},
    {0, "\x1A\x45\xDF\xA3"sv, "video/x-matroska"},
    {0, "ID3"sv, "audio/mpeg"},
    {0, "\xFF\xFB"sv, "audio/mpeg"},
    {0, "OggS"sv, "audio/ogg"},
    {0, "fLaC"sv, "audio/flac"},
    {0, "%PDF-"sv, "application/pdf"},
    {0, "\x1F\x8B\x08"sv, "application/gzip"},
    {0, "BZh"sv, "application/x-bzip2", 4, "1AY&SY"sv},
    {0,
     "\xFD"
     "7zXZ\0"sv,
     "application/x-xz"},
    {0, "\x28\xB5\x2F\xFD"sv, "application/zstd"},
    {0, "7z\xBC\xAF\x27\x1C"sv, "application/x-7z-compressed"},
    {257, "ustar"sv, "application/x-tar"},
    {0, "SQLite format 3\0"sv, "application/vnd.sqlite3"},
    {0, "\0asm\1\0\0\0"sv, "application/wasm"},
    {0, "wOFF"sv, "font/woff"},
    {0, "wOF2"sv, "font/woff2"},
    {0,
     "\x7F"
     "ELF"sv,
     "application/x-executable"},
};

// A ZIP archive is often something else by its name.
constexpr std::string_view zip_magic = "PK\3\4";

struct Ending {
    std::string_view ending;
    std::string_view type;
};

// In the order of the endings, to be searched by halves.
constexpr Ending endings[] = {
    {"aac", "audio/aac"},
    {"avif", "image/avif"},
    {"bmp", "image/bmp"},
    {"bz2", "application/x-bzip2"},
    {"c", "text/x-c"},
    {"cc", "text/x-c++"},
    {"conf", "text/plain"},
    {"cpp", "text/x-c++"},
    {"css", "text/css"},
    {"csv", "text/csv"},
    {"docx", "application/vnd.openxmlformats-officedocument.wordprocessingml.document"},
    {"epub", "application/epub+zip"},
    {"gif", "image/gif"},
    {"gz", "application/gzip"},
    {"h", "text/x-c"},
    {"heic", "image/heic"},
    {"htm", "text/html"},
    {"html", "text/html"},
    {"ico", "image/x-icon"},
    {"ics", "text/calendar"},
    {"ini", "text/plain"},
    {"jar", "application/java-archive"},
    {"jpeg", "image/jpeg"},
    {"jpg", "image/jpeg"},
    {"js", "text/javascript"},
    {"json", "application/json"},
    {"log", "text/plain"},
    {"m4a", "audio/mp4"},
    {"markdown", "text/markdown"},
    {"md", "text/markdown"},
    {"mjs", "text/javascript"},
    {"mkv", "video/x-matroska"},
    {"mov", "video/quicktime"},
    {"mp3", "audio/mpeg"},
    {"mp4", "video/mp4"},
    {"odp", "application/vnd.oasis.opendocument.presentation"},
    {"ods", "application/vnd.oasis.opendocument.spreadsheet"},
    {"odt", "application/vnd.oasis.opendocument.text"},
    {"ogg", "audio/ogg"},
    {"otf", "font/otf"},
    {"pdf", "application/pdf"},
    {"png", "image/png"},
    {"pptx", "application/vnd.openxmlformats-officedocument.presentationml.presentation"},
    {"py", "text/x-python"},
    {"rs", "text/x-rust"},
    {"rtf", "application/rtf"},
    {"sh", "application/x-sh"},
    {"svg", "image/svg+xml"},
    {"tar", "application/x-tar"},
    {"tif", "image/tiff"},
    {"tiff", "image/tiff"},
    {"toml", "application/toml"},
    {"ts", "text/typescript"},
    {"ttf", "font/ttf"},
    {"txt", "text/plain"},
    {"vcf", "text/vcard"},
    {"wasm", "application/wasm"},
    {"wav", "audio/wav"},
    {"webm", "video/webm"},
    {"webp", "image/webp"},
    {"woff", "font/woff"},
    {"woff2", "font/woff2"},
    {"xhtml", "application/xhtml+xml"},
    {"xlsx", "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"},
    {"xml", "application/xml"},
    {"xz", "application/x-xz"},
    {"yaml", "application/yaml"},
    {"yml", "application/yaml"},
    {"zip", "application/zip"},
    {"zst", "application/zstd"},
};
static_assert(std::ranges::is_sorted(endings, {}, &Ending::ending));

constexpr std::string_view unknown_type = "application/octet-stream";

// The ZIP-based types among the endings.
bool is_kept_in_zip(std::string_view type) {
    return type.starts_with("application/vnd.o") || type == "application/epub+zip" ||
           type == "application/java-archive";
}

bool has_at(std::string_view text, std::size_t at, std::string_view bytes) {
    return text.size() >= at && text.substr(at).starts_with(bytes);
}

}  // namespace

std::string_view content_type_by_magic(std::string_view head) {
    for (const Magic& magic : magics) {
        if (has_at(head, magic.at, magic.bytes) &&
            has_at(head, magic.second_at, magic.second_bytes)) {
            return magic.type;
        }
    }
    return head.starts_with(zip_magic) ? "application/zip" : "";
}

std::string_view content_type_by_name(std::string_view name) {
    const std::size_t dot = name.rfind('.');
    if (dot == std::string_view::npos || dot == 0) return unknown_type;
    std::string ending(name.substr(dot + 1));
    for (char& c : ending) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    const auto* const found =
        std::ranges::lower_bound(endings, std::string_view(ending), {}, &Ending::ending);
    return found != std::end(endings) && found->ending == ending ? found->type : unknown_type;
}

std::string_view content_type(const NamedContent& file) {
    const auto& [name, content] = file;
    const std::string_view by_name = content_type_by_name(name);
    const std::string_view by_magic = content_type_by_magic(content.substr(0, magic_bytes_max));
    if (by_magic == "application/zip" && is_kept_in_zip(by_name)) return by_name;
    if (!by_magic.empty()) return by_magic;
    if (content.size() <= json_bytes_max && base::is_json_document(content)) {
        return "application/json";
    }
    return by_name;
}

bool may_be_json(std::string_view head) {
    const std::size_t first = head.find_first_not_of(" \t\r\n");
    return first == std::string_view::npos || head[first] == '{' || head[first] == '[';
}

}  // namespace holdfast::files

// file_path_fuzzer: any bytes as the path of a file.
//
// A path that is accepted must keep what the file store relies on: it reads back as itself, comes
// apart into names, and none of these leads up, nowhere, or into the store's own folder.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/check.h"
#include "base/text/utf8.h"
#include "files/path/file_path.h"

namespace holdfast::files {
namespace {

void run(std::string_view input) {
    const auto path = FilePath::parse(input);
    if (!path) {
        CHECK(!to_text(path.error()).empty());
        return;
    }
    const std::string& text = path->text();
    CHECK(text.size() <= path_bytes_max && text.starts_with('/') && base::is_utf8(text));
    CHECK(input == text || input == text + '/');
    const auto again = FilePath::parse(text);
    CHECK(again && again->text() == text);
    std::string joined;
    for (const std::string_view segment : path->segments()) {
        CHECK(is_segment(segment));
        CHECK(segment != "." && segment != "..");
        CHECK(segment.find('\0') == std::string_view::npos);
        joined += '/';
        joined += segment;
    }
    CHECK(path->is_root() ? joined.empty() : joined == text);
    if (path->is_root()) return;
    CHECK(!is_own_folder(path->segments().front()));
    const std::string parent = path->parent_beneath_root();
    CHECK(path->beneath_root() == (parent == "." ? path->name() : parent + '/' + path->name()));
}

}  // namespace
}  // namespace holdfast::files

// The name is libFuzzer's. NOLINTNEXTLINE(readability-identifier-naming)
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    holdfast::files::run({reinterpret_cast<const char*>(data), size});
    return 0;
}

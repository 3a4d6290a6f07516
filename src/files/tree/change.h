#pragma once

#include <cstdint>
#include <functional>
#include <string>

namespace holdfast::files {

// Something that has happened to the tree and cannot be undone by a crash.
struct Change {
    enum class Kind : std::uint8_t { file_put, file_deleted, directory_made, directory_removed };

    Kind kind;
    std::string path;
    std::string etag;  // file_put: of the new version
};

// Told of every change, on the thread that makes it and before its caller knows; the changes of one
// path in their order. It must not call the tree, and should not take long.
using OnChange = std::function<void(const Change&)>;

}  // namespace holdfast::files

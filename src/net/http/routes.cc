#include "net/http/routes.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/check.h"

namespace holdfast::net {

namespace {

constexpr std::size_t other_method = 8;

// The index of a method in RouteTable::Path::routes.
std::size_t index_of(std::string_view method) {
    if (method == "POST") return 0;
    if (method == "GET") return 1;
    if (method == "DELETE") return 2;
    if (method == "HEAD") return 3;
    if (method == "PUT") return 4;
    if (method == "PATCH") return 5;
    if (method == "LOCK") return 6;
    if (method == "UNLOCK") return 7;
    return other_method;
}

template <class Word>
bool are_words_equal(const char* a, const char* b) {
    Word first, second;
    std::memcpy(&first, a, sizeof(Word));
    std::memcpy(&second, b, sizeof(Word));
    return first == second;
}

// Whether `text` begins with `beginning`. Every request needs this several times for short texts,
// and a call of memcmp() takes three times as many instructions.
bool begins_with(std::string_view text, std::string_view beginning) {
    const std::size_t size = beginning.size();
    if (text.size() < size) return false;
    const char *a = text.data(), *b = beginning.data();
    if (size >= 8) {
        for (std::size_t at = 0; at + 8 <= size; at += 8) {
            if (!are_words_equal<std::uint64_t>(a + at, b + at)) return false;
        }
        return are_words_equal<std::uint64_t>(a + size - 8, b + size - 8);
    }
    if (size >= 4) {
        return are_words_equal<std::uint32_t>(a, b) &&
               are_words_equal<std::uint32_t>(a + size - 4, b + size - 4);
    }
    return std::equal(b, b + size, a);
}

}  // namespace

RouteTable::RouteTable(std::vector<RouteGroup> groups) : groups_(std::move(groups)) {
    for (const RouteGroup& group : groups_) {
        for (const Route& route : group.routes) add(group, route);
    }
}

void RouteTable::add(const RouteGroup& group, const Route& route) {
    const std::string_view pattern = route.pattern;
    const std::size_t begin = pattern.find('{'), end = pattern.find('}');
    CHECK(pattern.starts_with('/'));
    std::vector<Path>* paths = nullptr;
    std::string_view text = pattern;
    if (begin == std::string_view::npos) {
        CHECK(pattern.size() <= literal_bytes_max);
        paths = &literals_[pattern.size()];
    } else {
        CHECK(pattern[begin - 1] == '/' && end != std::string_view::npos);
        Folder& folder = folder_of(group, pattern.substr(0, begin));
        folder.is_open = pattern.ends_with("...}");
        paths = &folder.paths;
        text = pattern.substr(end + 1);
    }
    if (route.body == BodyPolicy::pieces) {
        CHECK(begin != std::string_view::npos);
        piece_folders_.push_back(pattern.substr(0, begin));
    }
    auto path = std::find_if(paths->begin(), paths->end(),
                             [&](const Path& one) { return one.text == text; });
    if (path == paths->end()) {
        path = paths->insert(path, Path{.text = text, .handler = group.handler});
    }
    CHECK(path->handler == group.handler);
    for (std::string_view rest = route.methods; !rest.empty();) {
        const std::size_t comma = std::min(rest.find(", "), rest.size());
        const std::size_t method = index_of(rest.substr(0, comma));
        CHECK(method != other_method && path->routes[method] == nullptr);
        path->routes[method] = &route;
        names_.push_back({rest.substr(0, comma), route.pattern});
        path->numbers[method] = static_cast<std::uint16_t>(names_.size());
        rest.remove_prefix(std::min(comma + 2, rest.size()));
    }
    if (!path->allowed_methods.empty()) path->allowed_methods += ", ";
    path->allowed_methods += route.methods;
}

// The folder of that text, perhaps a new one.
RouteTable::Folder& RouteTable::folder_of(const RouteGroup& group, std::string_view text) {
    for (Folder& folder : folders_) {
        if (folder.text != text) continue;
        CHECK(folder.group == &group);
        return folder;
    }
    return folders_.emplace_back(Folder{.text = text, .group = &group});
}

const RouteTable::Path* RouteTable::find_path(const std::vector<Path>& paths,
                                              std::string_view text) {
    for (const Path& path : paths) {
        if (path.text.size() == text.size() && begins_with(text, path.text)) return &path;
    }
    return nullptr;
}

// `rest` is the path without the text of the folder: `x/acquire`.
RouteMatch RouteTable::find_below(const Folder& folder, std::size_t method, std::string_view rest) {
    const std::size_t end = folder.is_open ? rest.size() : std::min(rest.find('/'), rest.size());
    const bool has_parameter = end > 0 || folder.is_open;
    const Path* const path = has_parameter ? find_path(folder.paths, rest.substr(end)) : nullptr;
    if (path == nullptr) {
        if (!folder.group->ignores_trailing_slashes || !rest.ends_with('/')) {
            return {.handler = folder.group->handler};
        }
        while (rest.ends_with('/')) rest.remove_suffix(1);
        return find_below(folder, method, rest);
    }
    return {.handler = path->handler,
            .route = path->routes[method],
            .parameter = rest.substr(0, end),
            .allowed_methods = path->allowed_methods,
            .number = path->numbers[method]};
}

// The order reads as a request line does. NOLINTNEXTLINE(bugprone-easily-swappable-parameters)
RouteMatch RouteTable::find(std::string_view method, std::string_view path) const {
    const std::size_t index = index_of(method);
    if (path.size() <= literal_bytes_max) {
        if (const Path* const literal = find_path(literals_[path.size()], path)) {
            return {.handler = literal->handler,
                    .route = literal->routes[index],
                    .allowed_methods = literal->allowed_methods,
                    .number = literal->numbers[index]};
        }
    }
    for (const Folder& folder : folders_) {
        if (!begins_with(path, folder.text)) continue;
        return find_below(folder, index, path.substr(folder.text.size()));
    }
    // `/v1/fence` has no route, but the handler of `/v1/fence/{resource}` explains why.
    for (const Folder& folder : folders_) {
        if (folder.text.substr(0, folder.text.size() - 1) == path) {
            return {.handler = folder.group->handler};
        }
    }
    return {};
}

// The order reads as a request line does. NOLINTNEXTLINE(bugprone-easily-swappable-parameters)
bool RouteTable::takes_pieces(std::string_view method, std::string_view path) const {
    for (const std::string_view folder : piece_folders_) {
        if (!begins_with(path, folder)) continue;
        const RouteMatch match = find(method, path);
        return match.route != nullptr && match.route->body == BodyPolicy::pieces;
    }
    return false;
}

}  // namespace holdfast::net

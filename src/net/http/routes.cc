#include "net/http/routes.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace holdfast::net {

namespace {

bool is_parameter(std::string_view segment) {
    return segment.starts_with('{') && segment.ends_with('}');
}

bool is_open(std::string_view pattern) {
    return pattern.ends_with("...}");
}

// The text of a pattern in front of its parameter.
std::string_view literal_part(std::string_view pattern) {
    return pattern.substr(0, pattern.find('{'));
}

// Whether `methods`, a list such as `GET, HEAD`, has that method.
bool includes(std::string_view methods, std::string_view method) {
    const std::size_t comma = methods.find(',');
    if (methods.substr(0, comma) == method) return true;
    return comma != std::string_view::npos && includes(methods.substr(comma + 2), method);
}

}  // namespace

RouteTable::RouteTable(std::vector<RouteGroup> groups) : groups_(std::move(groups)) {
    for (const RouteGroup& group : groups_) {
        for (const Route& route : group.routes) add(group, route);
    }
}

void RouteTable::add(const RouteGroup& group, const Route& route) {
    CHECK(route.pattern.starts_with('/'));
    Path& path = path_of(group, route.pattern);
    CHECK(path.group == &group);
    path.routes.push_back(&route);
    if (!path.allowed_methods.empty()) path.allowed_methods += ", ";
    path.allowed_methods += route.methods;
    const std::string_view literal = literal_part(route.pattern);
    if (literal != route.pattern) prefixes_.push_back({.text = literal, .group = &group});
}

// The path of that pattern, perhaps a new one.
RouteTable::Path& RouteTable::path_of(const RouteGroup& group, std::string_view pattern) {
    Path path{.pattern = pattern, .group = &group};
    std::size_t count = 0;
    if (!is_open(pattern)) {
        count = split(pattern, path.segments);
        CHECK(count <= segments_max);
        for (std::size_t index = 0; index < count; ++index) {
            if (!is_parameter(path.segments[index])) continue;
            CHECK(path.parameter == no_parameter);
            path.parameter = index;
        }
    }
    std::vector<Path>& paths = is_open(pattern) ? open_paths_ : paths_[count];
    const auto found = std::find_if(paths.begin(), paths.end(),
                                    [&](const Path& one) { return one.pattern == pattern; });
    return found != paths.end() ? *found : paths.emplace_back(std::move(path));
}

// Splits `/v1/locks/x` into `v1`, `locks` and `x`. Returns how many there are; more than
// segments_max if the path has more, or does not begin with a slash.
std::size_t RouteTable::split(std::string_view path, Segments& segments) {
    if (!path.starts_with('/')) return segments_max + 1;
    for (std::size_t count = 0; count < segments_max; ++count) {
        path.remove_prefix(1);
        const std::size_t end = path.find('/');
        segments[count] = path.substr(0, end);
        if (end == std::string_view::npos) return count + 1;
        path.remove_prefix(end);
    }
    return segments_max + 1;
}

// From the end to the front: that is where paths differ most.
bool RouteTable::matches(const Path& path, std::size_t count, const Segments& segments) {
    for (std::size_t index = count; index-- > 0;) {
        if (index == path.parameter) {
            if (segments[index].empty()) return false;
        } else if (path.segments[index] != segments[index]) {
            return false;
        }
    }
    return true;
}

// NOLINTNEXTLINE(bugprone-easily-swappable-parameters): as in the request line
RouteMatch RouteTable::match(const Path& path, std::string_view method,
                             std::string_view parameter) {
    RouteMatch match{.handler = path.group->handler,
                     .parameter = parameter,
                     .allowed_methods = path.allowed_methods};
    for (const Route* const route : path.routes) {
        if (!includes(route->methods, method)) continue;
        match.route = route;
        break;
    }
    return match;
}

// The order reads as a request line does. NOLINTNEXTLINE(bugprone-easily-swappable-parameters)
RouteMatch RouteTable::find_exactly(std::string_view method, std::string_view path) const {
    Segments segments;
    const std::size_t count = split(path, segments);
    if (count <= segments_max) {
        for (const Path& one : paths_[count]) {
            if (!matches(one, count, segments)) continue;
            const bool has_parameter = one.parameter != no_parameter;
            return match(one, method, has_parameter ? segments[one.parameter] : std::string_view());
        }
    }
    for (const Path& one : open_paths_) {
        const std::string_view literal = literal_part(one.pattern);
        if (path.starts_with(literal)) return match(one, method, path.substr(literal.size()));
    }
    return {};
}

// The group that has a pattern which begins as this path does, up to its parameter. The last slash
// of that beginning may be missing.
const RouteGroup* RouteTable::group_of(std::string_view path) const {
    for (const Prefix& prefix : prefixes_) {
        const std::string_view folder = prefix.text.substr(0, prefix.text.size() - 1);
        if (path.starts_with(prefix.text) || path == folder) return prefix.group;
    }
    return nullptr;
}

RouteMatch RouteTable::find(std::string_view method, std::string_view path) const {
    RouteMatch found = find_exactly(method, path);
    if (found.handler != nullptr) return found;
    const RouteGroup* const group = group_of(path);
    if (group == nullptr) return {};
    if (group->ignores_trailing_slashes && path.ends_with('/')) {
        std::string_view shorter = path;
        while (shorter.ends_with('/')) shorter.remove_suffix(1);
        found = find_exactly(method, shorter);
        // `/v1/locks/` is no `/v1/locks`: its last slash ends the literal part of a pattern.
        const bool is_folder = found.parameter.empty();
        if (found.handler == group->handler && !is_folder) return found;
    }
    return {.handler = group->handler};
}

}  // namespace holdfast::net

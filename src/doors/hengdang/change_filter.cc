#include "doors/hengdang/change_filter.h"

#include "doors/hengdang/http/request_parts.h"

namespace holdfast::doors::hengdang {

// The directories of a listing end in a slash. Some clients add `/*` to such a path, and so a filter
// may have two slashes before its star.
Parsed<ChangeFilter> ChangeFilter::read(std::string_view text) {
    const bool is_below = text.ends_with("/*");
    if (is_below) text.remove_suffix(text.ends_with("//*") ? 2 : 1);
    const auto path = read_path(text);
    if (!path) {
        return tl::unexpected(
            refuse(400, "Invalid path filter",
                   "path must be the path of a file or directory, as answers show it, or such a "
                   "path followed by /*"));
    }
    return ChangeFilter(path->is_root() ? "" : path->text(), is_below);
}

bool ChangeFilter::includes(std::string_view path) const {
    if (!path.starts_with(base_)) return false;
    const std::string_view rest = path.substr(base_.size());
    if (rest.empty()) return !is_below_;
    return rest.starts_with('/') && (!is_below_ || rest.size() > 1);
}

std::string ChangeFilter::text() const {
    const std::string base = shown_path(base_);
    if (is_below_) return base + "/*";
    return base.empty() ? "/" : base;
}

}  // namespace holdfast::doors::hengdang

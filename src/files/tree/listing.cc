#include "files/tree/listing.h"

#include <fcntl.h>

#include <cerrno>
#include <set>
#include <span>
#include <utility>

#include "base/check.h"
#include "files/tree/tree_state.h"

namespace holdfast::files {
namespace {

struct Name {
    std::string text;
    bool is_directory = false;
};

// Collects one page. At most one directory is open at a time.
class Lister {
  public:
    using Segments = std::span<const std::string_view>;

    Lister(TreeState& tree, const ListOptions& options) : tree_(tree), options_(options) {}

    // Lists the content of `directory` (`/a/b`; the root is empty) after `cursor`, the rest of a
    // path from that directory on; everything if `cursor` is empty.
    FileResult<void> list(const std::string& directory, Segments cursor) {
        return options_.is_reverse ? list_backwards(directory, cursor)
                                   : list_forwards(directory, cursor);
    }

    FileResult<Listing> finish() {
        // One call for all files that were given an inode number, instead of one for each.
        if (is_sync_needed_ && syncfs(tree_.root.get()) != 0) {
            return refuse_by_errno(errno, "sync the files' root");
        }
        return std::move(listing_);
    }

  private:
    FileResult<void> list_forwards(const std::string& directory, Segments cursor) {
        if (!cursor.empty()) {
            TRY(list_below(child(directory, cursor[0]), cursor.subspan(1)));
        }
        return list_names(directory, cursor,
                          [this](const std::string& path, bool is_directory) -> FileResult<void> {
                              TRY(add(path, is_directory));
                              return is_directory ? list_below(path, {}) : FileResult<void>{};
                          });
    }

    FileResult<void> list_backwards(const std::string& directory, Segments cursor) {
        if (cursor.size() > 1 && !options_.is_shallow) {
            const std::string path = child(directory, cursor[0]);
            TRY(list_below(path, cursor.subspan(1)));
            TRY(add(path, true));
        }
        return list_names(directory, cursor,
                          [this](const std::string& path, bool is_directory) -> FileResult<void> {
                              if (is_directory) TRY(list_below(path, {}));
                              return add(path, is_directory);
                          });
    }

    // Calls `visit` with each name in `directory` after the cursor, in order, until the page is
    // full. Some names are not added to the page: their files were removed meanwhile or cannot be
    // read. Then the names that were read are too few, and the next ones are read.
    template <class Visit>
    FileResult<void> list_names(const std::string& directory, Segments cursor, Visit visit) {
        std::string last;
        while (!listing_.has_more) {
            const std::string_view after = !last.empty()    ? std::string_view(last)
                                           : cursor.empty() ? std::string_view()
                                                            : cursor[0];
            const std::size_t wanted = options_.limit - listing_.entries.size() + 1;
            TRY(const auto names, next_names(directory, after, wanted));
            for (const Name& name : names) {
                if (listing_.has_more) break;
                TRY(visit(child(directory, name.text), name.is_directory));
            }
            if (names.size() < wanted) break;
            last = names.back().text;
        }
        return {};
    }

    // A directory that was removed, or replaced by a file, counts as empty.
    FileResult<void> list_below(const std::string& directory, Segments cursor) {
        if (options_.is_shallow || listing_.has_more) return {};
        auto done = list(directory, cursor);
        if (!done && (done.error().fault == Fault::not_found ||
                      done.error().fault == Fault::parent_is_file)) {
            return {};
        }
        return done;
    }

    struct ByText {
        bool operator()(const Name& a, const Name& b) const { return a.text < b.text; }
    };
    using Names = std::set<Name, ByText>;

    // The first `wanted` names in `directory` behind the name `after` (empty: all of them), in the
    // order of the listing.
    FileResult<std::vector<Name>> next_names(const std::string& directory, std::string_view after,
                                             std::size_t wanted) {
        Names names;
        auto opened = open_beneath(tree_.root.get(), directory.empty() ? "." : directory.substr(1),
                                   O_RDONLY | O_DIRECTORY);
        if (!opened) return fault_of(opened.error(), directory);
        const auto add_name = [&](const std::string& text, unsigned char type) {
            if (type != DT_REG && type != DT_DIR) return;
            if (!after.empty() && !is_behind(text, after)) return;
            if (names.size() == wanted && !is_behind(farthest(names), text)) return;
            if (!is_segment(text) || (directory.empty() && is_own_folder(text))) return;
            if (!is_shown(child(directory, text), type == DT_DIR)) return;
            names.insert({.text = text, .is_directory = type == DT_DIR});
            if (names.size() > wanted) {
                names.erase(options_.is_reverse ? names.begin() : std::prev(names.end()));
            }
        };
        if (const auto done = read_directory(std::move(*opened), add_name); !done) {
            return fault_of(done.error(), directory);
        }
        if (options_.is_reverse) return std::vector<Name>(names.rbegin(), names.rend());
        return std::vector<Name>(names.begin(), names.end());
    }

    [[nodiscard]] bool is_shown(const std::string& path, bool is_directory) const {
        return !options_.is_shown || options_.is_shown(path, is_directory);
    }
    [[nodiscard]] std::string_view farthest(const Names& names) const {
        return options_.is_reverse ? names.begin()->text : names.rbegin()->text;
    }
    // NOLINTNEXTLINE(bugprone-easily-swappable-parameters): as in a < b
    [[nodiscard]] bool is_behind(std::string_view name, std::string_view other) const {
        return options_.is_reverse ? name < other : name > other;
    }

    FileResult<void> add(const std::string& path_text, bool is_directory) {
        if (listing_.has_more || !is_shown(path_text, is_directory)) return {};
        if (listing_.entries.size() == options_.limit) {
            listing_.has_more = true;
            return {};
        }
        const auto path = FilePath::parse(path_text);
        if (!path) return {};  // longer than a path may be
        return is_directory ? add_directory(*path) : add_file(*path);
    }

    FileResult<void> add_directory(const FilePath& path) {
        const auto opened =
            open_beneath(tree_.root.get(), path.beneath_root(), O_PATH | O_DIRECTORY);
        const auto status = opened ? stat_of(opened->get()) : tl::unexpected(opened.error());
        if (!status) return {};  // removed meanwhile
        listing_.entries.push_back(
            {.path = path.text(), .is_directory = true, .last_modified_ms = changed_ms(*status)});
        return {};
    }

    FileResult<void> add_file(const FilePath& path) {
        const auto described = describe_file(tree_, path, InfoDepth::without_hash);
        if (!described || !*described) return {};  // removed meanwhile, or not readable
        is_sync_needed_ = is_sync_needed_ || (*described)->is_newly_described;
        const FileInfo& info = (*described)->file.info;
        listing_.entries.push_back({.path = path.text(),
                                    .size_bytes = info.size_bytes,
                                    .content_type = info.content_type,
                                    .last_modified_ms = info.timestamp_ms,
                                    .inode_number = info.inode_number});
        return {};
    }

    static std::string child(const std::string& directory, std::string_view name) {
        return directory + '/' + std::string(name);
    }

    static tl::unexpected<FileError> fault_of(int error, const std::string& directory) {
        if (error == ENOTDIR) return refuse(Fault::parent_is_file, "The path is not a directory");
        return refuse_by_errno(error, "list " + directory + '/');
    }

    TreeState& tree_;
    const ListOptions& options_;
    Listing listing_;
    bool is_sync_needed_ = false;
};

}  // namespace

FileResult<Listing> list_directory(TreeState& tree, const FilePath& directory,
                                   const ListOptions& options) {
    CHECK(options.limit >= 1 && options.limit <= list_limit_max);
    const std::string base = directory.is_root() ? "" : directory.text();
    std::vector<std::string_view> cursor;
    if (options.cursor) {
        if (!options.cursor->text().starts_with(base + '/') || options.cursor->is_root()) {
            return refuse(Fault::bad_cursor, "The cursor is not in this directory");
        }
        cursor = options.cursor->segments();
        cursor.erase(cursor.begin(),
                     cursor.begin() + static_cast<std::ptrdiff_t>(directory.segments().size()));
    }
    Lister lister(tree, options);
    TRY(lister.list(base, cursor));
    return lister.finish();
}

}  // namespace holdfast::files

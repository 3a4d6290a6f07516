#include "files/tree/file_tree.h"

#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <mutex>
#include <system_error>
#include <utility>
#include <vector>

#include "files/tree/tree_state.h"

namespace holdfast::files {
namespace {

base::Result<base::Descriptor> open_root(const std::string& path) {
    if (mkdir(path.c_str(), mode_of_new_directories) != 0 && errno != EEXIST) {
        return base::fail("cannot make the files' root " + path + ": " +
                          std::generic_category().message(errno));
    }
    base::Descriptor root(open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!root) {
        return base::fail("cannot open the files' root " + path + ": " +
                          std::generic_category().message(errno));
    }
    return root;
}

// The sizes of all files that have paths. Files that cannot be read are not counted.
std::uint64_t count_bytes(int root) {
    std::uint64_t bytes = 0;
    std::vector<std::string> folders{"."};
    while (!folders.empty()) {
        const std::string folder = std::move(folders.back());
        folders.pop_back();
        auto opened = open_beneath(root, folder, O_RDONLY | O_DIRECTORY);
        if (!opened) continue;
        const bool is_root = folder == ".";
        const std::string prefix = is_root ? "" : folder + '/';
        const int descriptor = opened->get();  // open as long as it is being read
        // A failure ends the counting in this folder; it is not reported.
        (void)read_directory(std::move(*opened), [&](const std::string& name, unsigned char type) {
            if (is_root && is_own_folder(name)) return;
            if (type == DT_DIR) folders.push_back(prefix + name);
            if (type != DT_REG) return;
            const auto status = stat_in(descriptor, name);
            if (status) bytes += static_cast<std::uint64_t>(status->st_size);
        });
    }
    return bytes;
}

}  // namespace

FileTree::FileTree(std::unique_ptr<TreeState> state) : state_(std::move(state)) {}
FileTree::~FileTree() = default;

base::Result<std::unique_ptr<FileTree>> FileTree::open(FileTreeOptions options,
                                                       const service::Clock& clock) {
    TRY(auto root, open_root(options.root));
    TRY(auto own_folder, StateFolder::open(root.get()));
    TRY(own_folder->check_attributes());
    TRY(auto inode_numbers, InodeNumbers::open(*own_folder));
    const std::uint64_t used_bytes = options.quota_bytes == 0 ? 0 : count_bytes(root.get());
    std::unique_ptr<TreeState> state(
        new TreeState{.root = std::move(root),
                      .own_folder = std::move(own_folder),
                      .inode_numbers = std::move(inode_numbers),
                      .quota = Quota({options.quota_bytes, used_bytes}),
                      .file_bytes_max = options.file_bytes_max,
                      .clock = clock,
                      .on_change = std::move(options.on_change)});
    return std::unique_ptr<FileTree>(new FileTree(std::move(state)));
}

FileResult<OpenFile> FileTree::open_file(const FilePath& path) {
    auto described = describe_file(*state_, path, InfoDepth::whole);
    if (!described) {
        const Fault fault = described.error().fault;
        if (fault != Fault::not_a_file && fault != Fault::parent_is_file) {
            return tl::unexpected(std::move(described).error());
        }
    }
    if (!described || !*described) return refuse(Fault::not_found, "File not found");
    OpenFile file = std::move((*described)->file);
    if ((*described)->is_newly_described) {
        // A lock on the inode number must not survive a crash that the number does not survive.
        if (const auto done = sync(file.descriptor.get()); !done) {
            return refuse_by_errno(done.error(), "describe " + path.text());
        }
    }
    return file;
}

FileResult<bool> FileTree::is_directory(const FilePath& path) {
    const auto opened = open_beneath(state_->root.get(), path.beneath_root(), O_PATH | O_DIRECTORY);
    if (opened) return true;
    const int error = opened.error();
    if (error == ENOENT || error == ENOTDIR || error == ELOOP) return false;
    return refuse_by_errno(error, "look at " + path.text());
}

FileResult<Upload> FileTree::begin_upload(UploadPlan plan) {
    if (plan.path.ends_in_slash()) return refuse(Fault::is_directory, "The path is a directory");
    TRY(const auto found, find_file(*state_, plan.path));
    const std::uint64_t old_bytes = found ? static_cast<std::uint64_t>(found->status.st_size) : 0;
    if (plan.region_start && !found) {
        return refuse(Fault::not_found, "There is no file to write into");
    }
    const std::uint64_t start = plan.region_start.value_or(0);
    if (start > old_bytes) {
        return refuse(Fault::leaves_hole, "The region begins behind the end of the file");
    }
    auto file = state_->own_folder->make_temporary_file();
    if (!file) return refuse_by_errno(file.error(), "write " + plan.path.text());
    Upload::Before before{.size_bytes = old_bytes};
    if (found) before.info = read_info(found->descriptor.get(), found->status);
    Upload upload(*state_, std::move(plan), std::move(before), std::move(*file));
    TRY(upload.expect());
    return upload;
}

FileResult<void> FileTree::remove_file(const FilePath& path, const CommitCheck& check) {
    if (path.is_root()) return refuse(Fault::is_directory, "The path is a directory");
    const auto pass = state_->gates.enter(path.text());
    TRY(const auto found, find_file(*state_, path));
    if (!found) return refuse(Fault::not_found, "File not found");
    TRY(const auto info, complete_info(*state_, *found, path, InfoDepth::whole));
    TRY(const auto parent, open_parent(*state_, path));
    if (!check(&info)) return refuse(Fault::refused, "The removal is not allowed any more");
    if (unlinkat(parent.get(), path.name().c_str(), 0) != 0) {
        return refuse_by_errno(errno, "remove " + path.text());
    }
    state_->quota.apply({.old_bytes = info.size_bytes});
    if (const auto done = sync(parent.get()); !done) {
        return refuse_by_errno(done.error(), "remove " + path.text());
    }
    state_->tell(Change::Kind::file_deleted, path.text());
    return {};
}

FileResult<void> FileTree::make_directory(const FilePath& path) {
    if (path.is_root()) return refuse(Fault::exists, "Directory already exists");
    const auto parent = open_parent(*state_, path);
    if (!parent && (parent.error().fault == Fault::not_found ||
                    parent.error().fault == Fault::parent_is_file)) {
        return refuse(Fault::no_parent, "Parent directory does not exist");
    }
    if (!parent) return tl::unexpected(parent.error());
    const std::unique_lock lock(state_->directories);
    if (mkdirat(parent->get(), path.name().c_str(), mode_of_new_directories) != 0) {
        const int error = errno;
        if (error == EEXIST) {
            const bool is_there = is_directory(path).value_or(false);
            return refuse(Fault::exists, is_there ? "Directory already exists"
                                                  : "A file with this path already exists");
        }
        if (error == ENOENT) return refuse(Fault::no_parent, "Parent directory does not exist");
        return refuse_by_errno(error, "make " + path.text());
    }
    if (const auto done = sync(parent->get()); !done) {
        return refuse_by_errno(done.error(), "make " + path.text());
    }
    state_->tell(Change::Kind::directory_made, path.text());
    return {};
}

FileResult<void> FileTree::remove_directory(const FilePath& path) {
    if (path.is_root()) return refuse(Fault::not_empty, "The root cannot be removed");
    auto parent = open_parent(*state_, path);
    if (!parent) {
        if (parent.error().fault == Fault::failed) return tl::unexpected(parent.error());
        return refuse(Fault::not_found, "Directory not found");
    }
    const std::unique_lock lock(state_->directories);
    if (unlinkat(parent->get(), path.name().c_str(), AT_REMOVEDIR) != 0) {
        const int error = errno;
        if (error == ENOTEMPTY || error == EEXIST) {
            return refuse(Fault::not_empty, "Directory is not empty");
        }
        if (error == ENOENT || error == ENOTDIR) {
            return refuse(Fault::not_found, "Directory not found");
        }
        return refuse_by_errno(error, "remove " + path.text());
    }
    if (const auto done = sync(parent->get()); !done) {
        return refuse_by_errno(done.error(), "remove " + path.text());
    }
    state_->tell(Change::Kind::directory_removed, path.text());
    return {};
}

FileResult<Listing> FileTree::list(const FilePath& directory, const ListOptions& options) {
    return list_directory(*state_, directory, options);
}

std::optional<std::uint64_t> FileTree::used_bytes() const {
    if (state_->quota.limit_bytes() == 0) return std::nullopt;
    return state_->quota.used_bytes();
}

StateFolder& FileTree::own_folder() {
    return *state_->own_folder;
}

}  // namespace holdfast::files

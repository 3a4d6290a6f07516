#pragma once

// VersionStore: documents with a name, of each of which the last few versions are kept.
//
//     <root>/<name>/<number>   one version; the largest number is the present one
//     <root>/.holdfast/        see state_folder.h
//
// As in a FileTree, a version is a file that nobody changes any more, and a write is a new file that
// gets its name in one step: after a crash, a version exists completely or not at all. Here each
// version has a name of its own, so older versions stay. A removed document has a last version
// without content; its older versions stay as well, until newer ones replace them.
//
// A caller that writes passes a check. The store calls the check at the document's gate: after all
// writes before it, and directly before the version gets its name. wait_for_writes() passes the same
// gate: after it, a write whose check would fail now does not happen any more.
//
// In names, all bytes except letters, digits and `-_.` are written as %XX on disk, and so is a dot at
// the beginning.
//
// Thread safety: any thread; a VersionUpload from one thread at a time. All functions may wait for the
// disk.
// Lifetime: the store outlives its uploads.

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/descriptor.h"
#include "base/result.h"
#include "files/disk/state_folder.h"
#include "files/path/file_error.h"
#include "files/tree/path_gates.h"

namespace holdfast::files {

struct Version {
    std::uint64_t number = 0;      // from 1; never used again for the same document
    std::uint64_t size_bytes = 0;  // 0: the document was removed
    std::int64_t written_ms = 0;   // wall time
};

struct OpenVersion {
    Version version;
    base::Descriptor descriptor;
};

struct VersionLimits {
    std::size_t kept_max = 10;  // versions of each document
    std::uint64_t document_bytes_max = std::uint64_t{1} << 30;
};

// A version on its way. Without a commit it leaves nothing behind.
class VersionUpload {
  public:
    // Fails with too_large, disk_full or failed.
    [[nodiscard]] FileResult<void> append(std::string_view bytes);
    [[nodiscard]] std::uint64_t size_bytes() const { return size_bytes_; }

  private:
    friend class VersionStore;
    VersionUpload(TemporaryFile file, std::uint64_t bytes_max)
        : file_(std::move(file)), bytes_max_(bytes_max) {}

    TemporaryFile file_;
    std::uint64_t bytes_max_;
    std::uint64_t size_bytes_ = 0;
};

class VersionStore {
  public:
    // Returns whether the version may be written.
    using Check = std::function<bool()>;

    // Opens the folder, or makes it. Fails with a sentence if another server uses it, or if it cannot
    // be used.
    [[nodiscard]] static base::Result<std::unique_ptr<VersionStore>> open(const std::string& root,
                                                                          VersionLimits limits);
    VersionStore(const VersionStore&) = delete;
    VersionStore& operator=(const VersionStore&) = delete;

    // Whether a document may have this name: UTF-8 without control characters, not empty, at most 255
    // bytes long on disk.
    [[nodiscard]] static bool is_name(std::string_view name);

    // The present version, or the one with the number. Fails with not_found, also if that version
    // says that the document was removed. REQUIRES: here and below, is_name(name).
    [[nodiscard]] FileResult<OpenVersion> open_version(const std::string& name,
                                                       std::optional<std::uint64_t> number) const;

    // The versions of a document, the newest first; none if there never was such a document.
    [[nodiscard]] FileResult<std::vector<Version>> versions(const std::string& name) const;
    // The names of all documents that have versions, in their order.
    [[nodiscard]] FileResult<std::vector<std::string>> names() const;

    // Fails with too_large if more bytes are expected than a document may have.
    [[nodiscard]] FileResult<VersionUpload> begin_upload(std::uint64_t expected_bytes = 0);
    // Makes the bytes the next version of the document. Fails with refused if the check says no.
    // REQUIRES: the upload has at least one byte.
    [[nodiscard]] FileResult<Version> commit(const std::string& name, VersionUpload upload,
                                             const Check& check);
    // Removes the document. Fails with not_found or refused.
    [[nodiscard]] FileResult<Version> remove(const std::string& name, const Check& check);
    // Makes a copy of an earlier version the next one. Fails as open_version() and commit() do.
    [[nodiscard]] FileResult<Version> restore(const std::string& name, std::uint64_t number,
                                              const Check& check);

    // Waits until no write to the document is between its check and its end.
    void wait_for_writes(const std::string& name);

  private:
    VersionStore(base::Descriptor root, std::unique_ptr<StateFolder> own_folder,
                 VersionLimits limits)
        : root_(std::move(root)), own_folder_(std::move(own_folder)), limits_(limits) {}

    [[nodiscard]] FileResult<base::Descriptor> open_folder(const std::string& name) const;
    [[nodiscard]] FileResult<Version> put_in_place(const std::string& name, VersionUpload upload,
                                                   std::uint64_t newest) const;

    const base::Descriptor root_;
    const std::unique_ptr<StateFolder> own_folder_;
    const VersionLimits limits_;
    PathGates gates_;
};

}  // namespace holdfast::files

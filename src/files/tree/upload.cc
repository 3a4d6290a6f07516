#include "files/tree/upload.h"

#include <algorithm>
#include <utility>

#include "files/tree/tree_state.h"

namespace holdfast::files {
namespace {

constexpr std::uint64_t file_bytes_ever = std::uint64_t{1} << 62;  // so that sums do not overflow

}  // namespace

Upload::Upload(TreeState& tree, UploadPlan plan, Before before, TemporaryFile file)
    : tree_(&tree), plan_(std::move(plan)), before_(std::move(before)), file_(std::move(file)) {}

Upload::Upload(Upload&& other) noexcept
    : tree_(std::exchange(other.tree_, nullptr)),
      plan_(std::move(other.plan_)),
      before_(std::move(other.before_)),
      file_(std::move(other.file_)),
      hash_(std::move(other.hash_)),
      received_bytes_(other.received_bytes_),
      reserved_bytes_(other.reserved_bytes_),
      failure_(std::move(other.failure_)) {}

Upload::~Upload() {
    if (tree_ != nullptr) tree_->quota.release(reserved_bytes_);
}

FileResult<void> Upload::append(std::string_view bytes) {
    if (failure_) return tl::unexpected(*failure_);
    auto taken = take(bytes);
    if (!taken) failure_ = taken.error();
    return taken;
}

// What will come is only looked at, and set aside as it comes: whoever promises much and sends
// nothing takes no room from others.
FileResult<void> Upload::expect() {
    if (!plan_.expected_bytes) return {};
    TRY(check_size(*plan_.expected_bytes));
    TRY(reserve(growth_bytes(*plan_.expected_bytes)));
    tree_->quota.release(std::exchange(reserved_bytes_, 0));
    return {};
}

FileResult<void> Upload::check_size(std::uint64_t bytes) const {
    const std::uint64_t start = plan_.region_start.value_or(0);
    const std::uint64_t limit =
        tree_->file_bytes_max == 0 ? file_bytes_ever : tree_->file_bytes_max;
    if (start > limit || bytes > limit - start) {
        return refuse(Fault::too_large, "The file is larger than files may be here");
    }
    return {};
}

std::uint64_t Upload::growth_bytes(std::uint64_t received_bytes) const {
    const std::uint64_t end = plan_.region_start.value_or(0) + received_bytes;
    return end - std::min(end, before_.size_bytes);
}

FileResult<void> Upload::take(std::string_view bytes) {
    TRY(check_size(received_bytes_ + bytes.size()));
    TRY(reserve(growth_bytes(received_bytes_ + bytes.size())));
    if (const auto done = write_all(file_.descriptor(), bytes); !done) {
        return refuse_by_errno(done.error(), "write " + plan_.path.text());
    }
    if (!plan_.region_start) hash_.update(bytes);
    received_bytes_ += bytes.size();
    return {};
}

FileResult<void> Upload::reserve(std::uint64_t bytes) {
    if (bytes <= reserved_bytes_) return {};
    if (!tree_->quota.reserve(bytes - reserved_bytes_)) {
        return refuse(Fault::over_quota, "The file does not fit into the quota");
    }
    reserved_bytes_ = bytes;
    return {};
}

}  // namespace holdfast::files

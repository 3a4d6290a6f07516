#include "doors/terraform/terraform_door.h"

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <utility>

namespace holdfast::doors::terraform {

namespace {

// Most of the time these threads wait: for the disk, or for a commit of the lock service.
constexpr std::size_t thread_count = 8;

StateAnswer refuse_not_leading() {
    return refuse(503, "this node does not lead the cluster; ask again");
}

}  // namespace

TerraformDoor::TerraformDoor(const TerraformOptions& options, Parts parts)
    : parts_(std::move(parts)),
      locks_(
          {.port = parts_.port,
           .executor = parts_.executor,
           .clock = parts_.clock,
           .ttl = options.hold_max == core::Duration::zero() ? core::endless : options.hold_max}) {}

TerraformDoor::~TerraformDoor() {
    store_.reset();
    std::error_code ignored;
    if (!temporary_folder_.empty()) std::filesystem::remove_all(temporary_folder_, ignored);
}

void TerraformDoor::serve() {
    const std::lock_guard lock(mutex_);
    is_serving_ = true;
    ++term_;
}

void TerraformDoor::stop_serving() {
    const std::lock_guard lock(mutex_);
    is_serving_ = false;
    ++term_;
    store_.reset();
}

tl::expected<TerraformDoor::StorePointer, StateAnswer> TerraformDoor::store() {
    if (!parts_.place.refusal.empty()) return tl::unexpected(refuse(501, parts_.place.refusal));
    const std::lock_guard one_at_a_time(opening_);
    std::uint64_t term = 0;
    {
        const std::lock_guard lock(mutex_);
        if (!is_serving_) return tl::unexpected(refuse_not_leading());
        if (store_) return store_;
        term = term_;
    }
    auto opened = open_store();
    if (!opened) return tl::unexpected(refuse(503, opened.error().message));
    const std::lock_guard lock(mutex_);
    if (term != term_) return tl::unexpected(refuse_not_leading());
    store_ = std::move(*opened);
    return store_;
}

// REQUIRES: one thread at a time.
base::Result<TerraformDoor::StorePointer> TerraformDoor::open_store() {
    if (parts_.place.is_temporary && temporary_folder_.empty()) {
        std::error_code error;
        std::string name = std::filesystem::temp_directory_path(error) / "holdfast-states-XXXXXX";
        if (error || ::mkdtemp(name.data()) == nullptr) {
            return base::fail("cannot make a temporary folder for the states");
        }
        temporary_folder_ = name;
    }
    const bool is_temporary = parts_.place.is_temporary;
    TRY(auto opened,
        files::VersionStore::open(is_temporary ? temporary_folder_ : parts_.place.folder, {}));
    return StorePointer(std::move(opened));
}

base::WorkPool& TerraformDoor::disk() {
    const std::lock_guard lock(mutex_);
    if (!disk_) disk_ = std::make_unique<base::WorkPool>(thread_count);
    return *disk_;
}

// The last tasks of the pool use the mutex, so the pool ends outside of it.
void TerraformDoor::close() {
    locks_.close();
    std::unique_ptr<base::WorkPool> last;
    {
        const std::lock_guard lock(mutex_);
        last = std::move(disk_);
    }
    last.reset();
}

}  // namespace holdfast::doors::terraform

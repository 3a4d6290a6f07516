#pragma once

// GatedStore: a store that stops answering, or fails, when a test says so.
//
// Thread safety: the gate may be moved from any thread.

#include <memory>
#include <mutex>
#include <utility>

#include "service/store.h"

namespace holdfast::embedded::testing {

class GatedStore final : public service::Store {
  public:
    // deaf: does what it is told, and says that it failed.
    enum class Gate : std::uint8_t { open, stuck, broken, deaf };

    explicit GatedStore(std::unique_ptr<service::Store> inner) : inner_(std::move(inner)) {}

    // Opening it lets through what was stuck.
    void set(Gate gate) {
        std::unique_lock guard(mutex_);
        gate_ = gate;
        if (gate_ != Gate::open || !done_) return;
        auto done = std::exchange(done_, nullptr);
        guard.unlock();
        inner_->commit(*commit_, std::move(done));
    }

    [[nodiscard]] bool is_volatile() const override { return inner_->is_volatile(); }

    void recover(service::OnRecoveredLease on_lease, service::RecoverDone done) override {
        if (gate() == Gate::broken) {
            return done(tl::unexpected(service::StoreFailure{.message = "the disk is gone"}));
        }
        inner_->recover(std::move(on_lease), std::move(done));
    }

    void commit(const service::Commit& commit, service::CommitDone done) override {
        std::unique_lock guard(mutex_);
        if (gate_ == Gate::stuck) {
            commit_ = &commit;
            done_ = std::move(done);
            return;
        }
        const Gate gate = gate_;
        guard.unlock();
        if (gate == Gate::open) return inner_->commit(commit, std::move(done));
        if (gate == Gate::broken) {
            return done(tl::unexpected(service::StoreFailure{.message = "the disk is gone"}));
        }
        inner_->commit(commit, [done = std::move(done)](const auto& /*result*/) {
            done(tl::unexpected(service::StoreFailure{.kind = service::StoreFailure::Kind::unknown,
                                                      .message = "the disk said nothing"}));
        });
    }

  private:
    [[nodiscard]] Gate gate() {
        const std::lock_guard guard(mutex_);
        return gate_;
    }

    const std::unique_ptr<service::Store> inner_;
    std::mutex mutex_;
    Gate gate_ = Gate::open;
    const service::Commit* commit_ = nullptr;  // stuck
    service::CommitDone done_;
};

}  // namespace holdfast::embedded::testing

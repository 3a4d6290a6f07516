#pragma once

#include "service/store.h"

namespace holdfast::store {

// MemoryStore: keeps nothing. What the service holds in memory is all there is.
class MemoryStore final : public service::Store {
  public:
    [[nodiscard]] bool is_volatile() const override { return true; }
    void recover(service::OnRecoveredLease on_lease, service::RecoverDone done) override;
    void commit(const service::Commit& commit, service::CommitDone done) override;
};

}  // namespace holdfast::store

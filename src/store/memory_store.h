#pragma once

#include "service/store.h"

namespace holdfast::store {

// MemoryStore: keeps nothing. What the service holds in memory is all there is.
class MemoryStore final : public service::Store {
  public:
    [[nodiscard]] bool is_volatile() const override { return true; }
    [[nodiscard]] service::StoreResult<service::Recovered> recover(
        const std::function<bool(const core::RestoreRequest&)>& on_lease) override;
    void commit(const service::Commit& commit, service::CommitDone done) override;
};

}  // namespace holdfast::store

#pragma once

#include "service/store.h"

namespace holdfast::store {

// MemoryStore: keeps nothing. What the service holds in memory is all there is.
class MemoryStore final : public service::Store {
  public:
    [[nodiscard]] bool is_volatile() const override { return true; }
    void commit(core::Changes changes, std::function<void(base::Result<void>)> done) override;
};

}  // namespace holdfast::store

#pragma once

#include <vector>

#include "service/history/history_ring.h"
#include "service/history/open_holds.h"
#include "service/ports/clock.h"
#include "service/store.h"

namespace holdfast::store {

// MemoryStore: what the service holds in memory is all there is. It keeps only a short history of
// the holds that have ended, if it is told to: for people who look at the server while it runs.
class MemoryStore final : public service::Store {
  public:
    // So many rows at most, whatever the limits say.
    static constexpr std::size_t history_rows_max = 10'000;

    // Without a history.
    MemoryStore() : MemoryStore({}, nullptr) {}
    // `clock` outlives the store. It may be null if the history is off.
    MemoryStore(service::HistoryLimits history, const service::Clock* clock);

    [[nodiscard]] bool is_volatile() const override { return true; }
    void recover(service::OnRecoveredLease on_lease, service::RecoverDone done) override;
    void commit(const service::Commit& commit, service::CommitDone done) override;
    void on_changes(const core::Changes& changes) override;

    [[nodiscard]] bool keeps_history() const override { return limits_.is_on(); }
    void read_history(service::HistoryQuery query, service::HistoryDone done) override;
    [[nodiscard]] service::StoreFigures figures() const override;

  private:
    const service::HistoryLimits limits_;
    const service::Clock* const clock_;
    service::HistoryRing ring_;
    service::OpenHolds open_;
    std::vector<service::Hold> ended_;  // memory is used again
};

}  // namespace holdfast::store

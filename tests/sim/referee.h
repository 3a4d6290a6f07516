#pragma once

// Referee: watches the server from outside and accuses it of every broken promise.
//
// Three witnesses: the Ledger knows what clients were told, the Desk who still waits, and the
// model's Auditor follows the service's own events. None of them sees the lock table. What each
// checks is listed in docs/simulator.md.

#include <map>
#include <optional>
#include <vector>

#include "core/values/changes.h"
#include "core/values/request.h"
#include "model/auditor.h"
#include "service/store.h"
#include "sim/desk.h"
#include "sim/ledger.h"
#include "sim/machine.h"
#include "sim/message.h"
#include "sim/world.h"

namespace holdfast::sim {

class Referee {
  public:
    Referee(World& world, const Machine& machine)
        : world_(world), machine_(machine), ledger_(world), desk_(world, ledger_) {}

    // At the server.
    void on_submitted(const Submission& submission);
    void on_answered(const Submission& submission, const Reply& reply);
    void on_abandoning(std::uint64_t submission);
    void on_abandoned(std::uint64_t submission);
    void on_event(const core::Event& event);
    void on_store_failed();
    void on_commit(const service::Commit& commit);
    void on_crashed();
    // The server begins anew with what was written.
    void on_recovering();
    void on_restored(const core::RestoreRequest& lease);
    void on_recovered();

    // At a client: it counts on its lease until `deadline`.
    void on_believed(core::Token token, Moment deadline) { ledger_.on_believed(token, deadline); }

    // When the server is awake and has told of everything that happened: what is due by now has
    // happened, or at most `lateness_max` ago.
    void look(core::Duration lateness_max);

    // Requests that wait for an answer.
    [[nodiscard]] std::size_t waiting() const { return desk_.waiting(); }

  private:
    void see(const core::Event& event);

    World& world_;
    const Machine& machine_;
    Ledger ledger_;
    Desk desk_;
    std::optional<model::Auditor> auditor_;  // none while the server is down or refuses everything
    std::vector<core::Event> restored_in_grace_;
    std::map<std::uint64_t, Submission> unanswered_;
    std::map<std::uint64_t, service::CommitNumber> session_ends_;  // by session
};

}  // namespace holdfast::sim

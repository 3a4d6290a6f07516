#pragma once

// Checker: watches the server from outside and accuses it of every broken promise.
//
// There is one for each server. It has three witnesses: Ledger knows what clients were told, OpenRequests which requests still
// wait for an answer, and the model's Auditor follows the events of the service. None of them sees
// the lock table. docs/simulator.md lists what each of them checks.

#include <map>
#include <optional>
#include <vector>

#include "core/values/changes.h"
#include "core/values/request.h"
#include "model/auditor.h"
#include "service/store.h"
#include "sim/checker/ledger.h"
#include "sim/checker/open_requests.h"
#include "sim/machine.h"
#include "sim/message.h"
#include "sim/world.h"

namespace holdfast::sim {

class Checker {
  public:
    // Everything outlives the checker.
    struct Parts {
        World& world;
        const Machine& machine;  // the server's
        Ledger& ledger;          // of all servers in the world
    };

    explicit Checker(Parts parts)
        : world_(parts.world),
          machine_(parts.machine),
          ledger_(parts.ledger),
          open_requests_(parts.world, parts.ledger) {}

    // At the server.
    void on_submitted(const Submission& submission);
    void on_answered(const Submission& submission, const Reply& reply);
    // It was answered, and no client ever gets the answer.
    void on_withheld(const Submission& submission, const Reply& reply);
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

    // When the server is awake and has told of everything that happened: what is due by now has
    // happened, or at most `lateness_max` ago.
    void look(core::Duration lateness_max);

    // Requests that wait for an answer.
    [[nodiscard]] std::size_t waiting() const { return open_requests_.waiting(); }

  private:
    void see(const core::Event& event);

    World& world_;
    const Machine& machine_;
    Ledger& ledger_;
    OpenRequests open_requests_;
    std::optional<model::Auditor> auditor_;  // none while the server is down or refuses everything
    std::vector<core::Event> restored_in_grace_;
    std::map<std::uint64_t, Submission> unanswered_;
    // The last change that was committed, if it was the end of a grace that somebody asked for.
    struct EndedGrace {
        std::string what;  // scope and owner
        service::CommitNumber commit;
    };
    std::optional<EndedGrace> ended_grace_;
};

}  // namespace holdfast::sim

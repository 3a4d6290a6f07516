#include "sim/cluster/node_store.h"

#include <algorithm>
#include <utility>

namespace holdfast::sim {

void SimTimers::set(core::Time time, std::function<void()> task) {
    const std::uint64_t number = ++number_;
    if (time == core::Time::max()) return;
    const core::Duration delay = std::max(time - now(), core::Duration::zero());
    const core::Duration lateness =
        parts_.world.random().between(core::Duration::zero(), parts_.faults.timer_lateness_max);
    parts_.in_turn(delay + lateness, [this, number, task = std::move(task)] {
        if (number == number_) task();
    });
}

NodeMeans::NodeMeans(const NodeStoreParts& parts, const StoreHooks& hooks)
    : timers({.world = parts.world,
              .machine = parts.machine,
              .faults = parts.faults,
              .in_turn = hooks.in_turn}),
      api({.world = parts.world,
           .etcd = parts.etcd,
           .faults = parts.etcd_faults,
           .line = parts.line,
           .in_turn = hooks.enter}) {}

NodeStore::NodeStore(cluster::ClusterOptions options, const NodeStoreParts& parts, StoreHooks hooks)
    : NodeMeans(parts, hooks),
      ClusterStore(std::move(options),
                   {.etcd = api,
                    .timers = timers,
                    .clock = parts.machine,
                    .random = [&world = parts.world] { return world.random().bits(); }}),
      parts_(parts),
      hooks_(std::move(hooks)) {}

void NodeStore::recover(service::OnRecoveredLease on_lease, service::RecoverDone done) {
    // The node has the locks from the moment when the first is handed over.
    const auto begin = [this, has_begun = std::make_shared<bool>(false)] {
        if (!std::exchange(*has_begun, true)) hooks_.on_recovering();
    };
    ClusterStore::recover(
        [this, begin, on_lease = std::move(on_lease)](const core::RestoreRequest& lease) {
            begin();
            if (!on_lease(lease)) {
                parts_.world.accuse(1, "what was written cannot all be held at once: #" +
                                           std::to_string(core::as_number(lease.token.fence)));
                return false;
            }
            hooks_.on_restored(lease);
            return true;
        },
        [this, begin, done = std::move(done)](service::StoreResult<service::Recovered> result) {
            if (result) {
                begin();
                hooks_.on_recovered();
            }
            done(std::move(result));
        });
}

void NodeStore::commit(const service::Commit& commit, service::CommitDone done) {
    hooks_.on_commit(commit);
    if (parts_.world.random().chance(parts_.faults.crash_around_commit)) hooks_.crash();
    is_committing_ = true;
    ClusterStore::commit(commit,
                         [this, done = std::move(done)](const service::StoreResult<void>& result) {
                             is_committing_ = false;
                             last_commit_ = parts_.world.now();
                             if (!result) hooks_.on_failure();
                             done(result);
                         });
}

}  // namespace holdfast::sim

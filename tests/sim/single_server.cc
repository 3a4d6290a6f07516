#include "sim/single_server.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <utility>

#include "store/memory_store.h"

namespace holdfast::sim {

using namespace std::chrono_literals;

SingleServer::SingleServer(Surroundings around)
    : around_(around),
      machine_(around.world),
      checker_({.world = around.world, .machine = machine_, .ledger = around.ledger}),
      server_({.world = around.world,
               .settings = around.settings,
               .faults = around.faults,
               .machine = machine_,
               .checker = checker_,
               .ways = {.reply =
                            [this](ConnectionId connection, const Reply& reply) {
                                around_.network.reply(connection, reply);
                            },
                        .cut = [this](ConnectionId connection) { around_.network.cut(connection); },
                        .cut_all = [this] { around_.network.cut_all(); }},
               .make_store = [this](const StoreHooks& hooks) { return make_store(hooks); }}) {}

std::unique_ptr<service::Store> SingleServer::make_store(const StoreHooks& hooks) {
    if (around_.settings.is_volatile) {
        checker_.on_recovering();
        checker_.on_recovered();
        return std::make_unique<store::MemoryStore>();
    }
    auto store = std::make_unique<DiskStore>(
        DiskStore::Parts{.world = around_.world,
                         .machine = machine_,
                         .faults = around_.faults,
                         .disk = disk_,
                         .commit_changes_max = around_.settings.commit_changes_max},
        hooks);
    disk_store_ = store.get();
    return store;
}

void SingleServer::arrange_faults(const Every& every) {
    World& world = around_.world;
    Random& random = world.random();
    const Faults& faults = around_.faults;
    const core::Duration ttl = around_.settings.ttl;
    every(faults.server_pause_every,
          [this, ttl, &random] { server_.pause(random.about(ttl * 2)); });
    every(faults.server_crash_every, [this] { server_.crash(); });
    every(faults.wall_step_every, [this, &world, &random] {
        world.note("machine: the wall clock is set");
        machine_.step_wall(random.between(-48h, 48h));
    });
    every(faults.disk_trouble_every, [this] { trouble_disk(); });
    every(faults.authority_lost_every, [this, ttl, &world, &random] {
        set_authority_deadline(world.now() + random.about(ttl / 4));
        world.after(random.about(ttl), [this] { set_authority_deadline(Moment::max()); });
    });
}

void SingleServer::set_authority_deadline(Moment deadline) {
    if (!server_.is_running() || disk_store_ == nullptr) return;
    around_.world.note("disk: sure of itself until {}", deadline.time_since_epoch());
    disk_store_->set_authority_deadline(deadline == Moment::max() ? core::Time::max()
                                                                  : machine_.to_engine(deadline));
}

void SingleServer::trouble_disk() {
    if (disk_.trouble) return;
    using FailureKind = service::StoreFailure::Kind;
    World& world = around_.world;
    const bool is_busy = world.random().chance(0.3);
    const FailureKind kind =
        world.random().chance(0.5) ? FailureKind::not_done : FailureKind::unknown;
    world.note("disk: in trouble");
    disk_.trouble = service::StoreFailure{.kind = kind, .is_busy = is_busy, .message = "disk full"};
    world.after(world.random().about(around_.settings.ttl), [this] {
        if (disk_.trouble) around_.world.note("disk: well again");
        disk_.trouble.reset();
    });
}

void SingleServer::look() {
    const bool is_quiet = !disk_.in_doubt && around_.world.now() > disk_.last_landed;
    if (!server_.is_awake() || !is_quiet) return;
    checker_.look(around_.settings.faults.timer_lateness_max);
}

void SingleServer::heal() {
    disk_.trouble.reset();
    set_authority_deadline(Moment::max());
}

void SingleServer::check_empty() {
    World& world = around_.world;
    if (!server_.is_running()) {
        world.accuse(9, "the server does not come back");
        return;
    }
    if (checker_.waiting() > 0) world.accuse(9, "somebody still waits for an answer");
    check_counts(world, server_.counts());
    if (const std::string fault = disk_.fault_of_history(); !fault.empty()) {
        world.accuse(13, fault);
    }
    if (!disk_.rows.empty() || disk_.in_doubt) {
        world.accuse(10, fmt::format("left on disk: {} leases", disk_.rows.size()));
    }
}

}  // namespace holdfast::sim

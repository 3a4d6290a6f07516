#include "sim/simulation.h"

#include <fmt/format.h>

#include <utility>

#include "sim/clients/candidate.h"
#include "sim/clients/collectors.h"
#include "sim/clients/crowd.h"
#include "sim/cluster/cluster.h"
#include "sim/single_server.h"

namespace holdfast::sim {

using namespace std::chrono_literals;

namespace {

constexpr std::size_t report_lines = 40;
// A node that takes over reads 512 ranges, so a cluster needs more steps for the same life.
constexpr std::uint64_t cluster_steps_factor = 20;

}  // namespace

Simulation::Simulation(Kind kind, std::uint64_t seed, std::size_t history_lines_max)
    : kind_(kind),
      seed_(seed),
      world_(seed, history_lines_max),
      settings_(Settings::draw(world_.random())),
      faults_(settings_.faults),
      network_(world_, faults_),
      ledger_(world_),
      stage_{.world = world_,
             .settings = settings_,
             .network = network_,
             .ledger = ledger_,
             .resources = resources_} {
    const Surroundings around{.world = world_,
                              .settings = settings_,
                              .faults = faults_,
                              .network = network_,
                              .ledger = ledger_};
    if (kind == Kind::cluster) {
        system_ = std::make_unique<Cluster>(around);
    } else {
        system_ = std::make_unique<SingleServer>(around);
    }
    network_.bind(
        {.on_call = [this](const Call& call) { system_->receive(call); },
         .on_hang_up = [this](ConnectionId connection) { system_->hang_up(connection); },
         .on_reply = [this](std::size_t client,
                            const Reply& reply) { clients_[client]->deliver(reply); },
         .on_reset = [this](std::size_t client,
                            ConnectionId connection) { clients_[client]->reset(connection); }});
}

Result Simulation::run() {
    world_.note("seed {}: {}", seed_, to_text(settings_));
    system_->start();
    populate();
    arrange_faults();
    live();
    if (!world_.violation()) {
        heal();
        drain();
        try_each();
    }
    return {.seed = seed_,
            .steps = world_.steps(),
            .virtual_time = world_.now().time_since_epoch(),
            .hash = world_.history().hash(),
            .violation = world_.violation()};
}

void Simulation::populate() {
    const auto add = [this](std::size_t count, std::string_view kind, auto make) {
        for (std::size_t number = 1; number <= count; ++number) {
            clients_.push_back(make(clients_.size(), fmt::format("{}{}", kind, number)));
        }
    };
    const auto make = [this]<class Kind>(std::type_identity<Kind> /*kind*/) {
        return [this](std::size_t index, std::string name) -> std::unique_ptr<Client> {
            return std::make_unique<Kind>(stage_, index, std::move(name));
        };
    };
    add(settings_.crowd.workers, "worker", make(std::type_identity<Worker>{}));
    add(settings_.crowd.homelab, "laptop", make(std::type_identity<HomelabUser>{}));
    add(settings_.crowd.sessions, "session", make(std::type_identity<SessionUser>{}));
    add(settings_.crowd.admins, "admin", make(std::type_identity<Admin>{}));
    add(settings_.crowd.collectors, "collector", make(std::type_identity<Collector>{}));
    add(settings_.crowd.crosswise, "crosswise", make(std::type_identity<CrosswiseUser>{}));
    add(settings_.crowd.candidates, "candidate", make(std::type_identity<Candidate>{}));
    for (const auto& client : clients_) client->begin();
}

// Again and again until the faults heal, about so often; never if `mean` is zero.
void Simulation::every(core::Duration mean, std::function<void()> action) {
    if (mean == core::Duration::zero()) return;
    world_.after(world_.random().about(mean), [this, mean, action = std::move(action)]() mutable {
        if (is_healed_) return;
        action();
        every(mean, std::move(action));
    });
}

void Simulation::arrange_faults() {
    Random& random = world_.random();
    const core::Duration ttl = settings_.ttl;
    const auto any_client = [this, &random]() -> Client& {
        return *clients_[static_cast<std::size_t>(random.below(clients_.size()))];
    };
    every(faults_.hang_up_every, [this] {
        if (const auto connection = network_.any()) network_.cut(*connection);
    });
    every(faults_.client_pause_every, [=, &random] { any_client().pause(random.about(ttl * 2)); });
    every(faults_.client_crash_every, [=] { any_client().crash(); });
    system_->arrange_faults([this](core::Duration mean, std::function<void()> action) {
        every(mean, std::move(action));
    });
}

bool Simulation::step(Moment end) {
    if (world_.violation() || !world_.step(end)) return false;
    system_->look();
    return !world_.violation();
}

void Simulation::live() {
    const Moment end = world_.now() + settings_.time_max;
    const std::uint64_t factor = kind_ == Kind::cluster ? cluster_steps_factor : 1;
    while (world_.steps() < settings_.steps_max * factor && step(end)) {
    }
}

void Simulation::heal() {
    world_.note("all faults heal");
    is_healed_ = true;
    faults_ = {};
    system_->heal();
    for (const auto& client : clients_) client->stop();
}

// The longest lease, its grace and its memory, once more after a restart, and whoever waits for
// ever gets its turn within.
void Simulation::drain() {
    const core::Duration enough = settings_.ttl * 60 + 60s + system_->recovery_time_max();
    const Moment middle = world_.now() + enough;
    while (step(middle)) {
    }
    network_.close_all();
    while (step(middle + enough)) {
    }
    if (!world_.violation()) system_->check_empty();
}

// Whoever serves in the end says nothing of the others.
void Simulation::try_each() {
    for (std::size_t trial = 0; !world_.violation() && system_->begin_trial(trial); ++trial) {
        const Moment end = world_.now() + system_->recovery_time_max();
        while (!system_->has_passed_trial() && step(end)) {
        }
        if (!system_->has_passed_trial()) world_.accuse(9, "a server cannot serve alone");
    }
}

void check_counts(World& world, const core::TableCounts& counts) {
    if (counts.locks + counts.leases + counts.waiters + counts.sessions + counts.entries == 0) {
        return;
    }
    world.accuse(10, fmt::format("left in memory: {} locks, {} leases, {} waiters, {} sessions, {} "
                                 "two-phase entries",
                                 counts.locks, counts.leases, counts.waiters, counts.sessions,
                                 counts.entries));
}

Result simulate(Kind kind, std::uint64_t seed) {
    return Simulation(kind, seed, 1).run();
}

std::string to_command(Kind kind, std::uint64_t seed) {
    return fmt::format("make sim {}SEEDS={}", kind == Kind::cluster ? "cluster=1 " : "", seed);
}

std::string to_report(const Result& result, const Simulation& simulation) {
    std::string text;
    const auto& lines = simulation.history();
    const std::size_t first = lines.size() > report_lines ? lines.size() - report_lines : 0;
    for (std::size_t index = first; index < lines.size(); ++index) text += lines[index] + "\n";
    if (result.violation) {
        text += fmt::format("seed {} broke invariant ({}) at step {}: {}\nsee it again: {}\n",
                            result.seed, result.violation->invariant, result.violation->step,
                            result.violation->what, to_command(simulation.kind(), result.seed));
    }
    return text;
}

}  // namespace holdfast::sim

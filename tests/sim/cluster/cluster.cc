#include "sim/cluster/cluster.h"

#include <fmt/format.h>

#include <utility>

namespace holdfast::sim {

using namespace std::chrono_literals;

namespace {

constexpr std::string_view prefix = "/holdfast";
constexpr std::array<std::string_view, Cluster::node_count> names = {"a", "b", "c"};
constexpr std::size_t many_rows = 100'000;           // a world has fewer
constexpr core::Duration long_ago = 24h * 365 * 20;  // wall clocks are not set by so much

}  // namespace

// The machines of the nodes were not started at the same time.
Cluster::Node::Node(Cluster& cluster, std::size_t number)
    : index(number),
      name(names[number]),
      machine(cluster.around_.world, 20s + 1h * number),
      checker(
          {.world = cluster.around_.world, .machine = machine, .ledger = cluster.around_.ledger}),
      server(cluster.make_server_parts(*this)) {}

Cluster::Cluster(Surroundings around)
    : around_(around),
      settings_(ClusterSettings::draw(around.settings, around.world.random())),
      etcd_faults_(settings_.faults.etcd),
      keys_(prefix),
      etcd_(around.world, etcd_faults_),
      // A full etcd takes no rows, and the locks go on without them.
      history_(etcd_.keyspace(), keys_,
               settings_.history_rows_max > many_rows &&
                   settings_.faults.full_every == core::Duration::zero()) {
    for (std::size_t index = 0; index < node_count; ++index) {
        nodes_[index] = std::make_unique<Node>(*this, index);
    }
}

Server::Parts Cluster::make_server_parts(Node& node) {
    constexpr std::uint64_t submissions_of_a_node = 1'000'000'000;
    return {
        .world = around_.world,
        .settings = around_.settings,
        .faults = around_.faults,
        .machine = node.machine,
        .checker = node.checker,
        .ways = {.reply = [this, &node](ConnectionId connection,
                                        const Reply& reply) { send_back(node, connection, reply); },
                 .cut = [this](ConnectionId connection) { lose_relay(connection); },
                 .cut_all = [this, &node] { cut_connections_of(node); }},
        .make_store = [this, &node](const StoreHooks& hooks) { return make_store(node, hooks); },
        .name = "node " + node.name,
        .first_submission = 1 + node.index * submissions_of_a_node,
        .recovers_when_deposed = true,
        .admits = [this, &node](const Call& call) { return admits(node, call); },
        .on_served = [this, &node](const Submission& submission) { check_right(node, submission); },
        .is_usurped = [&node] { return node.usurped_at.has_value(); }};
}

std::unique_ptr<service::Store> Cluster::make_store(Node& node, const StoreHooks& hooks) {
    StoreHooks watched = hooks;
    watched.on_commit = [this, on_commit = hooks.on_commit](const service::Commit& commit) {
        history_.on_commit(commit);
        on_commit(commit);
    };
    watched.enter = [this, &node, enter = hooks.enter](std::function<void()> task) {
        stop_in_takeover(node);
        enter(std::move(task));
    };
    auto store = std::make_unique<NodeStore>(
        cluster::ClusterOptions{
            .prefix = std::string(prefix),
            .node = node.name,
            .peer = node.name + ":1",
            .version = "1",
            .lease = {.ttl = settings_.ttl, .renewed_every = settings_.renewed_every},
            .housekeeping_every = std::max<core::Duration>(5s, settings_.ttl),
            .history = {.age_max = long_ago, .rows_max = settings_.history_rows_max}},
        NodeStoreParts{.world = around_.world,
                       .machine = node.machine,
                       .faults = around_.faults,
                       .etcd = etcd_,
                       .etcd_faults = etcd_faults_,
                       .line = node.line},
        std::move(watched));
    node.store = store.get();
    store->view().on_change(
        [this, &node](const cluster::Picture& picture) { on_role_changed(node, picture); });
    return store;
}

Cluster::Node* Cluster::find_node(std::string_view name) {
    for (const auto& node : nodes_) {
        if (node->name == name) return node.get();
    }
    return nullptr;
}

Cluster::Node& Cluster::leader_or_any() {
    for (const auto& node : nodes_) {
        if (node->server.is_running() && node->store->view().picture()->is_leading()) return *node;
    }
    return any_node();
}

void Cluster::start() {
    around_.world.note("{}", to_text(settings_));
    for (const auto& node : nodes_) node->server.start();
}

void Cluster::arrange_faults(const Every& every) {
    Random& random = around_.world.random();
    const Faults& faults = around_.faults;
    const core::Duration ttl = std::max<core::Duration>(around_.settings.ttl, settings_.ttl);
    every(faults.server_pause_every,
          [this, ttl, &random] { any_node().server.pause(random.about(ttl)); });
    every(faults.server_crash_every, [this] { any_node().server.crash(); });
    every(faults.wall_step_every, [this, &random] {
        Node& node = any_node();
        around_.world.note("node {}: the wall clock is set", node.name);
        node.machine.step_wall(random.between(-48h, 48h));
    });
    every(settings_.faults.hop_cut_every, [this] { cut_hop(); });
    every(settings_.faults.resign_every, [this] {
        Node& node = any_node();
        node.server.do_in_turn([this, &node] {
            around_.world.note("node {}: is told to resign", node.name);
            node.store->resign([](const auto& /*result*/) {});
        });
    });
    arrange_etcd_faults(every);
    arrange_usurpations(every);
}

// Before it sees the answer to what it has asked etcd: between any two steps of taking over, from the
// election to the first commit.
void Cluster::stop_in_takeover(Node& node) {
    const double chance = settings_.faults.stop_in_takeover;
    if (chance == 0 || is_healed_ || !node.server.is_awake()) return;
    const auto picture = node.store->view().picture();
    const bool takes_over =
        picture->role == cluster::NodeRole::taking_over ||
        (picture->role == cluster::NodeRole::following && picture->leader.name.empty());
    Random& random = around_.world.random();
    if (!takes_over || !random.chance(chance)) return;
    around_.world.note("node {}: is stopped while it takes over", node.name);
    if (random.chance(0.2)) {
        around_.world.next([&node] { node.server.crash(); });
    } else {
        node.server.pause(random.about(core::Duration{settings_.ttl} * 2));
    }
}

// The leader's key goes, although etcd has not counted the time of its lease to the end.
void Cluster::arrange_usurpations(const Every& every) {
    every(settings_.faults.lease_revoked_every, [this] {
        usurp([this](const etcd::KeyValue& key) {
            around_.world.note("etcd: ends lease {}, which lives", key.lease);
            (void)etcd_.revoke(key.lease);
        });
    });
    every(settings_.faults.key_removed_every, [this] {
        usurp([this](const etcd::KeyValue& key) {
            around_.world.note("etcd: the leader's key is removed, and lease {} lives", key.lease);
            (void)etcd_.transact({.then = {etcd::Operation::remove(keys_.leader())}});
        });
    });
    every(settings_.faults.new_epoch_every, [this] { begin_epoch(); });
}

// An operator asks any node. If that leads, it gives up the lead before. The leader may stand still or be
// cut off from etcd at that moment.
void Cluster::begin_epoch() {
    Random& random = around_.world.random();
    Node& leader = leader_or_any();
    const core::Duration ttl = settings_.ttl;
    if (random.chance(0.2)) leader.server.pause(random.about(ttl));
    if (random.chance(0.2)) {
        leader.line.is_cut.fill(true);
        for_a_while(ttl, [&leader] { leader.line.is_cut.fill(false); });
    }
    Node& node = random.chance(0.5) ? leader : any_node();
    node.server.do_in_turn([this, &node] {
        around_.world.note("node {}: is told to begin a new epoch", node.name);
        node.store->begin_epoch([this, &node](const base::Result<std::uint64_t>& epoch) {
            around_.world.note(
                "node {}: {}", node.name,
                epoch ? fmt::format("the epoch is now above {}", *epoch) : epoch.error().message);
        });
        // It answers nothing any more, whatever becomes of the epoch.
        if (believes_to_lead(node)) {
            around_.world.accuse(11, "node " + node.name + " begins an epoch, and goes on to lead");
        }
    });
}

// The epoch is another than that of the leader, which has its key still.
void Cluster::mark_usurped_by_epoch(const cluster::Leader& leader) {
    if (leader.epoch == 0 || std::to_string(leader.epoch) == value_in_etcd(keys_.epoch())) return;
    Node* const node = find_node(leader.name);
    if (node != nullptr && !node->usurped_at) node->usurped_at = around_.world.now();
}

// For how long a usurped leader may believe that it leads: where nothing keeps it from asking etcd, until
// its next renewal and the confirmation of that.
core::Duration Cluster::usurped_max() const {
    const ClusterFaults& faults = settings_.faults;
    const sim::Faults& general = around_.faults;
    const core::Duration none{0};
    const bool reaches_etcd = faults.etcd.loss == 0 && faults.etcd.late == 0 &&
                              faults.etcd.delay_max == none && faults.member_down_every == none &&
                              faults.member_cut_every == none && faults.member_lag_every == none &&
                              faults.leader_lost_every == none && faults.line_cut_every == none &&
                              faults.new_epoch_every == none && faults.stop_in_takeover == 0 &&
                              general.server_pause_every == none;
    const core::Duration ttl = settings_.ttl;
    if (!reaches_etcd) return ttl;
    const core::Duration lateness_max = around_.settings.faults.timer_lateness_max;
    return std::min(ttl, settings_.renewed_every + 100ms + lateness_max * 2);
}

void Cluster::usurp(const std::function<void(const etcd::KeyValue& key)>& take) {
    const auto key = find_in_etcd(keys_.leader());
    if (!key) return;
    const auto leader = cluster::parse_leader(key->value);
    Node* const node = leader ? find_node(leader->name) : nullptr;
    if (node != nullptr) node->usurped_at = around_.world.now();
    take(*key);
}

// Calls `end` after a while, unless everything heals before.
void Cluster::for_a_while(core::Duration mean, std::function<void()> end) {
    around_.world.after(around_.world.random().about(mean), [this, end = std::move(end)] {
        if (!is_healed_) end();
    });
}

void Cluster::arrange_etcd_faults(const Every& every) {
    Random& random = around_.world.random();
    const ClusterFaults& faults = settings_.faults;
    const core::Duration ttl = settings_.ttl;
    const auto any_member = [&random] { return random.below(SimulatedEtcd::member_count); };
    every(faults.member_down_every, [this, any_member, ttl] {
        const std::size_t member = any_member();
        etcd_.stop_member(member);
        for_a_while(ttl * 2, [this, member] { etcd_.start_member(member); });
    });
    every(faults.member_cut_every, [this, any_member, ttl] {
        const std::size_t member = any_member();
        etcd_.cut_member(member);
        for_a_while(ttl, [this, member] { etcd_.join_member(member); });
    });
    every(faults.member_lag_every, [this, any_member, ttl] {
        const std::size_t member = any_member();
        etcd_.hold_member(member);
        for_a_while(ttl / 2, [this, member] { etcd_.free_member(member); });
    });
    every(faults.leader_lost_every,
          [this, ttl, &random] { etcd_.lose_leader(random.about(ttl / 2)); });
    every(faults.full_every, [this, ttl] {
        etcd_.set_full(true);
        for_a_while(ttl * 2, [this] { etcd_.set_full(false); });
    });
    every(faults.line_cut_every, [this, any_member, ttl, &random] {
        Node& node = random.chance(0.7) ? leader_or_any() : any_node();
        if (random.chance(0.8)) {
            node.line.is_cut.fill(true);
        } else {
            node.line.is_cut[any_member()] = true;
        }
        around_.world.note("node {}: does not reach etcd", node.name);
        for_a_while(ttl * 2, [&node] { node.line.is_cut.fill(false); });
    });
}

void Cluster::heal() {
    is_healed_ = true;
    // Answers stay as small as they are: the nodes live with that.
    etcd_faults_ = {.answer_bytes_max = etcd_faults_.answer_bytes_max};
    etcd_.heal();
    for (const auto& node : nodes_) node->line.is_cut.fill(false);
}

// A lease of a dead node ends late, and the next leader needs some attempts. Where answers must be
// small, it reads in many.
core::Duration Cluster::recovery_time_max() const {
    const core::Duration reading = etcd_faults_.answer_bytes_max == 0 ? 0s : 120s;
    return core::Duration{settings_.ttl} * 10 + settings_.faults.etcd.lease_lateness_max * 2 +
           reading;
}

void Cluster::look() {
    const core::Duration lateness_max = around_.settings.faults.timer_lateness_max;
    if (etcd_.keyspace().revision() != looked_at_) {
        check_authority();
        history_.look();
    }
    check_usurped();
    for (const auto& node : nodes_) {
        const bool is_serving =
            node->server.is_awake() && node->server.role() == service::Role::serving;
        if (!is_serving || !node->store->is_quiet(lateness_max)) continue;
        node->checker.look(lateness_max);
    }
}

void Cluster::check_empty() {
    World& world = around_.world;
    std::size_t serving = 0;
    for (const auto& node : nodes_) {
        if (!node->server.is_running()) {
            world.accuse(9, "node " + node->name + " does not come back");
            return;
        }
        if (node->checker.waiting() > 0) world.accuse(9, "somebody still waits for an answer");
        if (node->server.role() != service::Role::serving) continue;
        ++serving;
        check_counts(world, node->server.counts());
    }
    if (serving != 1) world.accuse(9, fmt::format("{} nodes serve in the end", serving));
    const std::string leases = keys_.prefix() + "lease/";
    const auto left = etcd_.keyspace().range(
        {.key = leases, .range_end = etcd::end_of_prefix(leases)}, etcd_.keyspace().revision());
    if (left->count > 0) world.accuse(10, fmt::format("left in etcd: {} leases", left->count));
    check_history();
}

bool Cluster::begin_trial(std::size_t number) {
    if (number >= node_count) return false;
    tried_ = number;
    around_.world.note("node {} must lead alone", nodes_[tried_]->name);
    for (const auto& node : nodes_) {
        if (node->index == tried_) {
            node->server.release();
        } else {
            node->server.hold_down();
        }
    }
    return true;
}

bool Cluster::has_passed_trial() const {
    const Server& server = nodes_[tried_]->server;
    return server.is_running() && server.role() == service::Role::serving;
}

void Cluster::check_history() {
    if (settings_.history_rows_max == 0) return;
    if (const std::string fault = history_.find_fault(); !fault.empty()) {
        around_.world.accuse(13, fault);
    }
}

}  // namespace holdfast::sim

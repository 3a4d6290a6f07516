#include "sim/cluster/cluster_settings.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <iterator>

namespace holdfast::sim {

using namespace std::chrono_literals;

namespace {

enum class Fault : std::uint8_t {
    loss,
    repetition,
    late,
    delay,
    late_lease_ends,
    lost_events,
    member_down,
    member_cut,
    member_lag,
    leader_lost,
    full,
    line_cut,
    hop_cut,
    resign,
};
constexpr std::uint64_t fault_count = 14;

void add_fault(Fault fault, core::Duration ttl, Random& random, ClusterFaults& faults) {
    const auto often = [&] { return random.between(ttl * 4, ttl * 30); };
    switch (fault) {
        case Fault::loss: faults.etcd.loss = random.chance(0.5) ? 0.01 : 0.1; break;
        case Fault::repetition:
            faults.etcd.repetition = random.chance(0.5) ? 0.05 : 0.3;
            faults.etcd.late_max = std::max(faults.etcd.late_max, ttl * 2);
            break;
        case Fault::late:
            faults.etcd.late = random.chance(0.5) ? 0.01 : 0.1;
            faults.etcd.late_max = std::max(faults.etcd.late_max, random.between(ttl, ttl * 5));
            break;
        case Fault::delay: faults.etcd.delay_max = random.between(ttl / 20, ttl); break;
        case Fault::late_lease_ends:
            faults.etcd.lease_lateness_max = random.between(ttl / 4, ttl * 5);
            break;
        case Fault::lost_events: faults.etcd.lost_events = 0.3; break;
        case Fault::member_down: faults.member_down_every = often(); break;
        case Fault::member_cut: faults.member_cut_every = often(); break;
        case Fault::member_lag: faults.member_lag_every = often() / 8; break;
        case Fault::leader_lost: faults.leader_lost_every = often(); break;
        case Fault::full: faults.full_every = often() * 2; break;
        case Fault::line_cut: faults.line_cut_every = often() / 2; break;
        case Fault::hop_cut: faults.hop_cut_every = often() / 2; break;
        case Fault::resign: faults.resign_every = often(); break;
    }
}

}  // namespace

ClusterSettings ClusterSettings::draw(const Settings& settings, Random& random) {
    using std::chrono::seconds;
    ClusterSettings drawn;
    const auto usual = std::chrono::duration_cast<seconds>(settings.ttl);
    const std::vector<seconds> ttls = {usual / 3, usual, usual * 2};
    drawn.ttl = std::max(random.pick(ttls), seconds{2});
    const core::Duration ttl = drawn.ttl;
    // A quarter of the worlds has one fault, a quarter many.
    const std::uint64_t kind = random.below(4);
    const double share = kind == 3 ? 0.6 : 0.25;
    if (kind == 0) {
        add_fault(static_cast<Fault>(random.below(fault_count)), ttl, random, drawn.faults);
    } else {
        for (std::uint64_t fault = 0; fault < fault_count; ++fault) {
            if (random.chance(share)) {
                add_fault(static_cast<Fault>(fault), ttl, random, drawn.faults);
            }
        }
    }
    drawn.faults.etcd.has_stale_reads = random.chance(0.5);
    if (random.chance(0.5)) drawn.faults.etcd.wandering = 0.1;
    if (random.chance(0.5)) drawn.faults.etcd.clock_drift = 0.01;
    // From numbers of its own, so that the history does not change what else happens.
    Random aside = random;
    static const std::vector<std::size_t> rows_max = {0, 5, 1'000'000, 1'000'000};
    drawn.history_rows_max = aside.pick(rows_max);
    static const std::vector<std::size_t> answer_bytes_max = {0, 0, 600, 5'000};
    drawn.faults.etcd.answer_bytes_max = aside.pick(answer_bytes_max);
    const auto often = [&] { return aside.between(ttl * 4, ttl * 30); };
    if (aside.chance(0.2)) drawn.faults.lease_revoked_every = often();
    if (aside.chance(0.3)) drawn.faults.stop_in_takeover = aside.chance(0.5) ? 0.02 : 0.2;
    if (aside.chance(0.2)) drawn.faults.key_removed_every = often();
    if (aside.chance(0.3)) drawn.faults.new_epoch_every = often();
    // Leases are long here, and most of the steps of a world would be renewals.
    drawn.renewed_every = aside.chance(0.02) ? 500ms : ttl / 4;
    return drawn;
}

std::string to_text(const ClusterSettings& settings) {
    const ClusterFaults& faults = settings.faults;
    std::string text = fmt::format("cluster ttl {}", settings.ttl);
    const auto add = [&text](const char* name, auto value) {
        if (value != decltype(value){})
            fmt::format_to(std::back_inserter(text), ", {} {}", name, value);
    };
    add("lease renewed every", settings.renewed_every);
    add("history rows", settings.history_rows_max);
    add("etcd loss", faults.etcd.loss);
    add("etcd repetition", faults.etcd.repetition);
    add("etcd late", faults.etcd.late);
    add("etcd delay", faults.etcd.delay_max);
    add("late lease ends", faults.etcd.lease_lateness_max);
    add("clock drift", faults.etcd.clock_drift);
    add("stale reads", faults.etcd.has_stale_reads);
    add("wandering", faults.etcd.wandering);
    add("lost events", faults.etcd.lost_events);
    add("bytes in an answer", faults.etcd.answer_bytes_max);
    add("member down", faults.member_down_every);
    add("member cut", faults.member_cut_every);
    add("member lag", faults.member_lag_every);
    add("etcd leader lost", faults.leader_lost_every);
    add("etcd full", faults.full_every);
    add("line cut", faults.line_cut_every);
    add("hop cut", faults.hop_cut_every);
    add("resign", faults.resign_every);
    add("live lease ended", faults.lease_revoked_every);
    add("key removed", faults.key_removed_every);
    add("new epoch", faults.new_epoch_every);
    add("stop in a takeover", faults.stop_in_takeover);
    return text;
}

}  // namespace holdfast::sim

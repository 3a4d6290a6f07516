#include "sim/settings.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <chrono>

namespace holdfast::sim {

using namespace std::chrono_literals;

namespace {

enum class Fault : std::uint8_t {
    loss,
    duplication,
    delay,
    hang_up,
    client_pause,
    client_crash,
    server_pause,
    server_crash,
    crash_around_commit,
    wall_step,
    disk_trouble,
    slow_disk,
    late_timer,
    unknown_commit,
    slow_recovery,
    authority_lost,
    deposed,
};
constexpr std::uint64_t fault_count = 17;

void add_fault(Fault fault, core::Duration ttl, Random& random, Faults& faults) {
    const auto often = [&] { return random.between(ttl * 2, ttl * 20); };
    switch (fault) {
        case Fault::loss: faults.loss = random.chance(0.5) ? 0.02 : 0.2; break;
        case Fault::duplication: faults.duplication = random.chance(0.5) ? 0.05 : 0.3; break;
        case Fault::delay: faults.delay_max = random.between(ttl / 10, ttl * 2); break;
        case Fault::hang_up: faults.hang_up_every = often(); break;
        case Fault::client_pause: faults.client_pause_every = often(); break;
        case Fault::client_crash: faults.client_crash_every = often(); break;
        case Fault::server_pause: faults.server_pause_every = often() * 2; break;
        case Fault::server_crash:
            faults.server_crash_every = often();
            if (random.chance(0.3)) faults.reboot = 0.3;
            break;
        case Fault::crash_around_commit:
            faults.crash_around_commit = random.chance(0.5) ? 0.005 : 0.03;
            break;
        case Fault::wall_step: faults.wall_step_every = often(); break;
        case Fault::disk_trouble: faults.disk_trouble_every = often(); break;
        case Fault::slow_disk: faults.disk_delay_max = random.between(ttl / 10, ttl); break;
        case Fault::late_timer: faults.timer_lateness_max = random.between(1ms, ttl / 4); break;
        case Fault::unknown_commit:
            faults.unknown_commit = random.chance(0.5) ? 0.005 : 0.03;
            break;
        case Fault::slow_recovery: faults.recovery_delay_max = random.between(1ms, ttl); break;
        case Fault::authority_lost: faults.authority_lost_every = often(); break;
        case Fault::deposed: faults.deposed = 0.005; break;
    }
}

Faults draw_faults(core::Duration ttl, Random& random) {
    Faults faults;
    const std::uint64_t kind = random.below(8);
    if (kind == 0) return faults;
    if (kind <= 3) {  // one thing only
        add_fault(static_cast<Fault>(random.below(fault_count)), ttl, random, faults);
        return faults;
    }
    const double share = kind <= 5 ? 0.25 : 0.6;
    for (std::uint64_t fault = 0; fault < fault_count; ++fault) {
        if (random.chance(share)) add_fault(static_cast<Fault>(fault), ttl, random, faults);
    }
    return faults;
}

std::vector<LockTarget> draw_targets(Random& random) {
    using core::Scope;
    static const std::vector<LockTarget> all = {
        {.scope = Scope::named("job")},
        {.scope = Scope::named("leader")},
        {.scope = Scope::semaphore("pool"), .limit = 2},
        {.scope = Scope::semaphore("job"), .limit = 3},
        {.scope = Scope::path("/etc/hosts")},
        {.scope = Scope::of_inode(7)},
        {.scope = Scope::of_range(7, {0, 100})},
        {.scope = Scope::of_range(7, {50, 150})},
        {.scope = Scope::of_range(7, {100, core::Range::end_of_file})},
    };
    std::vector<LockTarget> targets{random.pick(all)};
    const std::uint64_t more = random.below(5);
    for (std::uint64_t index = 0; index < more; ++index) targets.push_back(random.pick(all));
    return targets;
}

}  // namespace

Settings Settings::draw(Random& random) {
    static const std::vector<core::Duration> ttls = {500ms, 2s, 10s, 30s, 5min};
    Settings settings;
    settings.ttl = random.pick(ttls);
    settings.faults = draw_faults(settings.ttl, random);
    settings.targets = draw_targets(random);
    settings.crowd = {.workers = 1 + random.below(5),
                      .homelab = random.below(3),
                      .sessions = random.below(3),
                      .admins = random.below(2)};
    if (random.chance(0.3)) settings.idle_retention = settings.ttl / 2;
    if (random.chance(0.4)) settings.transient_share = random.chance(0.5) ? 0.1 : 0.6;
    settings.is_volatile = random.chance(0.1);
    if (settings.is_volatile) {
        settings.faults.server_crash_every = core::Duration::zero();
        settings.faults.crash_around_commit = 0;
        settings.faults.authority_lost_every = core::Duration::zero();
    }
    if (random.chance(0.3)) settings.commit_changes_max = 1 + random.below(4);
    settings.steps_max = 300 + random.below(random.chance(0.1) ? 10'000 : 2'000);
    settings.time_max = settings.ttl * 400;
    // From numbers of their own, so that worlds without these clients are as they were.
    Random aside = random;
    if (aside.chance(0.3)) {
        settings.crowd.collectors = aside.below(4);
        settings.crowd.crosswise = aside.below(4);
    }
    if (aside.chance(0.3)) settings.crowd.candidates = 1 + aside.below(3);
    if (aside.chance(0.3)) settings.visits_max = 1 + aside.below(12);
    return settings;
}

std::string to_text(const Settings& settings) {
    const Faults& faults = settings.faults;
    std::string text = fmt::format("ttl {}", settings.ttl);
    const auto add = [&text](const char* name, auto value) {
        if (value != decltype(value){})
            fmt::format_to(std::back_inserter(text), ", {} {}", name, value);
    };
    add("loss", faults.loss);
    add("duplication", faults.duplication);
    add("delay", faults.delay_max);
    add("hang-up", faults.hang_up_every);
    add("client pause", faults.client_pause_every);
    add("client crash", faults.client_crash_every);
    add("server pause", faults.server_pause_every);
    add("server crash", faults.server_crash_every);
    add("crash around commit", faults.crash_around_commit);
    add("reboot", faults.reboot);
    add("wall step", faults.wall_step_every);
    add("disk trouble", faults.disk_trouble_every);
    add("slow disk", faults.disk_delay_max);
    add("late timer", faults.timer_lateness_max);
    add("unknown commit", faults.unknown_commit);
    add("slow recovery", faults.recovery_delay_max);
    add("authority lost", faults.authority_lost_every);
    add("deposed", faults.deposed);
    if (settings.commit_changes_max != SIZE_MAX) add("commit changes", settings.commit_changes_max);
    if (settings.visits_max < 100) add("records in a call", settings.visits_max);
    add("transient", settings.transient_share);
    if (settings.is_volatile) text += ", memory only";
    return text;
}

}  // namespace holdfast::sim

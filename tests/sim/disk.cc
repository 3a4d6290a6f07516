#include "sim/disk.h"

#include <algorithm>
#include <utility>

#include "sim/history_check.h"

namespace holdfast::sim {

using namespace std::chrono_literals;

void Disk::apply(const Write& write) {
    for (const store::LeaseRow& row : write.puts) {
        rows.insert_or_assign(row.fence, row);
        written.insert(row.fence);
    }
    written.insert(write.briefly_kept.begin(), write.briefly_kept.end());
    for (const std::uint64_t fence : write.holds) ++history[fence];
    for (const std::uint64_t fence : write.ends) rows.erase(fence);
    last_token = std::max(last_token, write.last_token);
    for (const service::FenceMark& mark : write.fences) {
        if (mark.highest == 0) {
            fences.erase(mark.resource);
        } else {
            fences[mark.resource] = mark.highest;
        }
    }
}

std::string Disk::fault_of_history() const {
    const auto is_held = [this](std::uint64_t fence) {
        const auto row = rows.find(fence);
        return row != rows.end() && row->second.state == core::LeaseState::held;
    };
    return find_fault({.rows = history, .written = written, .is_held = is_held});
}

void DiskStore::recover(service::OnRecoveredLease on_lease, service::RecoverDone done) {
    if (parts_.faults.recovery_delay_max == core::Duration::zero()) return done(read(on_lease));
    const core::Duration delay =
        parts_.world.random().between(core::Duration::zero(), parts_.faults.recovery_delay_max);
    hooks_.in_turn(delay, [this, on_lease = std::move(on_lease), done = std::move(done)] {
        done(read(on_lease));
    });
}

service::StoreResult<service::Recovered> DiskStore::read(
    const service::OnRecoveredLease& on_lease) {
    Disk& disk = parts_.disk;
    if (disk.trouble) return tl::unexpected(*disk.trouble);
    if (disk.in_doubt) {
        const bool is_there = parts_.world.random().chance(0.5);
        parts_.world.note("disk: the write in doubt is {}", is_there ? "there" : "not there");
        if (is_there) disk.apply(*disk.in_doubt);
        disk.in_doubt.reset();
    }
    if (const std::string fault = disk.fault_of_history(); !fault.empty()) {
        parts_.world.accuse(13, fault);
    }
    hooks_.on_recovering();
    disk.starts.push_back({.number = static_cast<std::int64_t>(disk.starts.size()) + 1,
                           .at = parts_.machine.boot_clock()});
    const store::LeaseAges ages(disk.starts);
    service::Recovered recovered{.next_fence = disk.last_token + 1};
    for (const auto& [fence, row] : disk.rows) {
        const auto members = core::parse_set(row.members).value();
        const core::RestoreRequest request = store::to_request(row, members, ages, parts_.machine);
        if (!on_lease(request)) {
            parts_.world.accuse(
                1, "what was written cannot all be held at once: #" + std::to_string(fence));
            return tl::unexpected(service::StoreFailure{.message = "it makes no sense"});
        }
        hooks_.on_restored(request);
        recovered.next_fence = std::max(recovered.next_fence, fence + 1);
        ++recovered.leases;
    }
    for (const auto& [resource, highest] : disk.fences) {
        recovered.fences.push_back({.resource = resource, .highest = highest});
    }
    hooks_.on_recovered();
    return recovered;
}

void DiskStore::commit(const service::Commit& commit, service::CommitDone done) {
    hooks_.on_commit(commit);
    parts_.disk.in_doubt = to_write(commit);
    if (is_time_to_crash()) return;
    const core::Duration usual = parts_.world.random().between(50us, 5ms);
    const core::Duration extra =
        parts_.world.random().between(core::Duration::zero(), parts_.faults.disk_delay_max);
    hooks_.later(usual + extra, [this, done = std::move(done)] { land(done); });
}

// The write reaches the disk, or cannot.
void DiskStore::land(const service::CommitDone& done) {
    Disk& disk = parts_.disk;
    disk.last_landed = parts_.world.now();
    using FailureKind = service::StoreFailure::Kind;
    const auto fail = [&](const service::StoreFailure& failure) {
        hooks_.on_failure();
        done(tl::unexpected(failure));
    };
    if (disk.trouble) {
        parts_.world.note("disk: a commit failed");
        if (disk.trouble->kind == FailureKind::not_done) disk.in_doubt.reset();
        return fail(*disk.trouble);
    }
    if (parts_.world.random().chance(parts_.faults.unknown_commit)) {
        parts_.world.note("disk: the result of a commit is unknown");
        return fail({.kind = FailureKind::unknown, .message = "no answer"});
    }
    if (parts_.world.random().chance(parts_.faults.deposed)) {
        parts_.world.note("disk: another server has it");
        hooks_.on_deposed();
        return fail({.kind = FailureKind::deposed, .message = "another server has the disk"});
    }
    disk.apply(*std::exchange(disk.in_doubt, std::nullopt));
    if (!is_time_to_crash()) done({});
}

Disk::Write DiskStore::to_write(const service::Commit& commit) {
    effect_.compute(commit);
    Disk::Write write{.last_token = std::max(effect_.last_fence(), effect_.reserved_fence()),
                      .fences = effect_.fences()};
    const auto start = static_cast<std::int64_t>(parts_.disk.starts.size());
    const service::WallTime epoch = parts_.machine.wall(core::Time{});
    for (const service::CommitEffect::Put& put : effect_.puts()) {
        write.puts.push_back(store::to_row<store::LeaseRow>(*put.change, epoch, start));
    }
    for (const core::Event* const end : effect_.ends()) {
        write.ends.push_back(core::as_number(end->lease.token.fence));
    }
    for (const core::Event* const end : effect_.holds()) {
        write.holds.push_back(core::as_number(end->lease.token.fence));
    }
    for (const core::Event& change : commit.changes) {
        if (change.kind != core::EventKind::renewed || !core::is_kept(change)) continue;
        const std::uint64_t fence = core::as_number(change.lease.token.fence);
        if (std::ranges::count(write.holds, fence) > 0) write.briefly_kept.push_back(fence);
    }
    return write;
}

bool DiskStore::is_time_to_crash() {
    if (!parts_.world.random().chance(parts_.faults.crash_around_commit)) return false;
    hooks_.crash();
    return true;
}

}  // namespace holdfast::sim

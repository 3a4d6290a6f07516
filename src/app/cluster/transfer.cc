#include "app/cluster/transfer.h"

#include <algorithm>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/values/changes.h"

namespace holdfast::app {

namespace {

// So many leases go into one commit.
constexpr std::size_t commit_leases = 1000;

// The grant of a lease that was restored, as if it happened now. `members` is the text of its set.
core::Event grant_of(const core::RestoreRequest& lease, std::string_view members, core::Time now) {
    core::Event event;
    event.kind = core::EventKind::granted;
    event.at = now;
    event.lease = {
        .scope = lease.scope,
        .owner = lease.owner,
        .mode = lease.mode,
        .token = lease.token,
        .acquired_at = lease.acquired_at,
        .expires_at = core::add_saturating(now, lease.ttl),
        .grace_until = core::add_saturating(core::add_saturating(now, lease.ttl), lease.grace),
        .ttl = lease.ttl,
        .version = lease.version,
        .notes = lease.notes,
        .members = members,
        .value = lease.value,
        .revision = lease.revision};
    event.grace = lease.grace;
    event.memory = lease.memory;
    event.limit = lease.limit;
    return event;
}

// What a lease in grace has gone through since its grant.
core::Event expiry_of(const core::RestoreRequest& lease, std::string_view members, core::Time now) {
    core::Event event = grant_of(lease, members, now);
    event.kind = core::EventKind::expired;
    event.lease.state = core::LeaseState::grace;
    event.lease.expires_at = now;
    event.lease.grace_until = now + lease.remaining;
    return event;
}

// One transfer. Keeps itself alive until it has called `done`.
class Transfer : public std::enable_shared_from_this<Transfer> {
  public:
    // The order is that of cp. NOLINTNEXTLINE(bugprone-easily-swappable-parameters)
    Transfer(service::Store& from, service::Store& to, const service::Clock& clock,
             service::Executor& executor, TransferDone done)
        : from_(from), to_(to), clock_(clock), executor_(executor), done_(std::move(done)) {}

    void start() {
        from_.recover(
            [this](const core::RestoreRequest& lease) { return read(lease); },
            [self = shared_from_this()](service::StoreResult<service::Recovered> recovered) {
                self->recovered_ = std::move(recovered);
                self->executor_.post([self] { self->open_destination(); });
            });
    }

  private:
    bool read(const core::RestoreRequest& lease) {
        if (commits_.empty() || commits_.back().changes.size() >= commit_leases) {
            commits_.emplace_back();
        }
        core::Changes& changes = commits_.back().changes;
        const std::string members = core::set_to_text(lease.members);
        changes.add(grant_of(lease, members, clock_.now()));
        if (lease.is_in_grace) changes.add(expiry_of(lease, members, clock_.now()));
        return true;
    }

    void open_destination() {
        if (!recovered_) return fail("cannot read the locks", recovered_.error());
        to_.recover([](const core::RestoreRequest& /*lease*/) { return true; },
                    [self = shared_from_this()](service::StoreResult<service::Recovered> there) {
                        self->executor_.post(
                            [self, there = std::move(there)] { self->begin_writing(there); });
                    });
    }

    // The last commit has what is not in the leases.
    void begin_writing(const service::StoreResult<service::Recovered>& there) {
        if (!there) return fail("cannot open the destination", there.error());
        if (there->leases > 0 || !there->fences.empty()) {
            return done_(
                base::fail("the destination has locks or fences already: choose an empty one"));
        }
        recovered_->next_fence = std::max(recovered_->next_fence, there->next_fence);
        service::Commit last;
        last.fences = recovered_->fences;
        last.reserved_fence = recovered_->next_fence - 1;
        commits_.push_back(std::move(last));
        write_next();
    }

    void write_next() {
        if (written_ == commits_.size()) {
            return done_(Transferred{.leases = recovered_->leases,
                                     .fences = recovered_->fences.size(),
                                     .next_fence = recovered_->next_fence});
        }
        service::Commit& commit = commits_[written_];
        commit.number = service::CommitNumber{written_ + 1};
        to_.commit(commit, [self = shared_from_this()](const service::StoreResult<void>& result) {
            self->executor_.post([self, result] {
                if (!result) return self->fail("cannot write the locks", result.error());
                ++self->written_;
                self->write_next();
            });
        });
    }

    void fail(const std::string& what, const service::StoreFailure& why) {
        done_(base::fail(what + ": " + why.message));
    }

    service::Store& from_;
    service::Store& to_;
    const service::Clock& clock_;
    service::Executor& executor_;
    const TransferDone done_;
    service::StoreResult<service::Recovered> recovered_;
    std::vector<service::Commit> commits_;
    std::size_t written_ = 0;
};

}  // namespace

void transfer(service::Store& from, service::Store& to, const service::Clock& clock,
              service::Executor& executor, TransferDone done) {
    std::make_shared<Transfer>(from, to, clock, executor, std::move(done))->start();
}

}  // namespace holdfast::app

#include "cluster/leading/new_epoch.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "cluster/records/records.h"

namespace holdfast::cluster {

namespace {

using etcd::Compare;
using etcd::Operation;
using Done = std::function<void(base::Result<std::uint64_t>)>;

constexpr etcd::Api::Duration raise_timeout = std::chrono::seconds{1};
// Of reading and raising: every member is asked twice, or five leaders are elected meanwhile.
constexpr int attempts_max = 6;

struct Values {
    std::uint64_t epoch = 0;
    Counter counter;
};

base::Result<Values> read_values(const etcd::TransactionAnswer& answer) {
    const auto& ranges = answer.ranges;
    if (ranges.size() != 2 || ranges[0].found.empty() || ranges[1].found.empty()) {
        return base::fail("there is no cluster below this prefix");
    }
    Values values;
    TRY(values.epoch, parse_epoch(ranges[0].found.front().value));
    TRY(values.counter, parse_counter(ranges[1].found.front().value));
    return values;
}

Values raised(const Values& before, service::WallTime now) {
    const auto wall =
        static_cast<std::uint64_t>(std::max<std::int64_t>(now.time_since_epoch().count(), 0));
    const std::uint64_t fence = std::max(before.counter.fence, wall) + fences_skipped;
    return {.epoch = before.epoch + epochs_skipped,
            .counter = {.number = before.counter.number + commits_skipped, .fence = fence}};
}

// One attempt after the other, until it is known what became of it.
class Raise : public std::enable_shared_from_this<Raise> {
  public:
    Raise(etcd::Api& etcd, const Keys& keys, NewEpoch wanted, Done done)
        : etcd_(etcd), keys_(keys), wanted_(std::move(wanted)), done_(std::move(done)) {}

    void read() {
        auto look = std::make_shared<etcd::Transaction>();
        look->then = {Operation::range(keys_.epoch()), Operation::range(keys_.counter())};
        etcd_.transact(std::move(look), raise_timeout,
                       [self = shared_from_this()](const auto& answer) { self->on_read(answer); });
    }

  private:
    void on_read(const etcd::Answer<etcd::TransactionAnswer>& answer) {
        if (!answer) return try_again(answer.error());
        const auto before = read_values(*answer);
        if (!before) return done_(base::fail(before.error().message));
        // An attempt whose answer did not come, or another operator, has raised it.
        if (attempted_ && before->epoch >= *attempted_) return done_(before->epoch);
        if (why_full_) return done_(base::fail(*why_full_));
        const Values after = raised(*before, wanted_.now);
        if (after.counter.fence >= core::as_number(core::fence_max)) {
            return done_(base::fail("no fencing numbers are left to skip"));
        }
        attempted_ = after.epoch;
        etcd_.transact(make_transaction(*before, after), raise_timeout,
                       [self = shared_from_this(), after](const auto& raised) {
                           self->on_raised(raised, after.epoch);
                       });
    }

    // Only if no leader has begun since the values were read. Commits that came in between are far below
    // the counter that is written here.
    [[nodiscard]] std::shared_ptr<const etcd::Transaction> make_transaction(
        const Values& before, const Values& after) const {
        auto transaction = std::make_shared<etcd::Transaction>();
        transaction->conditions = {{.target = Compare::Target::value,
                                    .key = keys_.epoch(),
                                    .value = std::to_string(before.epoch)}};
        transaction->then = {Operation::put(keys_.epoch(), std::to_string(after.epoch)),
                             Operation::put(keys_.counter(), to_text(after.counter)),
                             Operation::put(keys_.secret(), wanted_.secret)};
        return transaction;
    }

    void on_raised(const etcd::Answer<etcd::TransactionAnswer>& answer, std::uint64_t epoch) {
        if (!answer) {
            if (answer.error().kind == etcd::Failure::Kind::no_space) {
                why_full_ = answer.error().message;
            }
            return try_again(answer.error());
        }
        if (answer->is_true) return done_(epoch);
        try_again({.message = "other nodes begin to lead all the time: try again"});
    }

    void try_again(const etcd::Failure& failure) {
        const bool is_final = failure.kind == etcd::Failure::Kind::rejected;
        if (is_final || ++attempts_ >= attempts_max) return done_(base::fail(failure.message));
        read();
    }

    etcd::Api& etcd_;
    const Keys keys_;
    const NewEpoch wanted_;
    const Done done_;
    int attempts_ = 0;
    std::optional<std::uint64_t> attempted_;  // the epoch of the last attempt
    std::optional<std::string> why_full_;
};

}  // namespace

void raise_epoch(etcd::Api& etcd, const Keys& keys, NewEpoch wanted, Done done) {
    std::make_shared<Raise>(etcd, keys, std::move(wanted), std::move(done))->read();
}

}  // namespace holdfast::cluster

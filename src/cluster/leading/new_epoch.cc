#include "cluster/leading/new_epoch.h"

#include <algorithm>
#include <memory>
#include <string>
#include <utility>

#include "cluster/records/records.h"

namespace holdfast::cluster {

namespace {

using etcd::Compare;
using etcd::Operation;
using Done = std::function<void(base::Result<std::uint64_t>)>;

constexpr etcd::Api::Duration raise_timeout = std::chrono::seconds{5};

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

// Only if nothing has changed since it was read.
std::shared_ptr<const etcd::Transaction> make_raise(const Keys& keys, const Values& before,
                                                    const Values& after) {
    auto transaction = std::make_shared<etcd::Transaction>();
    transaction->conditions = {{.target = Compare::Target::value,
                                .key = keys.epoch(),
                                .value = std::to_string(before.epoch)},
                               {.target = Compare::Target::value,
                                .key = keys.counter(),
                                .value = to_text(before.counter)}};
    transaction->then = {Operation::put(keys.epoch(), std::to_string(after.epoch)),
                         Operation::put(keys.counter(), to_text(after.counter)),
                         Operation::remove(keys.leader())};
    return transaction;
}

}  // namespace

void raise_epoch(etcd::Api& etcd, const Keys& keys, service::WallTime now, Done done) {
    auto look = std::make_shared<etcd::Transaction>();
    look->then = {Operation::range(keys.epoch()), Operation::range(keys.counter())};
    const auto raise = [&etcd, &keys, now,
                        done = std::move(done)](const etcd::Answer<etcd::TransactionAnswer>& seen) {
        if (!seen) return done(base::fail(seen.error().message));
        const auto before = read_values(*seen);
        if (!before) return done(base::fail(before.error().message));
        const Values after = raised(*before, now);
        if (after.counter.fence >= core::as_number(core::fence_max)) {
            return done(base::fail("no fencing numbers are left to skip"));
        }
        etcd.transact(make_raise(keys, *before, after), raise_timeout,
                      [done, after](const etcd::Answer<etcd::TransactionAnswer>& answer) {
                          if (!answer) return done(base::fail(answer.error().message));
                          if (answer->is_true) return done(after.epoch);
                          done(base::fail("a leader has committed meanwhile: try again"));
                      });
    };
    etcd.transact(std::move(look), raise_timeout, raise);
}

}  // namespace holdfast::cluster

#pragma once

// An etcd for tests: keys with their history, transactions, leases and watches, in memory and in
// virtual time. And the Api of one node to it, which can lose requests and answers.

#include <algorithm>
#include <chrono>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/check.h"
#include "cluster/timers.h"
#include "etcd/api.h"
#include "service/ports/clock.h"

namespace holdfast::cluster::testing {

using namespace std::chrono_literals;

class FakeEtcd {
  public:
    explicit FakeEtcd(const service::Clock& clock) : clock_(clock) {}

    // ---- What it does ----
    etcd::Answer<etcd::RangeAnswer> range(const etcd::RangeRequest& request) {
        const etcd::Revision at = request.revision == 0 ? revision_ : request.revision;
        if (at < compacted) return fail(etcd::Failure::Kind::compacted, "compacted");
        etcd::RangeAnswer answer{.revision = revision_};
        auto entry = history_.lower_bound(request.key);
        for (; entry != history_.end() && is_in(entry->first, request.key, request.range_end);
             ++entry) {
            if (auto found = find_at(entry->second, at)) answer.found.push_back(*found);
        }
        answer.count = static_cast<std::int64_t>(answer.found.size());
        answer.has_more = request.limit > 0 && answer.count > request.limit;
        if (answer.has_more) answer.found.resize(static_cast<std::size_t>(request.limit));
        return answer;
    }

    etcd::Answer<etcd::TransactionAnswer> transact(const etcd::Transaction& transaction) {
        const bool is_refused = is_full && has_put(transaction);
        if (is_refused && done_though_full == 0) {
            return fail(etcd::Failure::Kind::no_space, "database space exceeded");
        }
        if (is_refused) --done_though_full;
        if (!knows_leases_of(transaction)) {
            return fail(etcd::Failure::Kind::no_lease, "requested lease not found");
        }
        std::set<std::string> changed;
        check(transaction, changed);
        etcd::TransactionAnswer answer;
        const etcd::Revision next = revision_ + 1;
        answer.is_true = is_true(transaction);
        run(answer.is_true ? transaction.then : transaction.otherwise, next, &answer.ranges);
        answer.revision = revision_;
        for (etcd::RangeAnswer& read : answer.ranges) read.revision = revision_;
        if (is_refused) return fail(etcd::Failure::Kind::no_space, "database space exceeded");
        return answer;
    }

    etcd::Answer<etcd::LeaseAnswer> grant(std::chrono::seconds ttl) {
        if (is_full) return fail(etcd::Failure::Kind::no_space, "database space exceeded");
        leases_[++last_lease_] = {.ttl = ttl, .ends = clock_.now() + ttl};
        return etcd::LeaseAnswer{.id = last_lease_, .ttl_seconds = ttl.count()};
    }
    etcd::Answer<etcd::LeaseAnswer> keep_alive(etcd::LeaseId id) {
        const auto lease = leases_.find(id);
        if (lease == leases_.end()) return etcd::LeaseAnswer{.id = id, .ttl_seconds = 0};
        lease->second.ends = clock_.now() + lease->second.ttl;
        return etcd::LeaseAnswer{.id = id, .ttl_seconds = lease->second.ttl.count()};
    }
    void revoke(etcd::LeaseId id) {
        if (leases_.erase(id) == 0) return;
        std::vector<std::string> gone;
        for (const auto& [key, versions] : history_) {
            if (auto now = find_at(versions, revision_); now && now->lease == id) {
                gone.push_back(key);
            }
        }
        if (gone.empty()) return;
        ++revision_;
        for (const std::string& key : gone) remove(key, revision_);
    }
    // Ends the leases whose time is over.
    void expire() {
        std::vector<etcd::LeaseId> over;
        for (const auto& [id, lease] : leases_) {
            if (lease.ends <= clock_.now()) over.push_back(id);
        }
        for (const etcd::LeaseId id : over) revoke(id);
    }

    // ---- For tests ----
    [[nodiscard]] std::string value(const std::string& key) {
        const auto found = range({.key = key})->found;
        return found.empty() ? "" : found.front().value;
    }
    [[nodiscard]] std::vector<std::string> keys(const std::string& prefix) {
        std::vector<std::string> keys;
        const auto answer = range({.key = prefix, .range_end = etcd::end_of_prefix(prefix)});
        for (const etcd::KeyValue& found : answer->found) keys.push_back(found.key);
        return keys;
    }
    void put(const std::string& key, const std::string& value, etcd::LeaseId lease = 0) {
        put(etcd::Operation::put(key, value, lease), ++revision_);
    }
    void erase(const std::string& key) { remove(key, ++revision_); }
    [[nodiscard]] etcd::Revision revision() const { return revision_; }

    bool is_full = false;
    // So many more transactions are done, although they are answered as if they were not.
    int done_though_full = 0;
    etcd::Revision compacted = 0;
    // Told of every change.
    std::vector<std::function<void(etcd::Revision, const etcd::WatchEvent&)>> watchers;

  private:
    struct Version {
        etcd::Revision at = 0;
        std::optional<etcd::KeyValue> entry;
    };
    using Versions = std::vector<Version>;
    struct Lease {
        core::Duration ttl{0};
        core::Time ends;
    };

    static tl::unexpected<etcd::Failure> fail(etcd::Failure::Kind kind, std::string why) {
        return tl::unexpected(etcd::Failure{.kind = kind, .message = std::move(why)});
    }
    static bool is_in(const std::string& key, const std::string& begin, const std::string& end) {
        return end.empty() ? key == begin : key >= begin && key < end;
    }
    static std::optional<etcd::KeyValue> find_at(const Versions& versions, etcd::Revision at) {
        std::optional<etcd::KeyValue> found;
        for (const Version& version : versions) {
            if (version.at <= at) found = version.entry;
        }
        return found;
    }
    static bool has_put(const etcd::Transaction& transaction) {
        for (const auto* branch : {&transaction.then, &transaction.otherwise}) {
            for (const auto& one : *branch) {
                if (one.kind == etcd::Operation::Kind::put) return true;
                if (one.nested && has_put(*one.nested)) return true;
            }
        }
        return false;
    }
    bool knows_leases_of(const etcd::Transaction& transaction) const {
        for (const auto& one : transaction.then) {
            if (one.lease != 0 && !leases_.contains(one.lease)) return false;
            if (one.nested && !knows_leases_of(*one.nested)) return false;
        }
        return true;
    }
    // What a real etcd refuses.
    static void check(const etcd::Transaction& transaction, std::set<std::string>& changed,
                      std::size_t around = 0) {
        around += std::max(transaction.then.size(), transaction.otherwise.size());
        CHECK(around <= 128);
        for (const auto& one : transaction.then) {
            const bool is_change =
                one.kind == etcd::Operation::Kind::put || one.kind == etcd::Operation::Kind::remove;
            if (is_change) CHECK(changed.insert(one.key).second);
            if (one.nested) check(*one.nested, changed, around);
        }
    }
    bool is_true(const etcd::Transaction& transaction) {
        for (const etcd::Compare& condition : transaction.conditions) {
            CHECK(condition.result == etcd::Compare::Result::equal);
            const auto found = find_at(history_[condition.key], revision_);
            const etcd::KeyValue entry = found.value_or(etcd::KeyValue{});
            if (condition.target == etcd::Compare::Target::value) {
                if (!found || entry.value != condition.value) return false;
            } else if (condition.target == etcd::Compare::Target::mod_revision) {
                if (entry.mod_revision != condition.number) return false;
            } else if (condition.target == etcd::Compare::Target::lease) {
                if (entry.lease != condition.number) return false;
            } else {
                CHECK(condition.target == etcd::Compare::Target::create_revision);
                if (entry.create_revision != condition.number) return false;
            }
        }
        return true;
    }
    void run(const std::vector<etcd::Operation>& operations, etcd::Revision next,
             std::vector<etcd::RangeAnswer>* ranges) {
        for (const etcd::Operation& one : operations) {
            switch (one.kind) {
                case etcd::Operation::Kind::range:
                    if (ranges != nullptr) ranges->push_back(*range({.key = one.key}));
                    break;
                case etcd::Operation::Kind::put:
                    revision_ = next;
                    put(one, next);
                    break;
                case etcd::Operation::Kind::remove:
                    if (!find_at(history_[one.key], revision_)) break;
                    revision_ = next;
                    remove(one.key, next);
                    break;
                case etcd::Operation::Kind::transaction: run(one.nested->then, next, nullptr);
            }
        }
    }
    void put(const etcd::Operation& operation, etcd::Revision at) {
        Versions& versions = history_[operation.key];
        const auto before = versions.empty() ? std::nullopt : versions.back().entry;
        etcd::KeyValue entry{.key = operation.key,
                             .value = operation.value,
                             .create_revision = before ? before->create_revision : at,
                             .mod_revision = at,
                             .version = before ? before->version + 1 : 1,
                             .lease = operation.lease};
        versions.push_back({.at = at, .entry = entry});
        for (const auto& watcher : watchers) watcher(at, {.entry = entry});
    }
    void remove(const std::string& key, etcd::Revision at) {
        history_[key].push_back({.at = at, .entry = std::nullopt});
        for (const auto& watcher : watchers)
            watcher(at, {.is_removal = true, .entry = {.key = key}});
    }

    const service::Clock& clock_;
    std::map<std::string, Versions> history_;
    std::map<etcd::LeaseId, Lease> leases_;
    etcd::LeaseId last_lease_ = 100;
    etcd::Revision revision_ = 1;
};

// The way of one node to it. Nothing travels before deliver().
class FakeApi final : public etcd::Api {
  public:
    // What happens to a request, by what the test returns for its name: `range`, `transact`, ...
    enum class Fate : std::uint8_t {
        answered,
        request_lost,  // not done, and the node does not know
        answer_lost,   // done, and the node does not know
        held,          // not done until release()
        rejected,
    };

    FakeApi(FakeEtcd& server, const service::Clock& clock) : server_(server), clock_(clock) {
        server_.watchers.push_back([this](etcd::Revision at, const etcd::WatchEvent& event) {
            for (auto& [id, watch] : watches_) {
                if (watch.key != event.entry.key || at < watch.start) continue;
                queue_.push_back([this, id = id, at, event] {
                    if (!is_cut_off && watches_.contains(id)) watches_[id].on_events(at, {event});
                });
            }
        });
    }

    void range(etcd::RangeRequest request, Duration timeout,
               etcd::OnAnswer<etcd::RangeAnswer> done) override {
        ranges.push_back(request);
        send<etcd::RangeAnswer>(
            "range", timeout, std::move(done),
            [this, request]() -> etcd::Answer<etcd::RangeAnswer> {
                auto answer = server_.range(request);
                if (!answer || bytes_of(*answer) <= answer_bytes_max) {
                    return answer;
                }
                return tl::unexpected(etcd::Failure{.kind = etcd::Failure::Kind::too_large,
                                                    .message = "the answer is too large"});
            });
    }
    void transact(std::shared_ptr<const etcd::Transaction> transaction, Duration timeout,
                  etcd::OnAnswer<etcd::TransactionAnswer> done) override {
        transactions.push_back(transaction);
        send<etcd::TransactionAnswer>(
            "transact", timeout, std::move(done),
            [this, transaction]() -> etcd::Answer<etcd::TransactionAnswer> {
                if (has_rejected_put(*transaction)) {
                    return tl::unexpected(etcd::Failure{.kind = etcd::Failure::Kind::rejected,
                                                        .message = "request is too large"});
                }
                return server_.transact(*transaction);
            });
    }
    void grant(etcd::LeaseId /*id*/, std::chrono::seconds ttl, Duration timeout,
               etcd::OnAnswer<etcd::LeaseAnswer> done) override {
        send<etcd::LeaseAnswer>("grant", timeout, std::move(done),
                                [this, ttl] { return server_.grant(ttl); });
    }
    void keep_alive(etcd::LeaseId id, Duration timeout,
                    etcd::OnAnswer<etcd::LeaseAnswer> done) override {
        send<etcd::LeaseAnswer>("keep_alive", timeout, std::move(done),
                                [this, id] { return server_.keep_alive(id); });
    }
    void revoke(etcd::LeaseId id, Duration timeout,
                etcd::OnAnswer<etcd::LeaseAnswer> done) override {
        send<etcd::LeaseAnswer>("revoke", timeout, std::move(done),
                                [this, id]() -> etcd::Answer<etcd::LeaseAnswer> {
                                    server_.revoke(id);
                                    return etcd::LeaseAnswer{.id = id};
                                });
    }
    void compact(etcd::Revision revision, Duration timeout,
                 etcd::OnAnswer<etcd::Revision> done) override {
        compactions.push_back(revision);
        send<etcd::Revision>("compact", timeout, std::move(done),
                             [this, revision]() -> etcd::Answer<etcd::Revision> {
                                 server_.compacted = revision;
                                 return server_.revision();
                             });
    }
    void status(Duration timeout, etcd::OnAnswer<etcd::StatusAnswer> done) override {
        send<etcd::StatusAnswer>(
            "status", timeout, std::move(done),
            [this]() -> etcd::Answer<etcd::StatusAnswer> { return status_answer; });
    }
    WatchId watch(std::string key, std::string /*range_end*/, etcd::Revision start,
                  OnEvents on_events, OnEnd on_end) override {
        watches_[++last_watch_] = {std::move(key), start, std::move(on_events), std::move(on_end)};
        return last_watch_;
    }
    void cancel(WatchId watch) override { watches_.erase(watch); }

    // ---- For tests ----

    // Lets everything travel that is under way.
    void deliver() {
        for (auto late = late_.begin(); late != late_.end();) {
            if (late->first > clock_.now()) {
                ++late;
                continue;
            }
            queue_.push_back(std::move(late->second));
            late = late_.erase(late);
        }
        while (!queue_.empty()) {
            const auto task = std::move(queue_.front());
            queue_.pop_front();
            task();
        }
    }
    void break_watches() {
        for (auto& [id, watch] : std::exchange(watches_, {})) {
            queue_.push_back([on_end = watch.on_end] { on_end({.message = "broken"}); });
        }
    }
    // What was held arrives at etcd; the node waits for it no more.
    void release() {
        for (const auto& request : std::exchange(held_, {})) request();
    }

    std::function<Fate(const std::string& name)> fate;  // empty: all are answered
    bool is_cut_off = false;                            // no request arrives
    std::vector<std::shared_ptr<const etcd::Transaction>> transactions;
    std::vector<etcd::RangeRequest> ranges;
    std::size_t answer_bytes_max = SIZE_MAX;  // a range with more has failed as too_large
    std::string rejected_prefix;              // a transaction that puts a key below it is rejected
    std::vector<etcd::Revision> compactions;
    etcd::StatusAnswer status_answer{.version = "3.5.28"};

  private:
    struct Watch {
        std::string key;
        etcd::Revision start = 0;
        OnEvents on_events;
        OnEnd on_end;
    };

    bool has_rejected_put(const etcd::Transaction& transaction) const {
        if (rejected_prefix.empty()) return false;
        return std::ranges::any_of(transaction.then, [this](const etcd::Operation& one) {
            if (one.nested) return has_rejected_put(*one.nested);
            return one.kind == etcd::Operation::Kind::put && one.key.starts_with(rejected_prefix);
        });
    }
    static std::size_t bytes_of(const etcd::RangeAnswer& answer) {
        std::size_t bytes = 0;
        for (const etcd::KeyValue& one : answer.found) bytes += one.key.size() + one.value.size();
        return bytes;
    }
    template <class T, class Do>
    void send(const std::string& name, Duration timeout, etcd::OnAnswer<T> done, Do run) {
        queue_.push_back([this, name, timeout, done = std::move(done), run] {
            const Fate what = is_cut_off ? Fate::request_lost : fate ? fate(name) : Fate::answered;
            if (what == Fate::answered) return done(run());
            if (what == Fate::rejected) {
                return done(tl::unexpected(etcd::Failure{.kind = etcd::Failure::Kind::rejected,
                                                         .message = "permission denied"}));
            }
            if (what == Fate::answer_lost) (void)run();
            if (what == Fate::held) held_.push_back([run] { (void)run(); });
            late_.emplace_back(clock_.now() + timeout, [done] {
                done(tl::unexpected(etcd::Failure{.message = "no answer from etcd"}));
            });
        });
    }

    FakeEtcd& server_;
    const service::Clock& clock_;
    std::deque<std::function<void()>> queue_;
    std::vector<std::pair<core::Time, std::function<void()>>> late_;
    std::vector<std::function<void()>> held_;
    std::map<WatchId, Watch> watches_;
    WatchId last_watch_ = 0;
};

class TestTimers final : public Timers {
  public:
    explicit TestTimers(const service::Clock& clock) : clock_(clock) {}
    [[nodiscard]] core::Time now() const override { return clock_.now(); }
    void set(core::Time time, std::function<void()> task) override {
        time_ = time;
        task_ = std::move(task);
    }
    void ring() {
        while (task_ && time_ <= clock_.now()) std::exchange(task_, nullptr)();
    }

  private:
    const service::Clock& clock_;
    core::Time time_;
    std::function<void()> task_;
};

}  // namespace holdfast::cluster::testing

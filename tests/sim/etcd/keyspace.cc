#include "sim/etcd/keyspace.h"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

namespace holdfast::sim {

using etcd::Compare;
using etcd::Failure;
using etcd::Operation;
using etcd::Revision;
using etcd::Transaction;

namespace {

bool is_within(std::string_view key, std::string_view first, std::string_view range_end) {
    if (range_end.empty()) return key == first;
    // A single zero byte means: to the end of all keys.
    const bool is_open = range_end.size() == 1 && range_end.front() == '\0';
    return key >= first && (is_open || key < range_end);
}

// What a branch changes: keys it puts, and ranges it removes.
struct Touched {
    std::set<std::string> puts;
    std::vector<std::pair<std::string, std::string>> removals;
    std::size_t bytes = 0;
};

// Looks whether etcd would take a transaction.
class Inspection {
  public:
    explicit Inspection(const Keyspace::HasLease& has_lease) : has_lease_(has_lease) {}

    [[nodiscard]] std::optional<Failure> inspect(const Transaction& transaction) {
        look_at(transaction);
        if (bytes_ > Keyspace::bytes_max) reject("request is too large");
        return failure_;
    }

  private:
    void reject(const char* why) {
        if (!failure_) failure_ = Failure{.kind = Failure::Kind::rejected, .message = why};
    }

    // Returns what the branches put: no key may also be put elsewhere in the transaction.
    Touched look_at(const Transaction& transaction) {
        constexpr std::size_t most = Keyspace::steps_max;
        if (std::max({transaction.conditions.size(), transaction.then.size(),
                      transaction.otherwise.size()}) > most) {
            reject("too many operations in txn request");
        }
        for (const Compare& condition : transaction.conditions) {
            bytes_ += condition.key.size() + condition.value.size();
        }
        Touched touched = look_at(transaction.then);
        Touched other = look_at(transaction.otherwise);
        touched.puts.merge(other.puts);  // one of the two is done: both may put the same
        std::ranges::move(other.removals, std::back_inserter(touched.removals));
        return touched;
    }

    Touched look_at(const std::vector<Operation>& steps) {
        Touched all;
        for (const Operation& step : steps) {
            bytes_ += step.key.size() + step.value.size();
            Touched one;
            if (step.kind == Operation::Kind::put) {
                one.puts.insert(step.key);
                if (step.lease != 0 && !has_lease_(step.lease)) refuse_lease();
            } else if (step.kind == Operation::Kind::remove) {
                one.removals.emplace_back(step.key, step.range_end);
            } else if (step.kind == Operation::Kind::transaction) {
                one = look_at(*step.nested);
            }
            join(all, std::move(one));
        }
        return all;
    }

    void join(Touched& all, Touched one) {
        const std::size_t sum = all.puts.size() + one.puts.size();
        all.puts.merge(one.puts);
        if (all.puts.size() != sum) reject("duplicate key given in txn request");
        std::ranges::move(one.removals, std::back_inserter(all.removals));
        for (const auto& [key, range_end] : all.removals) {
            const auto hit = range_end.empty() ? all.puts.find(key) : all.puts.lower_bound(key);
            if (hit != all.puts.end() && is_within(*hit, key, range_end)) {
                reject("duplicate key given in txn request");
            }
        }
    }

    void refuse_lease() {
        if (!failure_) {
            failure_ =
                Failure{.kind = Failure::Kind::no_lease, .message = "requested lease not found"};
        }
    }

    const Keyspace::HasLease& has_lease_;
    std::optional<Failure> failure_;
    std::size_t bytes_ = 0;
};

template <class T>
bool compares(Compare::Result result, const T& found, const T& wanted) {
    switch (result) {
        case Compare::Result::equal: return found == wanted;
        case Compare::Result::greater: return found > wanted;
        case Compare::Result::less: return found < wanted;
        case Compare::Result::not_equal: return found != wanted;
    }
    return false;
}

}  // namespace

bool has_put(const Transaction& transaction) {
    const auto puts = [](const Operation& step) {
        return step.kind == Operation::Kind::put ||
               (step.kind == Operation::Kind::transaction && has_put(*step.nested));
    };
    return std::ranges::any_of(transaction.then, puts) ||
           std::ranges::any_of(transaction.otherwise, puts);
}

const Keyspace::Version* Keyspace::version_at(const Versions& versions, Revision at) {
    const auto after = std::ranges::upper_bound(
        versions, at, {}, [](const Version& version) { return version.entry.mod_revision; });
    if (after == versions.begin()) return nullptr;
    const Version& version = *std::prev(after);
    return version.is_removal ? nullptr : &version;
}

const Keyspace::Version* Keyspace::find(const std::string& key) const {
    const auto found = keys_.find(key);
    if (found == keys_.end() || found->second.back().is_removal) return nullptr;
    return &found->second.back();
}

bool Keyspace::is_true(const Compare& condition) const {
    const Version* const version = find(condition.key);
    const etcd::KeyValue none;
    const etcd::KeyValue& entry = version == nullptr ? none : version->entry;
    const auto number = [&](std::int64_t found) {
        return compares(condition.result, found, condition.number);
    };
    switch (condition.target) {
        case Compare::Target::version: return number(entry.version);
        case Compare::Target::create_revision: return number(entry.create_revision);
        case Compare::Target::mod_revision: return number(entry.mod_revision);
        case Compare::Target::lease: return number(entry.lease);
        case Compare::Target::value: break;
    }
    return version != nullptr && compares(condition.result, entry.value, condition.value);
}

void Keyspace::decide(const Transaction& transaction, std::vector<bool>& decisions) const {
    const bool decision = std::ranges::all_of(
        transaction.conditions, [this](const Compare& condition) { return is_true(condition); });
    decisions.push_back(decision);
    for (const Operation& step : decision ? transaction.then : transaction.otherwise) {
        if (step.kind == Operation::Kind::transaction) decide(*step.nested, decisions);
    }
}

etcd::Answer<etcd::TransactionAnswer> Keyspace::transact(const Transaction& transaction,
                                                         const HasLease& has_lease) {
    if (auto failure = Inspection(has_lease).inspect(transaction)) {
        return tl::unexpected(std::move(*failure));
    }
    std::vector<bool> decisions;
    decide(transaction, decisions);
    etcd::TransactionAnswer answer{.is_true = decisions.front()};
    std::size_t index = 0;
    has_changed_ = false;
    perform(transaction, decisions, index, &answer);
    if (has_changed_) ++revision_;
    answer.revision = revision_;
    return answer;
}

// `answer` is null in a nested transaction: what its ranges find is not told.
void Keyspace::perform(const Transaction& transaction, const std::vector<bool>& decisions,
                       std::size_t& index, etcd::TransactionAnswer* answer) {
    const bool decision = decisions[index++];
    for (const Operation& step : decision ? transaction.then : transaction.otherwise) {
        switch (step.kind) {
            case Operation::Kind::put: put(step); break;
            case Operation::Kind::remove: remove(step.key, step.range_end); break;
            case Operation::Kind::transaction:
                perform(*step.nested, decisions, index, nullptr);
                break;
            case Operation::Kind::range:
                if (answer == nullptr) break;
                answer->ranges.push_back(
                    read({.key = step.key, .range_end = step.range_end}, revision_ + 1));
                break;
        }
    }
}

void Keyspace::add(const std::string& key, Version version) {
    has_changed_ = true;
    version.entry.mod_revision = revision_ + 1;
    bytes_ += static_cast<std::int64_t>(key.size() + version.entry.value.size()) + 100;
    keys_[key].push_back(std::move(version));
    changes_.push_back({.revision = revision_ + 1, .key = key});
}

void Keyspace::put(const Operation& step) {
    const Version* const before = find(step.key);
    const bool is_new = before == nullptr;
    add(step.key,
        {.entry = {.key = {},
                   .value = step.value,
                   .create_revision = is_new ? revision_ + 1 : before->entry.create_revision,
                   .version = is_new ? 1 : before->entry.version + 1,
                   .lease = step.lease}});
}

void Keyspace::remove(const std::string& key, const std::string& range_end) {
    std::vector<std::string> removed;
    for (auto at = keys_.lower_bound(key); at != keys_.end(); ++at) {
        if (!is_within(at->first, key, range_end)) break;
        if (!at->second.back().is_removal) removed.push_back(at->first);
    }
    for (const std::string& one : removed) add(one, {.entry = {}, .is_removal = true});
}

void Keyspace::remove_keys_of(etcd::LeaseId lease) {
    std::vector<std::string> bound;
    for (const auto& [key, versions] : keys_) {
        const Version& newest = versions.back();
        if (!newest.is_removal && newest.entry.lease == lease) bound.push_back(key);
    }
    for (const std::string& key : bound) add(key, {.entry = {}, .is_removal = true});
    if (!bound.empty()) ++revision_;
}

etcd::RangeAnswer Keyspace::read(const etcd::RangeRequest& request, Revision at) const {
    etcd::RangeAnswer answer{.revision = revision_};
    for (auto key = keys_.lower_bound(request.key); key != keys_.end(); ++key) {
        if (!is_within(key->first, request.key, request.range_end)) break;
        const Version* const version = version_at(key->second, at);
        if (version == nullptr) continue;
        ++answer.count;
        if (request.is_count_only) continue;
        if (request.limit > 0 && answer.count > request.limit) {
            answer.has_more = true;
            continue;
        }
        answer.found.push_back(version->entry);
        answer.found.back().key = key->first;
    }
    return answer;
}

etcd::Answer<etcd::RangeAnswer> Keyspace::range(const etcd::RangeRequest& request,
                                                Revision known) const {
    if (request.revision > known) {
        return tl::unexpected(Failure{.kind = Failure::Kind::not_done,
                                      .message = "required revision is a future revision"});
    }
    const Revision at = request.revision == 0 ? known : request.revision;
    // A member that has been left behind by a compaction has not compacted yet either.
    if (request.revision != 0 && request.revision < compacted_) {
        return tl::unexpected(Failure{.kind = Failure::Kind::compacted,
                                      .message = "required revision has been compacted"});
    }
    etcd::RangeAnswer answer = read(request, std::max(at, compacted_));
    answer.revision = known;
    return answer;
}

etcd::Answer<Revision> Keyspace::compact(Revision revision) {
    if (revision <= compacted_) {
        return tl::unexpected(Failure{.kind = Failure::Kind::compacted,
                                      .message = "required revision has been compacted"});
    }
    if (revision > revision_) {
        return tl::unexpected(Failure{.kind = Failure::Kind::not_done,
                                      .message = "required revision is a future revision"});
    }
    compacted_ = revision;
    std::erase_if(changes_, [&](const Change& change) { return change.revision <= revision; });
    bytes_ = 0;
    for (auto key = keys_.begin(); key != keys_.end();) {
        Versions& versions = key->second;
        const auto after = std::ranges::upper_bound(
            versions, revision, {},
            [](const Version& version) { return version.entry.mod_revision; });
        if (after != versions.begin()) {
            const auto kept = std::prev(after);
            versions.erase(versions.begin(), kept->is_removal ? after : kept);
        }
        for (const Version& version : versions) {
            bytes_ +=
                static_cast<std::int64_t>(key->first.size() + version.entry.value.size()) + 100;
        }
        key = versions.empty() ? keys_.erase(key) : std::next(key);
    }
    return revision_;
}

std::vector<etcd::WatchEvent> Keyspace::changes(Span span, std::string_view key,
                                                std::string_view range_end) const {
    std::vector<etcd::WatchEvent> events;
    const auto first = std::ranges::lower_bound(changes_, span.first, {}, &Change::revision);
    for (auto change = first; change != changes_.end(); ++change) {
        if (change->revision > span.last) break;
        if (!is_within(change->key, key, range_end)) continue;
        const Version* const version = version_at(keys_.at(change->key), change->revision);
        etcd::WatchEvent event{.is_removal = version == nullptr};
        if (version != nullptr) event.entry = version->entry;
        event.entry.key = change->key;
        event.entry.mod_revision = change->revision;
        events.push_back(std::move(event));
    }
    return events;
}

}  // namespace holdfast::sim

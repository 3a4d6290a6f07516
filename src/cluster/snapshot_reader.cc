#include "cluster/snapshot_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/log/log.h"
#include "base/text/hex.h"
#include "base/text/number.h"

namespace holdfast::cluster {

namespace {

constexpr std::size_t parallel_max = 4;
constexpr std::int64_t few = 500;  // so many leases or fences are read without looking at buckets
constexpr core::Duration reading_pause = std::chrono::milliseconds{100};
constexpr core::Duration reading_timeout = std::chrono::seconds{3};

// Of a page: keys in the first, keys in any, and bytes that are aimed at.
constexpr std::int64_t first_page_keys = 100;
constexpr std::int64_t page_keys_max = 1000;
constexpr std::size_t page_bytes = std::size_t{4} << 20U;

// Of the history, which is a by-product: values beyond this are not kept.
constexpr std::size_t history_bytes_max = std::size_t{32} << 20U;

// How many keys a page may have, by the size of those in `page`.
std::int64_t keys_in_next_page(const etcd::RangeAnswer& page) {
    std::size_t bytes = 0;
    for (const etcd::KeyValue& entry : page.found) bytes += entry.key.size() + entry.value.size();
    const std::size_t fitting = page_bytes * page.found.size() / std::max<std::size_t>(bytes, 1);
    return std::clamp<std::int64_t>(static_cast<std::int64_t>(fitting), 1, page_keys_max);
}

}  // namespace

struct SnapshotReader::Reading {
    etcd::Revision revision = 0;
    Done done;
    std::vector<Part> parts;  // that were not asked for yet, or must be asked for again; last first
    std::size_t under_way = 0;
    Snapshot snapshot;
    std::size_t history_bytes = 0;      // of the values that are kept
    std::size_t history_keys_only = 0;  // so many of the oldest entries have no value any more
};

void SnapshotReader::read(etcd::Revision revision, Done done) {
    reading_ = std::make_shared<Reading>();
    reading_->revision = revision;
    reading_->done = std::move(done);
    const auto add = [this](Kind kind, bool are_all_buckets, std::string key,
                            std::string range_end) {
        reading_->parts.push_back({.kind = kind,
                                   .are_all_buckets = are_all_buckets,
                                   .key = std::move(key),
                                   .range_end = std::move(range_end),
                                   .limit = first_page_keys});
    };
    constexpr int last = Keys::buckets - 1;
    add(Kind::history, false, keys_.histories(), etcd::end_of_prefix(keys_.histories()));
    add(Kind::fences, true, keys_.fences(0), etcd::end_of_prefix(keys_.fences(last)));
    add(Kind::leases, true, keys_.leases(0), etcd::end_of_prefix(keys_.leases(last)));
    add(Kind::epoch, false, keys_.epoch(), "");
    add(Kind::counter, false, keys_.counter(), "");
    ask_more();
}

void SnapshotReader::cancel() {
    slots_.clear(TimerSlots::Slot::reader);
    reading_.reset();
}

void SnapshotReader::ask_more() {
    while (reading_->under_way < parallel_max && !reading_->parts.empty()) {
        Part part = std::move(reading_->parts.back());
        reading_->parts.pop_back();
        ask(std::move(part));
    }
}

void SnapshotReader::ask(Part part) {
    etcd::RangeRequest request{.key = part.key, .range_end = part.range_end, .limit = part.limit};
    request.revision = reading_->revision;
    ++reading_->under_way;
    etcd_.range(std::move(request), reading_timeout,
                [this, part = std::move(part), reading = std::weak_ptr<Reading>(reading_)](
                    const etcd::Answer<etcd::RangeAnswer>& answer) {
                    if (!reading.expired()) on_answer(part, answer);
                });
}

void SnapshotReader::on_answer(Part part, const etcd::Answer<etcd::RangeAnswer>& answer) {
    --reading_->under_way;
    if (!answer) return on_failure(std::move(part), answer.error());
    if (auto taken = take(std::move(part), *answer); !taken) {
        return end(tl::unexpected(etcd::Failure{.kind = etcd::Failure::Kind::rejected,
                                                .message = std::move(taken).error().message}));
    }
    ask_more();
    if (reading_->under_way == 0) end({});
}

// Asks for the same page again, or for a smaller one.
void SnapshotReader::on_failure(Part part, const etcd::Failure& failure) {
    constexpr int told_at = 3, told_every = 30;
    const bool is_too_large = failure.kind == etcd::Failure::Kind::too_large;
    const bool is_final = failure.kind == etcd::Failure::Kind::compacted ||
                          failure.kind == etcd::Failure::Kind::rejected;
    if (is_final) return end(tl::unexpected(failure));
    if (is_too_large && part.limit == 1) {
        return end(tl::unexpected(etcd::Failure{
            .kind = etcd::Failure::Kind::rejected,
            .message =
                fmt::format("the first value from the key '{}' on is too large to be read: {}",
                            part.key, failure.message)}));
    }
    ++part.failures;
    // The first failures are those of one member, or of one moment.
    if (part.failures == told_at || part.failures % told_every == 0) {
        base::log(base::LogLevel::warning, "a part of what etcd has cannot be read; asking again",
                  {{"from", part.key},
                   {"keys", part.limit},
                   {"failures", std::int64_t{part.failures}},
                   {"why", failure.message}});
    }
    // No answer in time, several times, may mean that a page is too much for the line.
    if (is_too_large || part.failures % told_at == 0) {
        part.limit = std::max<std::int64_t>(1, std::min(part.limit, first_page_keys) / 2);
    }
    reading_->parts.push_back(std::move(part));
    slots_.set(TimerSlots::Slot::reader, slots_.now() + reading_pause, [this] { ask_more(); });
}

base::Result<void> SnapshotReader::take(Part part, const etcd::RangeAnswer& answer) {
    if (part.range_end.empty() && answer.found.empty()) {
        return base::fail("etcd has lost the counter of commits or the epoch of this cluster");
    }
    const bool has_more = answer.has_more && !answer.found.empty();
    const std::int64_t next_limit = keys_in_next_page(answer);
    if (has_more && part.are_all_buckets && answer.count > few) {
        add_buckets(part.kind, next_limit);
        return {};
    }
    for (const etcd::KeyValue& entry : answer.found) {
        TRY(take_entry(part.kind, entry));
    }
    if (!has_more) return {};
    part.are_all_buckets = false;
    part.key = answer.found.back().key + '\0';
    // A page that was found by halving does not grow to many times its size at once.
    constexpr std::int64_t growth = 4;
    part.limit = std::min(next_limit, part.limit * growth);
    part.failures = 0;
    reading_->parts.push_back(std::move(part));
    return {};
}

void SnapshotReader::add_buckets(Kind kind, std::int64_t limit) {
    for (int bucket = Keys::buckets - 1; bucket >= 0; --bucket) {
        const std::string prefix =
            kind == Kind::leases ? keys_.leases(bucket) : keys_.fences(bucket);
        reading_->parts.push_back({.kind = kind,
                                   .key = prefix,
                                   .range_end = etcd::end_of_prefix(prefix),
                                   .limit = limit});
    }
}

base::Result<void> SnapshotReader::take_entry(Kind kind, const etcd::KeyValue& entry) {
    if (kind == Kind::leases) return take_lease(entry);
    if (kind == Kind::fences) return take_fence(entry);
    if (kind == Kind::counter) {
        TRY(reading_->snapshot.counter, parse_counter(entry.value));
    }
    if (kind == Kind::epoch) {
        TRY(reading_->snapshot.epoch, parse_epoch(entry.value));
    }
    if (kind == Kind::history) take_history(entry);
    return {};
}

void SnapshotReader::take_history(const etcd::KeyValue& entry) {
    std::vector<etcd::KeyValue>& history = reading_->snapshot.history;
    history.push_back(entry);
    reading_->history_bytes += entry.value.size();
    while (reading_->history_bytes > history_bytes_max) {
        std::string& oldest = history[reading_->history_keys_only++].value;
        reading_->history_bytes -= oldest.size();
        std::string().swap(oldest);
    }
}

base::Result<void> SnapshotReader::take_lease(const etcd::KeyValue& entry) {
    const std::string_view digits = std::string_view(entry.key).substr(keys_.leases(0).size());
    const auto fence = base::parse_hex(digits);
    if (!fence || *fence == 0 || *fence > core::as_number(core::fence_max)) {
        return base::fail(fmt::format("etcd has a lease whose number is damaged: '{}'", digits));
    }
    TRY(LeaseRecord record, parse_lease(core::Fence{*fence}, entry.value));
    reading_->snapshot.leases.push_back(std::move(record));
    return {};
}

base::Result<void> SnapshotReader::take_fence(const etcd::KeyValue& entry) {
    const std::string resource = entry.key.substr(keys_.fences(0).size());
    const auto highest = base::parse_decimal<std::uint64_t>(entry.value);
    if (!highest || *highest == 0 || *highest > core::as_number(core::fence_max)) {
        return base::fail(fmt::format("the fence of '{}' is damaged in etcd", resource));
    }
    reading_->snapshot.fences.push_back({.resource = resource, .highest = *highest});
    return {};
}

void SnapshotReader::end(tl::expected<void, etcd::Failure> result) {
    slots_.clear(TimerSlots::Slot::reader);
    const std::shared_ptr<Reading> reading = std::exchange(reading_, nullptr);
    if (!result) return reading->done(tl::unexpected(std::move(result).error()));
    Snapshot& snapshot = reading->snapshot;
    std::ranges::sort(snapshot.leases, {}, [](const LeaseRecord& one) { return one.token.fence; });
    snapshot.last_fence = snapshot.counter.fence;
    if (!snapshot.leases.empty()) {
        const std::uint64_t newest = core::as_number(snapshot.leases.back().token.fence);
        snapshot.last_fence = std::max(snapshot.last_fence, newest);
    }
    reading->done(std::move(snapshot));
}

}  // namespace holdfast::cluster

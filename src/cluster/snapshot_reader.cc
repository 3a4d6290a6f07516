#include "cluster/snapshot_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/text/hex.h"
#include "base/text/number.h"

namespace holdfast::cluster {

namespace {

constexpr std::size_t parallel_max = 4;
constexpr std::int64_t few = 500;  // so many leases or fences are read by one request
constexpr core::Duration reading_pause = std::chrono::milliseconds{100};
constexpr core::Duration reading_timeout = std::chrono::seconds{3};

}  // namespace

struct SnapshotReader::Reading {
    etcd::Revision revision = 0;
    Done done;
    std::vector<Part> parts;  // that were not asked for yet, or must be asked for again; last first
    std::size_t under_way = 0;
    Snapshot snapshot;
};

void SnapshotReader::read(etcd::Revision revision, Done done) {
    reading_ = std::make_shared<Reading>();
    reading_->revision = revision;
    reading_->done = std::move(done);
    for (const auto kind : {Part::Kind::history, Part::Kind::fences, Part::Kind::leases,
                            Part::Kind::epoch, Part::Kind::counter}) {
        reading_->parts.push_back({.kind = kind});
    }
    ask_more();
}

void SnapshotReader::cancel() {
    slots_.clear(TimerSlots::Slot::reader);
    reading_.reset();
}

void SnapshotReader::ask_more() {
    while (reading_->under_way < parallel_max && !reading_->parts.empty()) {
        const Part part = reading_->parts.back();
        reading_->parts.pop_back();
        ask(part);
    }
}

void SnapshotReader::ask(Part part) {
    etcd::RangeRequest request;
    request.revision = reading_->revision;
    switch (part.kind) {
        case Part::Kind::counter: request.key = keys_.counter(); break;
        case Part::Kind::epoch: request.key = keys_.epoch(); break;
        case Part::Kind::leases: set_range(request, part, &Keys::leases); break;
        case Part::Kind::fences: set_range(request, part, &Keys::fences); break;
        case Part::Kind::history:
            request.key = keys_.histories();
            request.range_end = etcd::end_of_prefix(request.key);
            break;
    }
    ++reading_->under_way;
    etcd_.range(std::move(request), reading_timeout,
                [this, part, reading = std::weak_ptr<Reading>(reading_)](
                    const etcd::Answer<etcd::RangeAnswer>& answer) {
                    if (!reading.expired()) on_answer(part, answer);
                });
}

void SnapshotReader::set_range(etcd::RangeRequest& request, Part part,
                               std::string (Keys::*bucket)(int) const) const {
    const bool is_all = part.bucket == all_buckets;
    request.key = (keys_.*bucket)(is_all ? 0 : part.bucket);
    request.range_end =
        etcd::end_of_prefix((keys_.*bucket)(is_all ? Keys::buckets - 1 : part.bucket));
    if (is_all) request.limit = few;
}

void SnapshotReader::on_answer(Part part, const etcd::Answer<etcd::RangeAnswer>& answer) {
    --reading_->under_way;
    if (!answer) {
        const auto kind = answer.error().kind;
        const bool is_final =
            kind == etcd::Failure::Kind::compacted || kind == etcd::Failure::Kind::rejected;
        if (is_final) return end(tl::unexpected(answer.error()));
        reading_->parts.push_back(part);
        return slots_.set(TimerSlots::Slot::reader, slots_.now() + reading_pause,
                          [this] { ask_more(); });
    }
    if (auto taken = take(part, *answer); !taken) {
        return end(tl::unexpected(etcd::Failure{.kind = etcd::Failure::Kind::rejected,
                                                .message = std::move(taken).error().message}));
    }
    ask_more();
    if (reading_->under_way == 0) end({});
}

base::Result<void> SnapshotReader::take(Part part, const etcd::RangeAnswer& answer) {
    const bool is_single = part.kind == Part::Kind::counter || part.kind == Part::Kind::epoch;
    if (is_single && answer.found.empty()) {
        return base::fail("etcd has lost the counter of commits or the epoch of this cluster");
    }
    Snapshot& snapshot = reading_->snapshot;
    if (part.kind == Part::Kind::counter) {
        TRY(snapshot.counter, parse_counter(answer.found.front().value));
        return {};
    }
    if (part.kind == Part::Kind::epoch) {
        TRY(snapshot.epoch, parse_epoch(answer.found.front().value));
        return {};
    }
    if (part.kind == Part::Kind::history) {
        snapshot.history = answer.found;
        return {};
    }
    if (answer.has_more) {
        for (int bucket = Keys::buckets - 1; bucket >= 0; --bucket) {
            reading_->parts.push_back({.kind = part.kind, .bucket = bucket});
        }
        return {};
    }
    const bool are_leases = part.kind == Part::Kind::leases;
    for (const etcd::KeyValue& entry : answer.found) {
        TRY(are_leases ? take_lease(entry) : take_fence(entry));
    }
    return {};
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

#include "cluster/cluster_history.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <optional>
#include <utility>

#include "base/json/json_value.h"
#include "base/json/json_writer.h"
#include "base/log/log.h"
#include "base/text/hex.h"
#include "base/text/utf8.h"
#include "core/values/scope_set.h"

namespace holdfast::cluster {

namespace {

using service::Hold;

// So many holds are in one value, and so many values are removed by one commit, at most.
constexpr std::size_t holds_in_value = 100, removals_max = 8;
// So many values are looked at by one commit, at most.
constexpr std::size_t looks_max = 64;

void write_text(base::JsonWriter& json, const std::string& name, const std::string& text) {
    if (text.empty()) return;
    if (base::is_utf8(text)) {
        json.field(name, text);
        return;
    }
    const auto* const bytes = reinterpret_cast<const std::uint8_t*>(text.data());
    json.field(name + "_hex", base::to_hex({bytes, text.size()}));
}

std::optional<std::string> read_text(const base::JsonValue& json, const std::string& name) {
    const base::JsonValue& hex = json[name + "_hex"];
    if (hex.is_null()) return std::string(json[name].text());
    std::vector<std::uint8_t> bytes(hex.text().size() / 2);
    if (!base::parse_hex_bytes(hex.text(), bytes)) return std::nullopt;
    return std::string(bytes.begin(), bytes.end());
}

service::WallTime time_of(const base::JsonValue& json) {
    return service::WallTime{std::chrono::microseconds{json.number().value_or(0)}};
}

void write_hold(base::JsonWriter& json, const Hold& hold) {
    json.begin_object().field("fence", hold.fence);
    if (hold.kind != core::ScopeKind::named) json.field("kind", core::to_text(hold.kind));
    write_text(json, "name", hold.name);
    if (hold.inode != 0) json.field("inode", hold.inode);
    if (hold.range.start != 0) json.field("start", hold.range.start);
    if (hold.range.end != core::Range::end_of_file) json.field("end", hold.range.end);
    write_text(json, "owner", hold.owner);
    json.field("door", static_cast<unsigned>(hold.door));
    if (hold.mode == core::Mode::shared) json.field("mode", core::to_text(hold.mode));
    if (hold.waited.count() != 0) json.field("waited_us", hold.waited.count());
    json.field("acquired_us", hold.acquired_at.time_since_epoch().count())
        .field("ended_us", hold.ended_at.time_since_epoch().count())
        .field("ended", service::to_text(hold.ending));
    write_text(json, "metadata", hold.metadata);
    write_text(json, "members", hold.members);
    write_text(json, "granted_by", hold.granted_by);
    write_text(json, "ended_by", hold.ended_by);
    json.end_object();
}

std::optional<Hold> read_hold(const base::JsonValue& json) {
    const auto kind = json["kind"].is_null() ? std::optional(core::ScopeKind::named)
                                             : core::parse_kind(json["kind"].text());
    const auto ending = service::parse_ending(json["ended"].text());
    const auto fence = json["fence"].natural();
    const auto door = json["door"].natural();
    auto name = read_text(json, "name"), owner = read_text(json, "owner"),
         metadata = read_text(json, "metadata"), members = read_text(json, "members"),
         granted_by = read_text(json, "granted_by"), ended_by = read_text(json, "ended_by");
    const bool is_whole = kind && ending && fence && door && *door <= 0xff && name && owner &&
                          metadata && members && granted_by && ended_by &&
                          core::parse_set(*members) && json["acquired_us"].number() &&
                          json["ended_us"].number();
    if (!is_whole) return std::nullopt;
    const bool is_shared = json["mode"].text() == core::to_text(core::Mode::shared);
    return Hold{.fence = *fence,
                .kind = *kind,
                .name = std::move(*name),
                .inode = json["inode"].natural().value_or(0),
                .range = {.start = json["start"].natural().value_or(0),
                          .end = json["end"].natural().value_or(core::Range::end_of_file)},
                .owner = std::move(*owner),
                .door = core::Door{static_cast<std::uint8_t>(*door)},
                .mode = is_shared ? core::Mode::shared : core::Mode::exclusive,
                .waited = core::Duration{json["waited_us"].number().value_or(0)},
                .acquired_at = time_of(json["acquired_us"]),
                .ended_at = time_of(json["ended_us"]),
                .ending = *ending,
                .metadata = std::move(*metadata),
                .members = std::move(*members),
                .granted_by = std::move(*granted_by),
                .ended_by = std::move(*ended_by)};
}

}  // namespace

std::string to_text(const std::vector<Hold>& holds) {
    std::string text;
    base::JsonWriter json(text);
    json.begin_object().begin_array("holds");
    for (const Hold& hold : holds) write_hold(json, hold);
    json.end_array().end_object();
    return text;
}

base::Result<std::vector<Hold>> parse_holds(std::uint64_t first, std::string_view text) {
    TRY(const auto json, base::JsonValue::parse(text));
    std::vector<Hold> holds;
    for (const base::JsonValue& item : json["holds"].items()) {
        auto hold = read_hold(item);
        if (!hold) return base::fail("a hold in it makes no sense");
        hold->number = first + holds.size();
        holds.push_back(std::move(*hold));
    }
    if (holds.empty()) return base::fail("there is no hold in it");
    return holds;
}

std::vector<etcd::Operation> ClusterHistory::plan(const service::CommitEffect& effect,
                                                  service::WallTime epoch, bool may_grow) {
    ending_.clear();
    added_values_.clear();
    removed_values_.clear();
    if (!is_on_) return {};
    for (const auto& put : effect.puts()) {
        open_.begin(core::as_number(put.change->lease.token.fence),
                    {.waited = put.waited, .by = put.by});
    }
    for (const core::Event* const end : effect.holds()) {
        ending_.push_back(
            service::to_hold(*end, begin_of(core::as_number(end->lease.token.fence)), epoch));
    }
    if (!may_grow) {
        for (const Hold& hold : ending_) open_.end(hold.fence);
        ending_.clear();
    }
    std::vector<etcd::Operation> operations;
    if (ending_.empty()) return operations;
    std::uint64_t number = ring_.next_number();
    for (std::size_t begin = 0; begin < ending_.size(); begin += holds_in_value) {
        const auto from = ending_.begin() + static_cast<std::ptrdiff_t>(begin);
        const std::size_t count = std::min(holds_in_value, ending_.size() - begin);
        operations.push_back(etcd::Operation::put(
            keys_.history(number), to_text({from, from + static_cast<std::ptrdiff_t>(count)})));
        added_values_.push_back(number);
        number += count;
    }
    choose_removals();
    for (const std::uint64_t value : removed_values_) {
        operations.push_back(etcd::Operation::remove(keys_.history(value)));
    }
    return operations;
}

// A value is too much when none of its holds is kept. The newest value stays: the next leader counts
// on from there. Rows from the future may keep old values, so the search goes on behind them, from
// commit to commit, and then begins at the oldest again.
void ClusterHistory::choose_removals() {
    auto value = values_.lower_bound(looked_at_);
    for (std::size_t left = looks_max; left > 0 && removed_values_.size() < removals_max; --left) {
        const auto next = value == values_.end() ? value : std::next(value);
        if (next == values_.end()) {
            looked_at_ = 0;
            return;
        }
        if (!ring_.has_any(*value, *next)) removed_values_.push_back(*value);
        looked_at_ = *next;
        value = next;
    }
}

void ClusterHistory::on_committed(service::WallTime now) {
    for (const Hold& hold : ending_) open_.end(hold.fence);
    for (const std::uint64_t value : removed_values_) values_.erase(value);
    values_.insert(added_values_.begin(), added_values_.end());
    if (!ending_.empty()) ring_.add(ending_, now);
    ending_.clear();
    added_values_.clear();
    removed_values_.clear();
}

void ClusterHistory::begin(const std::vector<etcd::KeyValue>& entries,
                           const std::vector<LeaseRecord>& leases, service::WallTime now) {
    clear();
    for (const LeaseRecord& lease : leases) {
        if (!is_on_) break;
        open_.begin(core::as_number(lease.token.fence),
                    {.waited = lease.waited, .by = lease.granted_by});
    }
    std::vector<Hold> holds;
    for (const etcd::KeyValue& entry : entries) {
        const auto first =
            base::parse_hex(std::string_view(entry.key).substr(keys_.histories().size()));
        if (!first || *first == 0 || *first > std::numeric_limits<std::uint64_t>::max() / 2) {
            continue;
        }
        values_.insert(*first);
        auto read = parse_holds(*first, entry.value);
        if (!read) {
            base::log(base::LogLevel::warning, "a part of the history in etcd is damaged",
                      {{"key", entry.key}, {"why", read.error().message}});
            continue;
        }
        std::move(read->begin(), read->end(), std::back_inserter(holds));
    }
    ring_.add(holds, now);
}

void ClusterHistory::clear() {
    ring_.clear();
    open_.clear();
    values_.clear();
    ending_.clear();
    added_values_.clear();
    removed_values_.clear();
    looked_at_ = 0;
}

}  // namespace holdfast::cluster

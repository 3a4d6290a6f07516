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

// So many holds are in one value, at most, and so many bytes if it has more than one.
constexpr std::size_t holds_in_value = 100, value_bytes_max = std::size_t{256} << 10U;
// A hold with more is dropped: etcd would not take it.
constexpr std::size_t hold_bytes_max = std::size_t{1} << 20U;
// A commit may remove so many values more than it adds. It looks at so many more than it may remove.
constexpr std::size_t removals_more = 8, looks_more = 64;
// And as many as it takes to remove as many bytes as it adds, up to this.
constexpr std::size_t removals_max = 500;

constexpr std::string_view value_begin = R"({"holds":[)", value_end = "]}";

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

std::string to_text(const Hold& hold) {
    std::string text;
    base::JsonWriter json(text);
    write_hold(json, hold);
    return text;
}

// How many numbers to leave for the holds of a value that this program cannot read.
std::uint64_t count_numbers(std::string_view text) {
    const auto json = base::JsonValue::parse(text);
    const std::size_t holds = json ? (*json)["holds"].items().size() : 0;
    return std::max(holds, holds_in_value);
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
    for (const Hold& hold : holds) {
        text += text.empty() ? value_begin : ",";
        text += to_text(hold);
    }
    return text + std::string(value_end);
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
    forget_plan();
    if (!is_on_) return {};
    for (const auto& put : effect.puts()) {
        open_.begin(core::as_number(put.change->lease.token.fence),
                    {.waited = put.waited, .by = put.by});
    }
    std::vector<Hold> ending;
    for (const core::Event* const end : effect.holds()) {
        const std::uint64_t fence = core::as_number(end->lease.token.fence);
        ended_fences_.push_back(fence);
        ending.push_back(service::to_hold(*end, begin_of(fence), epoch));
    }
    if (may_grow) {
        pack(std::move(ending));
    } else {
        dropped_ += ending.size();
    }
    removing_ = choose_removals(adding_.size() + removals_more);
    std::vector<etcd::Operation> operations;
    for (Value& value : adding_) {
        operations.push_back(
            etcd::Operation::put(keys_.history(value.number), std::move(value.text)));
    }
    for (const std::uint64_t number : removing_) {
        operations.push_back(etcd::Operation::remove(keys_.history(number)));
    }
    return operations;
}

// Distributes the holds to values, by the bytes that they have there.
void ClusterHistory::pack(std::vector<Hold> ending) {
    std::uint64_t number = ring_.next_number();
    for (Hold& hold : ending) {
        const std::string text = to_text(hold);
        if (text.size() > hold_bytes_max) {
            ++dropped_;
            continue;
        }
        const bool is_full = adding_.empty() || adding_.back().holds.size() == holds_in_value ||
                             adding_.back().text.size() + text.size() > value_bytes_max;
        if (is_full) {
            adding_.push_back({.number = number, .text = std::string(value_begin)});
        } else {
            adding_.back().text += ',';
        }
        Value& value = adding_.back();
        value.text += text;
        hold.number = number++;
        value.holds.push_back(std::move(hold));
    }
    for (Value& value : adding_) {
        value.text += value_end;
        value.bytes = value.text.size();
    }
}

// A value is too much when none of its holds is kept, or when all values together have too many bytes
// and it is the oldest. The newest value stays: the next leader counts on from there. Rows from the
// future may keep old values, so the search goes on behind them, from commit to commit, and then begins
// at the oldest again.
std::vector<std::uint64_t> ClusterHistory::choose_removals(std::size_t most) {
    std::vector<std::uint64_t> removals;
    std::size_t bytes = value_bytes_;
    for (const Value& value : adding_) bytes += value.bytes;
    // Large values may take the place of very many small ones.
    const std::size_t added = bytes - value_bytes_;
    std::size_t removed = 0;
    const auto may_remove = [&] {
        return removals.size() < most || (removed < added && removals.size() < removals_max);
    };
    for (auto value = values_.begin(); bytes > bytes_max_ && may_remove(); ++value) {
        if (value == values_.end() || std::next(value) == values_.end()) break;
        removals.push_back(value->first);
        bytes -= value->second;
        removed += value->second;
    }
    if (!removals.empty()) looked_at_ = std::max(looked_at_, removals.back() + 1);
    auto value = values_.lower_bound(looked_at_);
    for (std::size_t left = most + looks_more; left > 0 && removals.size() < most; --left) {
        const auto next = value == values_.end() ? value : std::next(value);
        if (next == values_.end()) {
            looked_at_ = 0;
            break;
        }
        if (!ring_.has_any(value->first, next->first)) removals.push_back(value->first);
        looked_at_ = next->first;
        value = next;
    }
    return removals;
}

void ClusterHistory::on_committed(service::WallTime now, const std::vector<std::string>& left_out) {
    const auto is_written = [&](std::uint64_t number) {
        return left_out.empty() ||
               std::ranges::find(left_out, keys_.history(number)) == left_out.end();
    };
    for (const std::uint64_t fence : ended_fences_) open_.end(fence);
    std::vector<Hold> ended;
    for (Value& value : adding_) {
        if (!is_written(value.number)) {
            dropped_ += value.holds.size();
            continue;
        }
        value_bytes_ += value.bytes;
        values_.emplace(value.number, value.bytes);
        std::ranges::move(value.holds, std::back_inserter(ended));
    }
    for (const std::uint64_t number : removing_) {
        if (is_written(number)) forget_value(number);
    }
    ring_.add(ended, now);
    forget_plan();
}

std::vector<etcd::Operation> ClusterHistory::plan_removals(service::WallTime now) {
    if (!is_on_) return {};
    ring_.add({}, now);
    std::vector<etcd::Operation> operations;
    for (const std::uint64_t number : choose_removals(looks_more)) {
        operations.push_back(etcd::Operation::remove(keys_.history(number)));
    }
    return operations;
}

void ClusterHistory::on_removed(const std::vector<etcd::Operation>& removals) {
    for (const etcd::Operation& removal : removals) {
        const std::string_view digits =
            std::string_view(removal.key).substr(keys_.histories().size());
        if (const auto number = base::parse_hex(digits)) forget_value(*number);
    }
}

// Its holds are not kept in memory either: the next leader would not know them. Does nothing if the
// value was forgotten before.
void ClusterHistory::forget_value(std::uint64_t number) {
    const auto value = values_.find(number);
    if (value == values_.end()) return;
    value_bytes_ -= value->second;
    const auto next = values_.erase(value);
    if (next == values_.end()) return;
    ring_.drop_range(number, next->first);
}

void ClusterHistory::forget_plan() {
    ended_fences_.clear();
    adding_.clear();
    removing_.clear();
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
    std::uint64_t next = 0;  // after those that cannot be read
    for (const etcd::KeyValue& entry : entries) {
        const auto first =
            base::parse_hex(std::string_view(entry.key).substr(keys_.histories().size()));
        if (!first || *first == 0 || *first > std::numeric_limits<std::uint64_t>::max() / 2) {
            continue;
        }
        values_.emplace(*first, entry.value.size());
        value_bytes_ += entry.value.size();
        if (entry.value.empty()) {  // one of the oldest, of which only the key was read, or damaged
            next = std::max(next, *first + holds_in_value);
            continue;
        }
        auto read = parse_holds(*first, entry.value);
        if (!read) {
            next = std::max(next, *first + count_numbers(entry.value));
            base::log(base::LogLevel::warning, "a part of the history in etcd is damaged",
                      {{"key", entry.key}, {"why", read.error().message}});
            continue;
        }
        std::move(read->begin(), read->end(), std::back_inserter(holds));
    }
    ring_.add(holds, now);
    ring_.skip_to(next);
}

void ClusterHistory::clear() {
    ring_.clear();
    open_.clear();
    values_.clear();
    value_bytes_ = 0;
    forget_plan();
    looked_at_ = 0;
}

}  // namespace holdfast::cluster

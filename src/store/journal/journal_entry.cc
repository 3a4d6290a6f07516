#include "store/journal/journal_entry.h"

#include <algorithm>
#include <boost/unordered/unordered_flat_map.hpp>
#include <boost/unordered/unordered_flat_set.hpp>
#include <cstddef>
#include <limits>

#include "service/ports/port.h"
#include "store/journal/entry_bytes.h"

namespace holdfast::store {

namespace {

constexpr std::uint64_t kind_end = 0, kind_mark = 1, kind_hold = 2, kind_wait = 3;
// The first kind of a lease, in an entry with holds or waits and in one without.
constexpr std::uint64_t kind_lease_with_history = 4, kind_lease = 2;
constexpr std::uint64_t history_prefix = 0;
// More than all numbers of a lease take.
constexpr std::size_t numbers_bytes_max = 27 * number_bytes_max;

std::uint64_t count_of(service::WallTime time) {
    return static_cast<std::uint64_t>(time.time_since_epoch().count());
}
service::WallTime time_of(std::uint64_t count) {
    return service::WallTime{core::Duration{static_cast<std::int64_t>(count)}};
}

// How much later than its TTL says a lease expires, with the sign folded. Sums may overflow in a
// damaged file.
std::uint64_t later_of(const LeaseRowView& row) {
    return fold_sign(count_of(row.expires_at) - count_of(row.acquired_at) - to_number(row.ttl));
}
void set_later(LeaseRowView& row, std::uint64_t later) {
    row.expires_at = time_of(count_of(row.acquired_at) + to_number(row.ttl) + unfold_sign(later));
}

// Whether the time can be written in nanoseconds, as `locks` has it.
bool is_time(service::WallTime time) {
    constexpr std::int64_t count_max = std::numeric_limits<std::int64_t>::max() / 1000;
    const std::int64_t count = time.time_since_epoch().count();
    return -count_max <= count && count <= count_max;
}

// Visits the optional values in their order, each with its usual value.
template <class Row, class Visitor>
void visit_optional(Row& row, std::uint64_t& later, Visitor&& visit) {
    visit(row.memory, core::Duration::zero());
    visit(row.grace, core::Duration::zero());
    visit(row.request_id, std::string_view{});
    visit(row.metadata, std::string_view{});
    visit(row.kind, core::ScopeKind::named);
    visit(row.mode, core::Mode::exclusive);
    visit(row.permits, std::uint32_t{1});
    visit(later, std::uint64_t{0});
    visit(row.state, core::LeaseState::held);
    visit(row.inode, std::uint64_t{0});
    visit(row.range.start, std::uint64_t{0});
    visit(row.range.end, core::Range::end_of_file);
    visit(row.members, std::string_view{});
    visit(row.value, std::string_view{});
    visit(row.revision, std::uint64_t{0});
    visit(row.waiter, std::string_view{});
}
constexpr unsigned optional_count = 16;

// Writes names, each text once.
class NameWriter {
  public:
    explicit NameWriter(bool has_names) : has_names_(has_names) {}

    void write(Pen& pen, std::string_view name) {
        if (!has_names_) return;
        if (name.empty()) return pen.number(0);
        if (name == last_) return pen.number(last_number_);
        const auto [place, is_new] = numbers_.try_emplace(name, numbers_.size() + 1);
        last_ = name;
        last_number_ = place->second;
        pen.number(last_number_);
        if (is_new) pen.text(name);
    }

  private:
    const bool has_names_;
    boost::unordered_flat_map<std::string_view, std::uint64_t> numbers_;
    std::string_view last_;  // the last name, which the next one usually is, too
    std::uint64_t last_number_ = 0;
};

class NameReader {
  public:
    explicit NameReader(bool has_names) : has_names_(has_names) {}

    [[nodiscard]] std::string_view read(Eye& eye) {
        if (!has_names_) return {};
        const std::uint64_t number = eye.number();
        if (number == 0) return {};
        eye.require(number <= names_.size() + 1);
        if (!eye.is_fine()) return {};
        if (number <= names_.size()) return names_[number - 1];
        names_.push_back(eye.text());
        const bool is_new = known_.insert(names_.back()).second;
        eye.require(is_new && !names_.back().empty());
        return names_.back();
    }
    [[nodiscard]] bool has_read_some() const { return !names_.empty(); }

  private:
    const bool has_names_;
    std::vector<std::string_view> names_;
    boost::unordered_flat_set<std::string_view> known_;
};

void write_lease(Pen& pen, Before& before, const JournalEntry::Put& put, std::uint64_t kind) {
    const LeaseRowView& row = put.row;
    std::uint64_t later = later_of(row);
    std::uint64_t bits = put.is_new ? 1 : 0, bit = 2;
    visit_optional(row, later, [&](const auto& value, const auto& usual) {
        if (value != usual) bits |= bit;
        bit <<= 1U;
    });
    pen.number(kind + bits);
    pen.number(before.step(&Before::fence, row.fence));
    pen.fixed(row.secret);
    pen.text(row.name);
    pen.text(row.owner);
    pen.number(before.step(&Before::time, count_of(row.acquired_at)));
    pen.value(row.ttl);
    pen.value(row.door);
    pen.number(row.version);
    if (bits < 2) return;
    visit_optional(row, later, [&](const auto& value, const auto& usual) {
        if (value != usual) pen.value(value);
    });
}

JournalEntry::Put read_lease(Eye& eye, Before& before, std::uint64_t bits) {
    JournalEntry::Put put{.row = {}, .is_new = (bits & 1U) != 0};
    LeaseRowView& row = put.row;
    row.fence = before.unstep(&Before::fence, eye.number());
    row.secret = eye.fixed();
    row.name = eye.text();
    row.owner = eye.text();
    row.acquired_at = time_of(before.unstep(&Before::time, eye.number()));
    eye.value(row.ttl);
    eye.value(row.door);
    row.version = eye.number();
    std::uint64_t later = 0;
    eye.require(bits >> (optional_count + 1) == 0);
    visit_optional(row, later, [&](auto& value, const auto& usual) {
        bits >>= 1U;
        value = usual;
        if ((bits & 1U) == 0) return;
        eye.value(value);
        eye.require(value != usual);
    });
    set_later(row, later);
    eye.require(is_time(row.acquired_at) && is_time(row.expires_at));
    return put;
}

void write_history(Pen& pen, Before& before, NameWriter& names, const JournalEntry& entry) {
    for (const auto& [fence, waited] : entry.waits) {
        pen.number(kind_wait);
        pen.number(before.step(&Before::fence, fence));
        pen.value(waited);
    }
    for (const auto& [fence, at, ending, by] : entry.holds) {
        pen.number(kind_hold);
        pen.number(before.step(&Before::fence, fence));
        pen.number(before.step(&Before::time, count_of(at)));
        pen.value(ending);
        names.write(pen, by);
    }
}

void read_wait(Eye& eye, Before& before, JournalEntry& entry) {
    eye.require(entry.holds.empty() && entry.marks.empty());
    JournalEntry::Wait& wait = entry.waits.emplace_back();
    wait.fence = before.unstep(&Before::fence, eye.number());
    eye.value(wait.waited);
    eye.require(wait.waited > core::Duration::zero());
}

void read_hold(Eye& eye, Before& before, NameReader& names, JournalEntry& entry) {
    eye.require(entry.marks.empty());
    JournalEntry::EndedHold& hold = entry.holds.emplace_back();
    hold.fence = before.unstep(&Before::fence, eye.number());
    hold.at = time_of(before.unstep(&Before::time, eye.number()));
    eye.value(hold.ending);
    hold.by = names.read(eye);
    eye.require(is_time(hold.at));
}

std::size_t size_max(const JournalEntry& entry) {
    constexpr std::size_t history_numbers = 6;
    std::size_t size = 4 * number_bytes_max + 2 * number_bytes_max * entry.ends.size();
    size += history_numbers * number_bytes_max * (entry.holds.size() + entry.waits.size());
    for (const JournalEntry::EndedHold& hold : entry.holds) size += hold.by.size();
    for (const auto& [row, is_new] : entry.puts) {
        size += numbers_bytes_max + row.name.size() + row.owner.size() + row.request_id.size() +
                row.metadata.size() + row.members.size() + row.value.size() + row.waiter.size() +
                row.granted_by.size();
    }
    for (const auto& [resource, highest] : entry.marks) {
        size += 3 * number_bytes_max + resource.size();
    }
    return size;
}

}  // namespace

void JournalEntry::set(const service::CommitEffect& effect, service::WallTime epoch,
                       std::int64_t start, bool has_history) {
    start_number = start;
    last_token = std::max(effect.last_fence(), effect.reserved_fence());
    puts.clear();
    holds.clear();
    waits.clear();
    for (const service::CommitEffect::Put& put : effect.puts()) {
        puts.push_back(
            {.row = to_row<LeaseRowView>(*put.change, epoch, start), .is_new = put.is_new});
        // Without a history, it says to which token an id belongs.
        const bool has_id = !puts.back().row.request_id.empty();
        const bool is_needed = has_history || (has_id && !service::access_token_in(put.by).empty());
        if (is_needed) puts.back().row.granted_by = put.by;
        if (has_history && put.waited > core::Duration::zero()) {
            waits.push_back({.fence = puts.back().row.fence, .waited = put.waited});
        }
    }
    if (has_history) {
        for (const core::Event* const end : effect.holds()) {
            holds.push_back({.fence = core::as_number(end->lease.token.fence),
                             .at = epoch + service::end_of(*end).time_since_epoch(),
                             .ending = service::ending_of(*end),
                             .by = end->by});
        }
    }
    ends.clear();
    for (const core::Event* const end : effect.ends()) {
        ends.push_back(core::as_number(end->lease.token.fence));
    }
    marks.clear();
    for (const service::FenceMark& mark : effect.fences()) {
        marks.push_back({.resource = mark.resource, .highest = mark.highest});
    }
}

bool JournalEntry::has_names() const {
    return std::ranges::any_of(puts, [](const Put& put) { return !put.row.granted_by.empty(); }) ||
           std::ranges::any_of(holds, [](const EndedHold& hold) { return !hold.by.empty(); });
}

std::string_view write_entry(const JournalEntry& entry, std::string& memory) {
    constexpr std::size_t kept_size = std::size_t{1} << 20U;
    if (memory.size() > kept_size) std::string().swap(memory);
    if (const std::size_t size = size_max(entry); memory.size() < size) memory.resize(2 * size);
    Pen pen(memory.data());
    Before before;
    const bool has_names = entry.has_names();
    const bool has_history = has_names || !entry.holds.empty() || !entry.waits.empty();
    NameWriter names(has_names);
    if (has_history) pen.number(history_prefix);
    if (has_names) pen.number(history_prefix);
    const std::uint64_t lease_kind = has_history ? kind_lease_with_history : kind_lease;
    pen.number(static_cast<std::uint64_t>(entry.start_number));
    pen.number(entry.last_token);
    for (const JournalEntry::Put& put : entry.puts) {
        write_lease(pen, before, put, lease_kind);
        names.write(pen, put.row.granted_by);
    }
    for (const std::uint64_t end : entry.ends) {
        pen.number(kind_end);
        pen.number(before.step(&Before::fence, end));
    }
    write_history(pen, before, names, entry);
    for (const auto& [resource, highest] : entry.marks) {
        pen.number(kind_mark);
        pen.text(resource);
        pen.number(highest);
    }
    return {memory.data(), static_cast<std::size_t>(pen.at() - memory.data())};
}

std::optional<JournalEntry> read_entry(std::string_view bytes) {
    Eye eye(bytes);
    Before before;
    JournalEntry entry;
    std::uint64_t first = eye.number();
    const bool has_history = first == history_prefix;
    if (has_history) first = eye.number();
    const bool has_names = has_history && first == history_prefix;
    if (has_names) first = eye.number();
    NameReader names(has_names);
    const std::uint64_t lease_kind = has_history ? kind_lease_with_history : kind_lease;
    entry.start_number = static_cast<std::int64_t>(first);
    entry.last_token = eye.number();
    while (eye.is_fine() && !eye.is_at_end()) {
        const std::uint64_t kind = eye.number();
        if (kind >= lease_kind) {
            eye.require(entry.ends.empty() && entry.waits.empty() && entry.holds.empty() &&
                        entry.marks.empty());
            entry.puts.push_back(read_lease(eye, before, kind - lease_kind));
            entry.puts.back().row.granted_by = names.read(eye);
            entry.puts.back().row.start_number = entry.start_number;
        } else if (kind == kind_end) {
            eye.require(entry.waits.empty() && entry.holds.empty() && entry.marks.empty());
            entry.ends.push_back(before.unstep(&Before::fence, eye.number()));
        } else if (kind == kind_hold) {
            read_hold(eye, before, names, entry);
        } else if (kind == kind_wait) {
            read_wait(eye, before, entry);
        } else {
            const std::string_view resource = eye.text();
            entry.marks.push_back({.resource = resource, .highest = eye.number()});
        }
    }
    // There is one way to write an entry.
    const bool is_usual = entry.holds.empty() && entry.waits.empty() && !has_names;
    if (!eye.is_fine() || has_history == is_usual) return std::nullopt;
    if (has_names != names.has_read_some()) return std::nullopt;
    return entry;
}

}  // namespace holdfast::store

#include "cluster/records/lease_record.h"

#include <fmt/format.h>

#include <initializer_list>
#include <limits>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "base/json/json_value.h"
#include "base/json/json_writer.h"
#include "base/text/hex.h"
#include "base/text/utf8.h"

namespace holdfast::cluster {

namespace {

// The TTL in the record of a lease without an end.
constexpr core::Duration no_end{0};

constexpr std::string_view hex_suffix = "_hex", state_held = "held", state_grace = "grace",
                           kind_set = "set";

// Visits every field with the value that `lease` has for it. The name of the visitor's function says
// how the value is written:
//
//     hex       16 hexadecimal digits
//     kind      of the scope, or that there are several
//     word      the name of an enumerator
//     bytes     a text, or hexadecimal digits if it is no UTF-8
//     number    from 0 up to, but not including, a limit (0: none); the last argument is the default
//     duration  microseconds, not negative
//     time      microseconds since 1970
template <class Record, class Visitor>
void visit_fields(Record& lease, Visitor&& visit) {
    visit.hex("id", lease.token.secret);
    visit.kind("kind", lease.kind, lease.members);
    visit.bytes("name", lease.name);
    visit.number("inode", lease.inode, 0, 0);
    visit.number("start", lease.range.start, 0, 0);
    visit.number("end", lease.range.end, 0, core::Range::end_of_file);
    visit.bytes("owner", lease.owner);
    visit.number("door", lease.door, 1U << 8U, 0);
    visit.word("mode", lease.mode, core::Mode::exclusive);
    visit.number("permits", lease.permits, std::uint64_t{1} << 32U, 1);
    visit.state("state", lease.is_in_grace);
    visit.duration("ttl_us", lease.ttl);
    visit.duration("grace_us", lease.grace);
    visit.duration("memory_us", lease.memory);
    visit.bytes("request_id", lease.request_id);
    visit.bytes("metadata", lease.metadata);
    visit.bytes("members", lease.members);
    visit.bytes("value", lease.value);
    visit.number("revision", lease.revision, std::uint64_t{1} << 53U, 0);
    visit.bytes("waiter", lease.waiter);
    visit.duration("waited_us", lease.waited);
    visit.bytes("granted_by", lease.granted_by);
    // Last: WrittenLeases leaves these out.
    visit.number("version", lease.version, std::uint64_t{1} << 53U, 0);
    visit.time("acquired_us", lease.acquired_at);
}

// The fields of a lease in an event, by the names that visit_fields() knows.
struct EventView {
    core::Token token;
    core::ScopeKind kind;
    std::string_view name;
    std::uint64_t inode;
    core::Range range;
    core::Door door;
    std::string_view owner;
    core::Mode mode;
    std::uint32_t permits;
    bool is_in_grace;
    core::Duration ttl, grace, memory;
    std::uint64_t version;
    service::WallTime acquired_at;
    std::string_view request_id, metadata;
    std::string_view members, value;
    std::uint64_t revision;
    std::string_view waiter;
    core::Duration waited;
    std::string_view granted_by;
};

struct Writer {
    base::JsonWriter json;

    void hex(std::string_view name, core::Secret value) {
        std::string digits;
        base::append_hex(digits, static_cast<std::uint64_t>(value));
        json.field(name, digits);
    }
    void kind(std::string_view name, core::ScopeKind value, std::string_view members) {
        if (!members.empty()) {
            json.field(name, kind_set);
        } else {
            word(name, value, core::ScopeKind::named);
        }
    }
    template <class Enum>
    void word(std::string_view name, Enum value, Enum usual) {
        if (value != usual) json.field(name, core::to_text(value));
    }
    void state(std::string_view name, bool is_in_grace) {
        if (is_in_grace) json.field(name, state_grace);
    }
    void bytes(std::string_view name, std::string_view value) {
        if (value.empty()) return;
        if (base::is_utf8(value)) {
            json.field(name, value);
            return;
        }
        const auto* const first = reinterpret_cast<const std::uint8_t*>(value.data());
        json.field(std::string(name).append(hex_suffix), base::to_hex({first, value.size()}));
    }
    template <class Number>
    void number(std::string_view name, Number value, std::uint64_t /*end*/, std::uint64_t usual) {
        const auto written = static_cast<std::uint64_t>(value);
        if (written != usual) json.field(name, written);
    }
    void duration(std::string_view name, core::Duration value) {
        if (value != core::Duration::zero()) json.field(name, std::int64_t{value.count()});
    }
    void time(std::string_view name, service::WallTime value) {
        json.field(name, std::int64_t{value.time_since_epoch().count()});
    }
};

// Notes the first field that no server can have written.
struct Reader {
    const base::JsonValue& json;
    std::string_view wrong = {};
    bool is_set = false;

    void check(std::string_view name, bool makes_sense) {
        if (!makes_sense && wrong.empty()) wrong = name;
    }
    void hex(std::string_view name, core::Secret& value) {
        const auto read = base::parse_hex(json[name].text());
        check(name, read.has_value());
        value = core::Secret{read.value_or(0)};
    }
    template <class Enum>
    void one_of(std::string_view name, Enum& value, std::initializer_list<Enum> values) {
        const base::JsonValue& field = json[name];
        if (field.is_null()) return;
        for (const Enum one : values) {
            if (core::to_text(one) != field.text()) continue;
            value = one;
            return;
        }
        check(name, false);
    }
    // The kind of a set is that of its first scope: parse_lease() sees to it.
    void kind(std::string_view name, core::ScopeKind& value, const std::string& /*members*/) {
        using enum core::ScopeKind;
        is_set = json[name].text() == kind_set;
        if (!is_set) one_of(name, value, {named, semaphore, path, inode, range});
    }
    void word(std::string_view name, core::Mode& value, core::Mode /*usual*/) {
        one_of(name, value, {core::Mode::exclusive, core::Mode::shared});
    }
    void state(std::string_view name, bool& is_in_grace) {
        const base::JsonValue& field = json[name];
        is_in_grace = field.text() == state_grace;
        check(name, field.is_null() || is_in_grace || field.text() == state_held);
    }
    void bytes(std::string_view name, std::string& value) {
        const base::JsonValue& field = json[name];
        // An empty text is left out, so text() is empty only if the field is of another kind.
        if (!field.is_null()) {
            value = field.text();
            return check(name, !value.empty());
        }
        const base::JsonValue& digits = json[std::string(name).append(hex_suffix)];
        if (digits.is_null()) return;
        std::vector<std::uint8_t> read(digits.text().size() / 2);
        check(name, !read.empty() && base::parse_hex_bytes(digits.text(), read));
        value.assign(read.begin(), read.end());
    }
    template <class Number>
    void number(std::string_view name, Number& value, std::uint64_t end, std::uint64_t usual) {
        const base::JsonValue& field = json[name];
        const auto read = field.is_null() ? std::optional(usual) : field.natural();
        check(name, read && (end == 0 || *read < end));
        value = static_cast<Number>(read.value_or(0));
    }
    void duration(std::string_view name, core::Duration& value) {
        std::uint64_t count = 0;
        number(name, count, std::numeric_limits<std::int64_t>::max(), 0);
        value = core::Duration{static_cast<std::int64_t>(count)};
    }
    void time(std::string_view name, service::WallTime& value) {
        const auto read = json[name].number();
        check(name, read.has_value());
        value = service::WallTime{std::chrono::microseconds{read.value_or(0)}};
    }
};

template <class Record>
std::string write(const Record& record) {
    std::string text;
    Writer writer{base::JsonWriter(text)};
    writer.json.begin_object();
    visit_fields(record, writer);
    writer.json.end_object();
    return text;
}

}  // namespace

std::string to_record(const core::Event& event, service::WallTime epoch,
                      const service::HoldBegin& begin) {
    const core::LeaseView& lease = event.lease;
    return write(EventView{.token = lease.token,
                           .kind = lease.scope.kind,
                           .name = lease.scope.name,
                           .inode = lease.scope.inode,
                           .range = lease.scope.range,
                           .door = lease.owner.door,
                           .owner = lease.owner.name,
                           .mode = lease.mode,
                           .permits = event.limit,
                           .is_in_grace = event.kind == core::EventKind::expired,
                           .ttl = lease.is_endless() ? no_end : lease.ttl,
                           .grace = event.grace,
                           .memory = event.memory,
                           .version = lease.version,
                           .acquired_at = epoch + lease.acquired_at.time_since_epoch(),
                           .request_id = lease.notes.request_id,
                           .metadata = lease.notes.metadata,
                           .members = lease.members,
                           .value = lease.value,
                           .revision = lease.revision,
                           .waiter = lease.notes.waiter,
                           .waited = begin.waited,
                           .granted_by = begin.by});
}

std::string to_text(const LeaseRecord& record) {
    return write(record);
}

base::Result<LeaseRecord> parse_lease(core::Fence fence, std::string_view text) {
    const auto fail = [&](std::string_view why) {
        return base::fail(fmt::format("the lease with fencing number {} is damaged in etcd: {}",
                                      core::as_number(fence), why));
    };
    const auto json = base::JsonValue::parse(text);
    if (!json) return fail(json.error().message);
    if (!json->is_object()) return fail("it is no JSON object");
    LeaseRecord record;
    record.token.fence = fence;
    Reader reader{.json = *json};
    visit_fields(record, reader);
    const auto members = core::parse_set(record.members);
    reader.check("members", members && members->empty() != reader.is_set);
    if (reader.wrong.empty() && reader.is_set) record.kind = members->front().scope.kind;
    if (!reader.wrong.empty()) return fail(fmt::format("the field '{}' is wrong", reader.wrong));
    return record;
}

core::RestoreRequest to_request(const LeaseRecord& record, std::span<const core::SetMember> members,
                                const service::Clock& clock) {
    const core::Time now = clock.now();
    core::RestoreRequest request{{.scope = {.kind = record.kind,
                                            .name = record.name,
                                            .inode = record.inode,
                                            .range = record.range},
                                  .owner = {.door = record.door, .name = record.owner},
                                  .mode = record.mode,
                                  .limit = record.permits,
                                  .members = members,
                                  .ttl = record.ttl == no_end ? core::endless : record.ttl,
                                  .grace = record.grace,
                                  .memory = record.memory,
                                  .notes = {.request_id = record.request_id,
                                            .metadata = record.metadata,
                                            .waiter = record.waiter},
                                  .value = record.value}};
    request.token = record.token;
    request.is_in_grace = record.is_in_grace;
    request.remaining = record.is_in_grace ? record.grace : record.ttl;
    request.acquired_at = now + (record.acquired_at - clock.wall(now));
    request.version = record.version;
    request.revision = record.revision;
    request.by = record.granted_by;
    return request;
}

}  // namespace holdfast::cluster

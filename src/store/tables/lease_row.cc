#include "store/tables/lease_row.h"

#include <bit>
#include <chrono>
#include <initializer_list>
#include <limits>
#include <optional>
#include <utility>

#include "base/text/hex.h"

namespace holdfast::store {

namespace {

constexpr std::string_view state_held = "held", state_grace = "grace",
                           granted_by_column = "granted_by";

// The value whose name is `text`.
template <class Value>
std::optional<Value> parse_one_of(std::initializer_list<Value> values, std::string_view text) {
    for (const Value value : values) {
        if (core::to_text(value) == text) return value;
    }
    return std::nullopt;
}

std::optional<core::Mode> parse_mode(std::string_view text) {
    return parse_one_of({core::Mode::exclusive, core::Mode::shared}, text);
}

std::optional<core::LeaseState> parse_state(std::string_view text) {
    if (text == state_held) return core::LeaseState::held;
    if (text == state_grace) return core::LeaseState::grace;
    return std::nullopt;
}

// Visits every column of `locks` in the order of INSERT and SELECT, with the value that `row` has
// for it. The name of the visitor's function says how the value is stored:
//
//     number    a number; one without a sign as the signed number with the same bits
//     below     a number from 0 up to, but not including, a limit
//     duration  microseconds, not negative
//     time      nanoseconds since 1970
//     hex       16 hexadecimal digits
//     word      the name of an enumerator
//     bytes     a text; a blob if SQLite cannot store it as a text
template <class Row, class Visitor>
void visit_columns(Row& row, Visitor&& visit) {
    visit.number("fencing_token", row.fence);
    visit.hex("lease_id", row.secret);
    visit.word("kind", row.kind);
    visit.bytes("lock_name", row.name);
    visit.number("inode", row.inode);
    visit.number("range_start", row.range.start);
    visit.number("range_end", row.range.end);
    visit.bytes("owner_id", row.owner);
    visit.below("door", row.door, std::int64_t{1} << 8);
    visit.word("mode", row.mode);
    visit.below("permits", row.permits, std::int64_t{1} << 32);
    visit.word("state", row.state);
    visit.duration("ttl_us", row.ttl);
    visit.duration("grace_us", row.grace);
    visit.duration("memory_us", row.memory);
    visit.below("version", row.version, std::int64_t{1} << 53);
    visit.time("acquired_ns", row.acquired_at);
    visit.time("lease_expiry_ns", row.expires_at);
    visit.bytes("request_id", row.request_id);
    visit.bytes("metadata", row.metadata);
    visit.number("start_number", row.start_number);
    visit.bytes("members", row.members);
    visit.bytes("value", row.value);
    visit.below("revision", row.revision, std::int64_t{1} << 53);
    visit.bytes("waiter", row.waiter);
    visit.bytes(granted_by_column, row.granted_by);
}

// Lists the columns.
struct Lister {
    std::vector<LeaseColumn> columns;

    void integer(std::string_view name) { columns.push_back({.name = name, .type = "integer"}); }
    void text(std::string_view name) { columns.push_back({.name = name, .type = "text"}); }

    template <class Number>
    void number(std::string_view name, const Number& /*value*/) {
        integer(name);
    }
    template <class Number>
    void below(std::string_view name, const Number& /*value*/, std::int64_t /*end*/) {
        integer(name);
    }
    void duration(std::string_view name, core::Duration /*value*/) { integer(name); }
    void time(std::string_view name, service::WallTime /*value*/) { integer(name); }
    void hex(std::string_view name, std::uint64_t /*value*/) { text(name); }
    template <class Enum>
    void word(std::string_view name, Enum /*value*/) {
        text(name);
    }
    void bytes(std::string_view name, std::string_view /*value*/) { text(name); }
};

// Binds the values to a statement.
struct Binder {
    Statement& statement;
    int place = 0;

    template <class Number>
    void number(std::string_view /*name*/, Number value) {
        statement.bind(++place, std::bit_cast<std::int64_t>(value));
    }
    template <class Number>
    void below(std::string_view /*name*/, Number value, std::int64_t /*end*/) {
        statement.bind(++place, static_cast<std::int64_t>(value));
    }
    void duration(std::string_view /*name*/, core::Duration value) {
        statement.bind(++place, std::int64_t{value.count()});
    }
    void time(std::string_view /*name*/, service::WallTime value) {
        const std::chrono::nanoseconds since_epoch = value.time_since_epoch();
        statement.bind(++place, std::int64_t{since_epoch.count()});
    }
    void hex(std::string_view /*name*/, std::uint64_t value) {
        std::string digits;
        base::append_hex(digits, value);
        statement.bind_copy(++place, digits);
    }
    template <class Enum>
    void word(std::string_view /*name*/, Enum value) {
        using core::to_text;
        using store::to_text;
        statement.bind_text(++place, to_text(value));
    }
    void bytes(std::string_view /*name*/, std::string_view value) {
        statement.bind(++place, value);
    }
};

// Reads the values from a statement, and notes whether a server can have written all of them.
struct Reader {
    const Statement& statement;
    int column = 0;
    bool makes_sense = true;

    std::int64_t next_number() {
        makes_sense = makes_sense && statement.is_integer(column);
        return statement.number(column++);
    }
    std::string_view next_bytes() {
        makes_sense = makes_sense && statement.is_text_or_blob(column);
        return statement.bytes(column++);
    }
    template <class Value>
    void set(Value& value, const std::optional<Value>& read) {
        makes_sense = makes_sense && read.has_value();
        value = read.value_or(Value{});
    }

    template <class Number>
    void number(std::string_view /*name*/, Number& value) {
        value = std::bit_cast<Number>(next_number());
    }
    template <class Number>
    void below(std::string_view /*name*/, Number& value, std::int64_t end) {
        const std::int64_t read = next_number();
        makes_sense = makes_sense && 0 <= read && read < end;
        value = static_cast<Number>(read);
    }
    void duration(std::string_view name, core::Duration& value) {
        std::int64_t count = 0;
        below(name, count, std::numeric_limits<std::int64_t>::max());
        value = core::Duration{count};
    }
    void time(std::string_view /*name*/, service::WallTime& value) {
        const std::chrono::nanoseconds since_epoch{next_number()};
        value =
            service::WallTime{std::chrono::duration_cast<std::chrono::microseconds>(since_epoch)};
    }
    void hex(std::string_view /*name*/, std::uint64_t& value) {
        set(value, base::parse_hex(next_bytes()));
    }
    void word(std::string_view /*name*/, core::ScopeKind& value) {
        set(value, core::parse_kind(next_bytes()));
    }
    void word(std::string_view /*name*/, core::Mode& value) {
        set(value, parse_mode(next_bytes()));
    }
    void word(std::string_view /*name*/, core::LeaseState& value) {
        set(value, parse_state(next_bytes()));
    }
    void bytes(std::string_view /*name*/, std::string& value) { value = next_bytes(); }
};

}  // namespace

std::string_view to_text(core::LeaseState state) {
    return state == core::LeaseState::grace ? state_grace : state_held;
}

const std::vector<LeaseColumn>& lease_columns() {
    static const std::vector<LeaseColumn> columns = [] {
        Lister lister;
        const LeaseRowView any;
        visit_columns(any, lister);
        return std::move(lister.columns);
    }();
    return columns;
}

const std::string& lease_column_names() {
    static const std::string names = [] {
        std::string text;
        for (const LeaseColumn& column : lease_columns()) {
            if (!text.empty()) text += ", ";
            text += column.name;
        }
        return text;
    }();
    return names;
}

SqliteResult<Statement> prepare_put(Database& database) {
    std::string sql = "INSERT INTO locks (" + lease_column_names() + ") VALUES (?";
    for (std::size_t more = lease_columns().size(); more > 1; --more) sql += ",?";
    sql += ") ON CONFLICT (fencing_token) DO UPDATE SET ";
    bool is_first = true;
    for (const LeaseColumn& column : lease_columns()) {
        if (column.name == granted_by_column) continue;
        if (!std::exchange(is_first, false)) sql += ", ";
        sql.append(column.name).append(" = excluded.").append(column.name);
    }
    return database.prepare(sql.c_str());
}

void bind_row(Statement& statement, const LeaseRowView& row) {
    visit_columns(row, Binder{.statement = statement});
}

std::optional<LeaseRow> read_row(const Statement& statement) {
    LeaseRow row;
    Reader reader{.statement = statement};
    visit_columns(row, reader);
    if (!reader.makes_sense) return std::nullopt;
    return row;
}

template <class Row>
Row to_row(const core::Event& event, service::WallTime epoch, std::int64_t start_number) {
    using Text = decltype(Row::name);
    const core::LeaseView& lease = event.lease;
    const bool is_in_grace = event.kind == core::EventKind::expired;
    const core::Time end = lease.is_endless() ? lease.acquired_at : lease.expires_at;
    return {.fence = static_cast<std::uint64_t>(lease.token.fence),
            .secret = static_cast<std::uint64_t>(lease.token.secret),
            .kind = lease.scope.kind,
            .name = Text(lease.scope.name),
            .inode = lease.scope.inode,
            .range = lease.scope.range,
            .owner = Text(lease.owner.name),
            .door = lease.owner.door,
            .mode = lease.mode,
            .permits = event.limit,
            .state = is_in_grace ? core::LeaseState::grace : core::LeaseState::held,
            .ttl = lease.is_endless() ? no_end : lease.ttl,
            .grace = event.grace,
            .memory = event.memory,
            .version = lease.version,
            .acquired_at = epoch + lease.acquired_at.time_since_epoch(),
            .expires_at = epoch + end.time_since_epoch(),
            .request_id = Text(lease.notes.request_id),
            .metadata = Text(lease.notes.metadata),
            .start_number = start_number,
            .members = Text(lease.members),
            .value = Text(lease.value),
            .revision = lease.revision,
            .waiter = Text(lease.notes.waiter),
            .granted_by = {}};
}

template LeaseRow to_row(const core::Event&, service::WallTime, std::int64_t);
template LeaseRowView to_row(const core::Event&, service::WallTime, std::int64_t);

core::RestoreRequest to_request(const LeaseRow& row, std::span<const core::SetMember> members,
                                const LeaseAges& ages, const service::Clock& clock) {
    const bool is_in_grace = row.state == core::LeaseState::grace;
    const core::Time now = clock.now();
    core::RestoreRequest request{
        {.scope = {.kind = row.kind, .name = row.name, .inode = row.inode, .range = row.range},
         .owner = {.door = row.door, .name = row.owner},
         .mode = row.mode,
         .limit = row.permits,
         .members = members,
         .ttl = row.ttl == no_end ? core::endless : row.ttl,
         .grace = row.grace,
         .memory = row.memory,
         .notes = {.request_id = row.request_id, .metadata = row.metadata, .waiter = row.waiter},
         .value = row.value}};
    request.token = {.fence = core::Fence{row.fence}, .secret = core::Secret{row.secret}};
    request.is_in_grace = is_in_grace;
    request.remaining = ages.remaining(row.start_number, is_in_grace ? row.grace : row.ttl);
    request.acquired_at = now + (row.acquired_at - clock.wall(now));
    request.version = row.version;
    request.revision = row.revision;
    request.by = row.granted_by;
    return request;
}

}  // namespace holdfast::store

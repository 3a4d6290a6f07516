#include "store/tables/lease_row.h"

#include <algorithm>
#include <bit>
#include <initializer_list>
#include <limits>
#include <optional>

#include "base/text/hex.h"

namespace holdfast::store {

namespace {

constexpr std::string_view state_held = "held", state_grace = "grace";

std::int64_t as_signed(std::uint64_t number) {
    return std::bit_cast<std::int64_t>(number);
}
std::uint64_t as_unsigned(std::int64_t number) {
    return std::bit_cast<std::uint64_t>(number);
}

std::int64_t nanoseconds(service::WallTime time) {
    return std::chrono::nanoseconds(time.time_since_epoch()).count();
}

service::WallTime from_nanoseconds(std::int64_t count) {
    return service::WallTime{
        std::chrono::duration_cast<std::chrono::microseconds>(std::chrono::nanoseconds{count})};
}

// The one of `values` that is written as `text`.
template <class Value>
std::optional<Value> parse_one_of(std::initializer_list<Value> values, std::string_view text) {
    for (const Value value : values) {
        if (core::to_text(value) == text) return value;
    }
    return std::nullopt;
}

std::optional<core::ScopeKind> parse_kind(std::string_view text) {
    using enum core::ScopeKind;
    return parse_one_of({named, semaphore, path, inode, range}, text);
}

std::optional<core::Mode> parse_mode(std::string_view text) {
    return parse_one_of({core::Mode::exclusive, core::Mode::shared}, text);
}

std::optional<core::LeaseState> parse_state(std::string_view text) {
    if (text == state_held) return core::LeaseState::held;
    if (text == state_grace) return core::LeaseState::grace;
    return std::nullopt;
}

std::string hex_of(std::uint64_t number) {
    std::string text;
    base::append_hex(text, number);
    return text;
}

}  // namespace

std::string_view to_text(core::LeaseState state) {
    return state == core::LeaseState::grace ? state_grace : state_held;
}

const std::string_view row_columns =
    "fencing_token, lease_id, kind, lock_name, inode, range_start, range_end, owner_id, door, "
    "mode, permits, state, ttl_us, grace_us, memory_us, version, acquired_ns, lease_expiry_ns, "
    "request_id, metadata, start_number";

SqliteResult<Statement> prepare_put(Database& database) {
    std::string sql = "INSERT OR REPLACE INTO locks (";
    sql.append(row_columns).append(") VALUES (?");
    for (auto more = std::ranges::count(row_columns, ','); more > 0; --more) sql += ",?";
    sql += ')';
    return database.prepare(sql.c_str());
}

template <class Row>
Row to_row(const core::Event& event, service::WallTime epoch, std::int64_t start_number) {
    using Text = decltype(Row::name);
    const core::LeaseView& lease = event.lease;
    const bool is_in_grace = event.kind == core::EventKind::expired;
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
            .ttl = lease.ttl,
            .grace = event.grace,
            .memory = event.memory,
            .version = lease.version,
            .acquired_at = epoch + lease.acquired_at.time_since_epoch(),
            .expires_at = epoch + lease.expires_at.time_since_epoch(),
            .request_id = Text(lease.notes.request_id),
            .metadata = Text(lease.notes.metadata),
            .start_number = start_number};
}

template LeaseRow to_row(const core::Event&, service::WallTime, std::int64_t);
template LeaseRowView to_row(const core::Event&, service::WallTime, std::int64_t);

core::RestoreRequest to_request(const LeaseRow& row, const LeaseAges& ages,
                                const service::Clock& clock) {
    const bool is_in_grace = row.state == core::LeaseState::grace;
    const core::Time now = clock.now();
    return {.scope = {.kind = row.kind, .name = row.name, .inode = row.inode, .range = row.range},
            .owner = {.door = row.door, .name = row.owner},
            .mode = row.mode,
            .limit = row.permits,
            .token = {.fence = core::Fence{row.fence}, .secret = core::Secret{row.secret}},
            .ttl = row.ttl,
            .grace = row.grace,
            .memory = row.memory,
            .is_in_grace = is_in_grace,
            .remaining = ages.remaining(row.start_number, is_in_grace ? row.grace : row.ttl),
            .acquired_at = now + (row.acquired_at - clock.wall(now)),
            .version = row.version,
            .notes = {.request_id = row.request_id, .metadata = row.metadata}};
}

void bind_row(Statement& statement, const LeaseRowView& row) {
    int place = 0;
    const auto number = [&](std::int64_t value) { statement.bind(++place, value); };
    const auto text = [&](std::string_view value) { statement.bind_text(++place, value); };
    const auto bytes = [&](std::string_view value) { statement.bind(++place, value); };
    number(as_signed(row.fence));
    statement.bind_copy(++place, hex_of(row.secret));
    text(core::to_text(row.kind));
    bytes(row.name);
    number(as_signed(row.inode));
    number(as_signed(row.range.start));
    number(as_signed(row.range.end));
    bytes(row.owner);
    number(static_cast<std::int64_t>(row.door));
    text(core::to_text(row.mode));
    number(row.permits);
    text(to_text(row.state));
    number(row.ttl.count());
    number(row.grace.count());
    number(row.memory.count());
    number(as_signed(row.version));
    number(nanoseconds(row.acquired_at));
    number(nanoseconds(row.expires_at));
    bytes(row.request_id);
    bytes(row.metadata);
    number(row.start_number);
}

std::optional<LeaseRow> read_row(const Statement& statement) {
    int column = 0;
    bool makes_sense = true;
    const auto number = [&] {
        makes_sense = makes_sense && statement.is_integer(column);
        return statement.number(column++);
    };
    const auto bytes = [&] {
        makes_sense = makes_sense && statement.is_text_or_blob(column);
        return statement.bytes(column++);
    };
    const auto known = [&](auto parsed) {
        makes_sense = makes_sense && parsed.has_value();
        return parsed.value_or(typename decltype(parsed)::value_type{});
    };
    const auto number_below = [&](std::int64_t end) {
        const std::int64_t value = number();
        makes_sense = makes_sense && 0 <= value && value < end;
        return value;
    };
    const auto duration = [&] {
        return core::Duration{number_below(std::numeric_limits<std::int64_t>::max())};
    };
    LeaseRow row;
    row.fence = as_unsigned(number());
    row.secret = known(base::parse_hex(bytes()));
    row.kind = known(parse_kind(bytes()));
    row.name = bytes();
    row.inode = as_unsigned(number());
    row.range.start = as_unsigned(number());
    row.range.end = as_unsigned(number());
    row.owner = bytes();
    row.door = core::Door{static_cast<std::uint8_t>(number_below(1 << 8))};
    row.mode = known(parse_mode(bytes()));
    row.permits = static_cast<std::uint32_t>(number_below(std::int64_t{1} << 32));
    row.state = known(parse_state(bytes()));
    row.ttl = duration();
    row.grace = duration();
    row.memory = duration();
    row.version = static_cast<std::uint64_t>(number_below(std::int64_t{1} << 53));
    row.acquired_at = from_nanoseconds(number());
    row.expires_at = from_nanoseconds(number());
    row.request_id = bytes();
    row.metadata = bytes();
    row.start_number = number();
    if (!makes_sense) return std::nullopt;
    return row;
}

}  // namespace holdfast::store

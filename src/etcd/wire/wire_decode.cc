#include "etcd/wire/protobuf.h"
#include "etcd/wire/wire.h"

namespace holdfast::etcd {

namespace {

// Calls `read` with every field of the message. False if the message is malformed or `read` refuses
// a field.
template <class Read>
bool for_each_field(std::string_view bytes, Read read) {
    FieldReader reader(bytes);
    while (reader.next()) {
        if (!read(reader)) return false;
    }
    return reader.is_well_formed();
}

struct Header {
    std::uint64_t member = 0;
    Revision revision = 0;
};

bool read_header(std::string_view bytes, Header& header) {
    return for_each_field(bytes, [&](const FieldReader& field) {
        if (field.field() == 2) header.member = field.number();
        if (field.field() == 3) header.revision = field.signed_number();
        return true;
    });
}

bool read_revision(std::string_view bytes, Revision& revision) {
    Header header;
    if (!read_header(bytes, header)) return false;
    revision = header.revision;
    return true;
}

bool read_key_value(std::string_view bytes, KeyValue& entry) {
    return for_each_field(bytes, [&](const FieldReader& field) {
        switch (field.field()) {
            case 1: entry.key = field.bytes(); break;
            case 2: entry.create_revision = field.signed_number(); break;
            case 3: entry.mod_revision = field.signed_number(); break;
            case 4: entry.version = field.signed_number(); break;
            case 5: entry.value = field.bytes(); break;
            case 6: entry.lease = field.signed_number(); break;
            default: break;
        }
        return true;
    });
}

// `entries_left` is what one answer may still have, all its ranges together.
bool read_range(std::string_view bytes, RangeAnswer& answer, std::size_t& entries_left) {
    return for_each_field(bytes, [&](const FieldReader& field) {
        switch (field.field()) {
            case 1: return read_revision(field.bytes(), answer.revision);
            case 2:
                if (entries_left-- == 0) return false;
                return read_key_value(field.bytes(), answer.found.emplace_back());
            case 3: answer.has_more = field.number() != 0; break;
            case 4: answer.count = field.signed_number(); break;
            default: break;
        }
        return true;
    });
}

bool read_event(std::string_view bytes, WatchEvent& event) {
    return for_each_field(bytes, [&](const FieldReader& field) {
        if (field.field() == 1) event.is_removal = field.number() == 1;
        if (field.field() == 2) return read_key_value(field.bytes(), event.entry);
        return true;
    });
}

template <class T, class Read>
std::optional<T> decode(std::string_view bytes, Read read) {
    std::optional<T> answer(std::in_place);
    const bool is_whole = for_each_field(
        bytes, [&](const FieldReader& field) { return read(*answer, field, field.field()); });
    if (!is_whole) answer.reset();
    return answer;
}

}  // namespace

std::optional<RangeAnswer> decode_range(std::string_view bytes) {
    std::optional<RangeAnswer> answer(std::in_place);
    std::size_t entries_left = entries_max;
    if (!read_range(bytes, *answer, entries_left)) answer.reset();
    return answer;
}

// A response to a nested transaction (field 4) is skipped, so nothing here is recursive.
std::optional<TransactionAnswer> decode_transaction(std::string_view bytes) {
    std::size_t entries_left = entries_max;
    const auto read_response = [&](std::string_view response, TransactionAnswer& answer) {
        return for_each_field(response, [&](const FieldReader& field) {
            if (field.field() != 1) return true;
            if (answer.ranges.size() == ranges_max) return false;
            return read_range(field.bytes(), answer.ranges.emplace_back(), entries_left);
        });
    };
    return decode<TransactionAnswer>(
        bytes, [&](TransactionAnswer& answer, const FieldReader& field, std::uint32_t number) {
            if (number == 1) return read_revision(field.bytes(), answer.revision);
            if (number == 2) answer.is_true = field.number() != 0;
            if (number == 3) return read_response(field.bytes(), answer);
            return true;
        });
}

std::optional<Revision> decode_compaction(std::string_view bytes) {
    return decode<Revision>(bytes,
                            [](Revision& revision, const FieldReader& field, std::uint32_t number) {
                                return number != 1 || read_revision(field.bytes(), revision);
                            });
}

std::optional<LeaseAnswer> decode_lease(std::string_view bytes) {
    return decode<LeaseAnswer>(
        bytes, [](LeaseAnswer& answer, const FieldReader& field, std::uint32_t number) {
            if (number == 2) answer.id = field.signed_number();
            if (number == 3) answer.ttl_seconds = field.signed_number();
            return true;
        });
}

std::optional<LeaseAnswer> decode_revocation(std::string_view bytes) {
    return decode<LeaseAnswer>(
        bytes, [](LeaseAnswer&, const FieldReader&, std::uint32_t) { return true; });
}

std::optional<StatusAnswer> decode_status(std::string_view bytes) {
    constexpr std::size_t errors_max = 1000;
    return decode<StatusAnswer>(
        bytes, [](StatusAnswer& answer, const FieldReader& field, std::uint32_t number) {
            Header header;
            switch (number) {
                case 1:
                    if (!read_header(field.bytes(), header)) return false;
                    answer.member = header.member;
                    break;
                case 2: answer.version = field.bytes(); break;
                case 3: answer.database_bytes = field.signed_number(); break;
                case 4: answer.leader = field.number(); break;
                case 8:
                    if (answer.errors.size() == errors_max) return false;
                    answer.errors.emplace_back(field.bytes());
                    break;
                case 9: answer.database_bytes_in_use = field.signed_number(); break;
                default: break;
            }
            return true;
        });
}

std::optional<std::string> decode_authenticate(std::string_view bytes) {
    return decode<std::string>(
        bytes, [](std::string& token, const FieldReader& field, std::uint32_t number) {
            if (number == 2) token = field.bytes();
            return true;
        });
}

std::optional<WatchAnswer> decode_watch(std::string_view bytes) {
    return decode<WatchAnswer>(
        bytes, [](WatchAnswer& answer, const FieldReader& field, std::uint32_t number) {
            switch (number) {
                case 1: return read_revision(field.bytes(), answer.revision);
                case 4: answer.is_cancelled = field.number() != 0; break;
                case 5: answer.compact_revision = field.signed_number(); break;
                case 6: answer.cancel_reason = field.bytes(); break;
                case 11:
                    if (answer.events.size() == entries_max) return false;
                    return read_event(field.bytes(), answer.events.emplace_back());
                default: break;
            }
            return true;
        });
}

}  // namespace holdfast::etcd

#include "base/check.h"
#include "etcd/wire/protobuf.h"
#include "etcd/wire/wire.h"

namespace holdfast::etcd {

namespace {

void write_range(FieldWriter& writer, const RangeRequest& request) {
    writer.bytes(1, request.key);
    writer.bytes(2, request.range_end);
    writer.number(3, request.limit);
    writer.number(4, request.revision);
    writer.number(9, request.is_count_only ? 1 : 0);
}

std::int64_t result_number(Compare::Result result) {
    switch (result) {
        case Compare::Result::equal: return 0;
        case Compare::Result::greater: return 1;
        case Compare::Result::less: return 2;
        case Compare::Result::not_equal: return 3;
    }
    CHECK(false);
}

std::int64_t target_number(Compare::Target target) {
    switch (target) {
        case Compare::Target::version: return 0;
        case Compare::Target::create_revision: return 1;
        case Compare::Target::mod_revision: return 2;
        case Compare::Target::value: return 3;
        case Compare::Target::lease: return 4;
    }
    CHECK(false);
}

void write_compare(FieldWriter& writer, const Compare& compare) {
    const std::int64_t target = target_number(compare.target);
    writer.number(1, result_number(compare.result));
    writer.number(2, target);
    writer.bytes(3, compare.key);
    // The fields 4 to 8 are a oneof, in the order of the targets.
    const auto field = static_cast<std::uint32_t>(4 + target);
    if (compare.target == Compare::Target::value) {
        writer.chosen_bytes(field, compare.value);
    } else {
        writer.chosen_number(field, compare.number);
    }
}

void write_transaction(FieldWriter& writer, const Transaction& transaction);

void write_operation(FieldWriter& writer, const Operation& operation) {
    switch (operation.kind) {
        case Operation::Kind::range:
            writer.message(1, [&](FieldWriter& body) {
                body.bytes(1, operation.key);
                body.bytes(2, operation.range_end);
            });
            break;
        case Operation::Kind::put:
            writer.message(2, [&](FieldWriter& body) {
                body.bytes(1, operation.key);
                body.bytes(2, operation.value);
                body.number(3, operation.lease);
            });
            break;
        case Operation::Kind::remove:
            writer.message(3, [&](FieldWriter& body) {
                body.bytes(1, operation.key);
                body.bytes(2, operation.range_end);
            });
            break;
        case Operation::Kind::transaction:
            CHECK(operation.nested);
            writer.message(4,
                           [&](FieldWriter& body) { write_transaction(body, *operation.nested); });
            break;
    }
}

void write_transaction(FieldWriter& writer, const Transaction& transaction) {
    for (const Compare& one : transaction.conditions) {
        writer.message(1, [&](FieldWriter& body) { write_compare(body, one); });
    }
    for (const Operation& one : transaction.then) {
        writer.message(2, [&](FieldWriter& body) { write_operation(body, one); });
    }
    for (const Operation& one : transaction.otherwise) {
        writer.message(3, [&](FieldWriter& body) { write_operation(body, one); });
    }
}

template <class Write>
std::string encode(Write write) {
    std::string output;
    FieldWriter writer(output);
    write(writer);
    return output;
}

}  // namespace

std::string encode_range(const RangeRequest& request) {
    return encode([&](FieldWriter& writer) { write_range(writer, request); });
}

std::string encode_transaction(const Transaction& transaction) {
    return encode([&](FieldWriter& writer) { write_transaction(writer, transaction); });
}

std::string encode_compaction(Revision revision) {
    return encode([&](FieldWriter& writer) { writer.number(1, revision); });
}

std::string encode_grant(LeaseId id, std::int64_t ttl_seconds) {
    return encode([&](FieldWriter& writer) {
        writer.number(1, ttl_seconds);
        writer.number(2, id);
    });
}

std::string encode_lease(LeaseId id) {
    return encode([&](FieldWriter& writer) { writer.number(1, id); });
}

std::string encode_watch(const WatchRequest& request) {
    return encode([&](FieldWriter& writer) {
        writer.message(1, [&](FieldWriter& create) {
            create.bytes(1, request.key);
            create.bytes(2, request.range_end);
            create.number(3, request.start);
        });
    });
}

std::string encode_authenticate(const Credentials& credentials) {
    return encode([&](FieldWriter& writer) {
        writer.bytes(1, credentials.user);
        writer.bytes(2, credentials.password);
    });
}

}  // namespace holdfast::etcd

// The bytes here were derived by hand from etcd's rpc.proto. client_test.cc shows that a real etcd
// understands what is encoded, and that what it answers is understood.

#include "etcd/wire/wire.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

namespace holdfast::etcd {
namespace {

// Text in quotes is itself, everything else are bytes in hexadecimal digits.
std::string bytes(std::string_view notation) {
    std::string result;
    while (!notation.empty()) {
        const char first = notation.front();
        if (first == '\'') {
            const std::size_t end = notation.find('\'', 1);
            result += notation.substr(1, end - 1);
            notation.remove_prefix(end + 1);
        } else if (first == ' ') {
            notation.remove_prefix(1);
        } else {
            result += static_cast<char>(std::stoi(std::string(notation.substr(0, 2)), nullptr, 16));
            notation.remove_prefix(2);
        }
    }
    return result;
}

TEST(Encode, Ranges) {
    EXPECT_EQ(encode_range({.key = "k"}), bytes("0a 01 'k'"));
    EXPECT_EQ(
        encode_range(
            {.key = "a", .range_end = "b", .limit = 300, .revision = 5, .is_count_only = true}),
        bytes("0a 01 'a' 12 01 'b' 18 ac 02 20 05 48 01"));
}

TEST(Encode, ConditionsEvenWhereTheyAreZero) {
    using Target = Compare::Target;
    using Result = Compare::Result;
    const auto encoded = [](Compare compare) {
        return encode_transaction({.conditions = {std::move(compare)}});
    };
    EXPECT_EQ(encoded({.target = Target::version, .key = "k"}), bytes("0a 05 1a 01 'k' 20 00"));
    EXPECT_EQ(encoded({.target = Target::create_revision, .key = "k"}),
              bytes("0a 07 10 01 1a 01 'k' 28 00"));
    EXPECT_EQ(
        encoded(
            {.target = Target::mod_revision, .result = Result::greater, .key = "k", .number = 7}),
        bytes("0a 09 08 01 10 02 1a 01 'k' 30 07"));
    EXPECT_EQ(encoded({.target = Target::value, .result = Result::less, .key = "k", .value = "v"}),
              bytes("0a 0a 08 02 10 03 1a 01 'k' 3a 01 'v'"));
    EXPECT_EQ(encoded({.target = Target::value, .key = "k"}), bytes("0a 07 10 03 1a 01 'k' 3a 00"));
    EXPECT_EQ(
        encoded({.target = Target::lease, .result = Result::not_equal, .key = "k", .number = 1}),
        bytes("0a 09 08 03 10 04 1a 01 'k' 40 01"));
}

TEST(Encode, Transactions) {
    Transaction inner{.then = {Operation::put("b", "2")}};
    const Transaction transaction{
        .then = {Operation::put("a", "1", 9), Operation::remove("c"),
                 Operation::transaction(std::move(inner))},
        .otherwise = {Operation::range("a"),
                      {.kind = Operation::Kind::remove, .key = "x", .range_end = "y"}}};
    EXPECT_EQ(encode_transaction(transaction),
              bytes("12 0a 12 08 0a 01 'a' 12 01 '1' 18 09"        // put
                    "12 05 1a 03 0a 01 'c'"                        // remove
                    "12 0c 22 0a 12 08 12 06 0a 01 'b' 12 01 '2'"  // nested
                    "1a 05 0a 03 0a 01 'a'"                        // range
                    "1a 08 1a 06 0a 01 'x' 12 01 'y'"));
}

TEST(Encode, TheSmallRequests) {
    EXPECT_EQ(encode_compaction(300), bytes("08 ac 02"));
    EXPECT_EQ(encode_grant(0, 3), bytes("08 03"));
    EXPECT_EQ(encode_grant(5, 3), bytes("08 03 10 05"));
    EXPECT_EQ(encode_lease(5), bytes("08 05"));
    EXPECT_EQ(encode_watch({.key = "k", .range_end = "l", .start = 7}),
              bytes("0a 08 0a 01 'k' 12 01 'l' 18 07"));
    EXPECT_EQ(encode_authenticate({.user = "u", .password = "p"}), bytes("0a 01 'u' 12 01 'p'"));
}

// Cluster 1, member 2, revision 9, term 4.
constexpr std::string_view header = "0a 08 08 01 10 02 18 09 20 04";
// Key k, created at 3, changed at 4, version 2, value v, lease 6.
constexpr std::string_view entry = "0a 01 'k' 10 03 18 04 20 02 2a 01 'v' 30 06";

void expect_entry(const KeyValue& found) {
    EXPECT_EQ(found.key, "k");
    EXPECT_EQ(found.create_revision, 3);
    EXPECT_EQ(found.mod_revision, 4);
    EXPECT_EQ(found.version, 2);
    EXPECT_EQ(found.value, "v");
    EXPECT_EQ(found.lease, 6);
}

std::string range_answer() {
    return bytes(std::string(header) + "12 0e " + std::string(entry) + "12 00 18 01 20 07");
}

TEST(Decode, Ranges) {
    const auto answer = decode_range(range_answer());
    ASSERT_TRUE(answer);
    EXPECT_EQ(answer->revision, 9);
    ASSERT_EQ(answer->found.size(), 2U);
    expect_entry(answer->found[0]);
    EXPECT_EQ(answer->found[1].key, "");
    EXPECT_TRUE(answer->has_more);
    EXPECT_EQ(answer->count, 7);
}

std::string transaction_answer() {
    // A put, a range, a nested transaction with a range in it, another range.
    return bytes(std::string(header) + "10 01 1a 02 12 00 1a 12 0a 10 12 0e " + std::string(entry) +
                 "1a 08 22 06 1a 04 0a 02 20 07 1a 04 0a 02 20 05");
}

TEST(Decode, Transactions) {
    const auto answer = decode_transaction(transaction_answer());
    ASSERT_TRUE(answer);
    EXPECT_EQ(answer->revision, 9);
    EXPECT_TRUE(answer->is_true);
    ASSERT_EQ(answer->ranges.size(), 2U);
    ASSERT_EQ(answer->ranges[0].found.size(), 1U);
    expect_entry(answer->ranges[0].found[0]);
    EXPECT_EQ(answer->ranges[1].count, 5);
}

std::string watch_answer() {
    return bytes(std::string(header) + "10 01 20 01 28 05 32 03 'why' 5a 10 12 0e " +
                 std::string(entry) + "5a 07 08 01 12 03 0a 01 'd'");
}

TEST(Decode, Watches) {
    const auto answer = decode_watch(watch_answer());
    ASSERT_TRUE(answer);
    EXPECT_EQ(answer->revision, 9);
    EXPECT_TRUE(answer->is_cancelled);
    EXPECT_EQ(answer->compact_revision, 5);
    EXPECT_EQ(answer->cancel_reason, "why");
    ASSERT_EQ(answer->events.size(), 2U);
    EXPECT_FALSE(answer->events[0].is_removal);
    expect_entry(answer->events[0].entry);
    EXPECT_TRUE(answer->events[1].is_removal);
    EXPECT_EQ(answer->events[1].entry.key, "d");
}

TEST(Decode, TheSmallAnswers) {
    const std::string head(header);
    EXPECT_EQ(decode_compaction(bytes(head)), 9);
    const auto lease = decode_lease(bytes(head + "10 05 18 03"));
    ASSERT_TRUE(lease);
    EXPECT_EQ(lease->id, 5);
    EXPECT_EQ(lease->ttl_seconds, 3);
    EXPECT_EQ(decode_lease(bytes(head + "10 05"))->ttl_seconds, 0);
    EXPECT_TRUE(decode_revocation(bytes(head)));
    EXPECT_EQ(decode_authenticate(bytes(head + "12 03 'tok'")), "tok");
    const auto status =
        decode_status(bytes(head + "12 05 '3.5.1' 18 64 20 02 28 09 42 01 'e' 42 01 'f' 48 32"));
    ASSERT_TRUE(status);
    EXPECT_EQ(status->version, "3.5.1");
    EXPECT_EQ(status->member, 2U);
    EXPECT_EQ(status->leader, 2U);
    EXPECT_EQ(status->database_bytes, 100);
    EXPECT_EQ(status->database_bytes_in_use, 50);
    EXPECT_EQ(status->errors, (std::vector<std::string>{"e", "f"}));
}

TEST(Decode, BearsEveryAnswerCutAnywhereAndWithAnyByteChanged) {
    for (const std::string& whole : {range_answer(), transaction_answer(), watch_answer()}) {
        for (std::size_t i = 0; i <= whole.size(); ++i) {
            const std::string cut = whole.substr(0, i);
            (void)decode_range(cut);
            (void)decode_transaction(cut);
            (void)decode_watch(cut);
            (void)decode_status(cut);
            for (const char byte : {'\0', '\x7f', '\x80', '\xff'}) {
                std::string changed = whole;
                changed.resize(std::max(changed.size(), i + 1));
                changed[i] = byte;
                (void)decode_range(changed);
                (void)decode_transaction(changed);
                (void)decode_watch(changed);
                (void)decode_status(changed);
            }
        }
    }
    EXPECT_FALSE(decode_range(range_answer().substr(0, 15)));
    EXPECT_FALSE(decode_transaction(transaction_answer().substr(0, 20)));
    EXPECT_FALSE(decode_watch(watch_answer().substr(0, 20)));
}

TEST(Decode, LimitsWhatAFewBytesMayBecome) {
    const auto repeated = [](std::string_view notation, std::size_t count) {
        std::string all;
        for (std::size_t i = 0; i < count; ++i) all += bytes(notation);
        return all;
    };
    EXPECT_TRUE(decode_range(repeated("12 00", 1000)));
    EXPECT_FALSE(decode_range(repeated("12 00", entries_max + 1)));
    EXPECT_FALSE(decode_watch(repeated("5a 00", entries_max + 1)));
    EXPECT_TRUE(decode_transaction(repeated("1a 02 0a 00", ranges_max)));
    EXPECT_FALSE(decode_transaction(repeated("1a 02 0a 00", ranges_max + 1)));
    // The entries of all ranges are counted together. The lengths: 2 000 000 and 2 000 004.
    const std::string largest = bytes("1a 84 89 7a 0a 80 89 7a") + repeated("12 00", entries_max);
    EXPECT_TRUE(decode_transaction(largest));
    EXPECT_FALSE(decode_transaction(bytes("1a 04 0a 02 12 00") + largest));
}

}  // namespace
}  // namespace holdfast::etcd

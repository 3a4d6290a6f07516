#include "cluster/records/lease_record.h"

#include <gmock/gmock.h>

#include <random>

#include "cluster/records/written_leases.h"

namespace holdfast::cluster {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;

constexpr service::WallTime wall{1'768'473'000s};

std::string random_bytes(std::mt19937_64& random) {
    static const std::string pieces[] = {"a",
                                         "job",
                                         "\"",
                                         "\\",
                                         "\n",
                                         "\x7f",
                                         "\xC3\xA4",
                                         "\xFF",
                                         std::string(1, '\0'),
                                         ",\"version\":"};
    std::string bytes;
    for (auto count = random() % 5; count > 0; --count) bytes += pieces[random() % 10];
    return bytes;
}

LeaseRecord random_record(std::mt19937_64& random) {
    LeaseRecord record;
    record.token = {.fence = core::Fence{random() >> 11U}, .secret = core::Secret{random()}};
    record.kind = static_cast<core::ScopeKind>(random() % 5);
    record.name = random_bytes(random);
    record.inode = random() % 2 == 0 ? 0 : random();
    if (random() % 2 == 0) record.range = {.start = random(), .end = random()};
    record.door = static_cast<core::Door>(random() % 256);
    record.owner = random_bytes(random);
    record.mode = static_cast<core::Mode>(random() % 2);
    record.permits = static_cast<std::uint32_t>(random());
    record.is_in_grace = random() % 2 == 0;
    record.ttl = core::Duration{static_cast<std::int64_t>(random() >> 1U) - 1};
    record.grace = core::Duration{static_cast<std::int64_t>(random() % 1000)};
    record.memory = core::Duration{static_cast<std::int64_t>(random() % 3)};
    record.version = random() >> 11U;
    record.acquired_at = wall + std::chrono::microseconds{random() % 1'000'000'000};
    record.request_id = random_bytes(random);
    record.metadata = random_bytes(random);
    record.value = random_bytes(random);
    record.revision = random() % 3;
    record.waiter = random_bytes(random);
    record.granted_by = random_bytes(random);
    if (random() % 4 == 0) {
        const std::string path = "/" + random_bytes(random);
        const std::vector<core::SetMember> members{
            {.scope = core::Scope::path(path)},
            {.scope = core::Scope::of_inode(random()), .mode = core::Mode::shared}};
        record.members = core::set_to_text(members);
        record.kind = core::ScopeKind::path;
    }
    return record;
}

TEST(LeaseRecord, ComesBackAsItWas) {
    std::mt19937_64 random(1);
    for (int count = 0; count < 2000; ++count) {
        const LeaseRecord record = random_record(random);
        const auto read = parse_lease(record.token.fence, to_text(record));
        ASSERT_TRUE(read) << read.error().message;
        EXPECT_EQ(*read, record) << to_text(record);
    }
}

TEST(LeaseRecord, HasNoEndIfTheLeaseHasNone) {
    const service::ManualClock clock(wall);
    const core::Event event{.lease = {.scope = core::Scope::named("job"),
                                      .token = {.fence = core::Fence{7}},
                                      .expires_at = core::Time::max(),
                                      .ttl = core::endless}};
    const auto record = parse_lease(core::Fence{7}, to_record(event, wall));
    ASSERT_TRUE(record) << record.error().message;
    EXPECT_EQ(to_request(*record, {}, clock).ttl, core::endless);
}

// Written to etcd: another version must be able to read it.
TEST(LeaseRecord, StaysAsItIs) {
    core::Event event{.lease = {.scope = core::Scope::named("job"),
                                .owner = {.name = "laptop1"},
                                .token = {.fence = core::Fence{7}, .secret = core::Secret{0xab}},
                                .acquired_at = core::Time{2s},
                                .ttl = 30s,
                                .version = 3}};
    EXPECT_EQ(to_record(event, wall),
              R"({"id":"00000000000000ab","name":"job","owner":"laptop1","ttl_us":30000000,)"
              R"("version":3,"acquired_us":1768473002000000})");
    event.lease.scope = core::Scope::of_range(5, {.start = 10, .end = 20});
    event.lease.owner = {.door = core::Door{2}, .name = "\xFF"};
    event.lease.mode = core::Mode::shared;
    event.kind = core::EventKind::expired;
    event.grace = 5s;
    event.memory = 6s;
    event.limit = 4;
    event.lease.notes = {.request_id = "r", .metadata = "m"};
    EXPECT_EQ(to_record(event, wall),
              R"({"id":"00000000000000ab","kind":"range","inode":5,"start":10,"end":20,)"
              R"("owner_hex":"ff","door":2,"mode":"shared","permits":4,"state":"grace",)"
              R"("ttl_us":30000000,"grace_us":5000000,"memory_us":6000000,"request_id":"r",)"
              R"("metadata":"m","version":3,"acquired_us":1768473002000000})");
}

// Nodes of older versions ignore what they do not know.
TEST(LeaseRecord, SaysWhoHasAskedForTheLeaseIfThatIsKnown) {
    const core::Event event{.lease = {.scope = core::Scope::named("job"),
                                      .token = {.fence = core::Fence{7}},
                                      .ttl = 30s}};
    const std::string text = to_record(event, wall, {.waited = 2s, .by = "ci"});
    EXPECT_EQ(text,
              R"({"id":"0000000000000000","name":"job","ttl_us":30000000,"waited_us":2000000,)"
              R"("granted_by":"ci","acquired_us":1768473000000000})");
    EXPECT_EQ(parse_lease(core::Fence{7}, text)->granted_by, "ci");
    const std::string from_the_future = R"({"granted_in":1,)" + text.substr(1);
    EXPECT_EQ(parse_lease(core::Fence{7}, from_the_future)->granted_by, "ci");
}

// Nodes of older versions know no kind `set`: they do not lead, instead of giving away the scopes
// that they cannot see.
TEST(LeaseRecord, OfASetStaysAsItIs) {
    core::Event event{.lease = {.scope = core::Scope::path("/a"),
                                .owner = {.name = "ann"},
                                .token = {.fence = core::Fence{7}, .secret = core::Secret{0xab}},
                                .ttl = 30s,
                                .notes = {.waiter = "t1"},
                                .members = "2;x 7:path:/a,s 1:b,",
                                .value = "v",
                                .revision = 2}};
    const std::string text = to_record(event, wall);
    EXPECT_EQ(text,
              R"({"id":"00000000000000ab","kind":"set","name":"/a","owner":"ann",)"
              R"("ttl_us":30000000,"members":"2;x 7:path:/a,s 1:b,","value":"v","revision":2,)"
              R"("waiter":"t1","acquired_us":1768473000000000})");
    const auto record = parse_lease(core::Fence{7}, text);
    ASSERT_TRUE(record) << record.error().message;
    const service::ManualClock clock(wall);
    const auto members = core::parse_set(record->members);
    const core::RestoreRequest lease = to_request(*record, *members, clock);
    EXPECT_EQ(lease.scope, core::Scope::path("/a"));
    EXPECT_EQ(lease.members.size(), 2U);
    EXPECT_EQ(lease.value, "v");
    EXPECT_EQ(lease.revision, 2U);
    EXPECT_EQ(lease.notes.waiter, "t1");
}

TEST(LeaseRecord, OfASetHasTheKindAndTheMembers) {
    const std::string good = R"({"id":"00000000000000ab","acquired_us":1)";
    for (const std::string rest :
         {R"(,"kind":"set"})", R"(,"members":"2;x 1:a,x 1:b,"})",
          R"(,"kind":"set","members":"2;x 1:a,"})", R"(,"kind":"set","members":"1;"})"}) {
        const auto read = parse_lease(core::Fence{7}, good + rest);
        ASSERT_FALSE(read) << rest;
        EXPECT_THAT(read.error().message, HasSubstr("'members' is wrong"));
    }
}

TEST(LeaseRecord, BecomesALeaseWithItsFullTime) {
    const service::ManualClock clock(wall + 100s);
    LeaseRecord record{.ttl = 30s, .grace = 5s, .acquired_at = wall};
    EXPECT_EQ(to_request(record, {}, clock).remaining, 30s);
    EXPECT_EQ(to_request(record, {}, clock).acquired_at, core::Time{-100s});
    record.is_in_grace = true;
    EXPECT_EQ(to_request(record, {}, clock).remaining, 5s);
    EXPECT_TRUE(to_request(record, {}, clock).is_in_grace);
}

TEST(LeaseRecord, SaysWhatIsDamaged) {
    const std::string good = R"({"id":"00000000000000ab","acquired_us":1)";
    ASSERT_TRUE(parse_lease(core::Fence{7}, good + "}"));
    ASSERT_TRUE(parse_lease(core::Fence{7}, good + R"(,"invented_later":1})"));
    const auto fault_of = [](const std::string& text) {
        const auto read = parse_lease(core::Fence{7}, text);
        return read ? "none" : read.error().message;
    };
    for (const std::string field :
         {R"("kind":"door")", R"("mode":1)", R"("state":"gone")", R"("ttl_us":-1)",
          R"("permits":4294967296)", R"("door":256)", R"("version":9007199254740992)",
          R"("grace_us":"soon")", R"("inode":1.5)", R"("name":7)", R"("owner_hex":"F")",
          R"("request_id":"")"}) {
        const std::string name = field.substr(1, field.find('"', 1) - 1);
        const std::string base = name.substr(0, name.find("_hex"));
        EXPECT_EQ(fault_of(good + "," + field + "}"),
                  "the lease with fencing number 7 is damaged in etcd: the field '" + base +
                      "' is wrong");
    }
    EXPECT_THAT(fault_of("[]"), HasSubstr("it is no JSON object"));
    EXPECT_THAT(fault_of(R"({"id":"00000000000000ab"})"), HasSubstr("'acquired_us'"));
    for (std::size_t length = 0; length < good.size(); ++length) {
        EXPECT_NE(fault_of(good.substr(0, length)), "none");
    }
}

TEST(WrittenLeases, KnowsARecordByAllButVersionAndTime) {
    std::mt19937_64 random(2);
    WrittenLeases written;
    LeaseRecord record = random_record(random);
    EXPECT_FALSE(written.is_known(1, to_text(record)));
    record.version += 1;
    record.acquired_at += 3us;
    EXPECT_TRUE(written.is_known(1, to_text(record)));
    EXPECT_FALSE(written.is_known(2, to_text(record)));
    record.ttl += 1us;
    EXPECT_FALSE(written.is_known(1, to_text(record)));
    EXPECT_TRUE(written.is_known(1, to_text(record)));
    written.forget(1);
    EXPECT_FALSE(written.is_known(1, to_text(record)));
}

}  // namespace
}  // namespace holdfast::cluster

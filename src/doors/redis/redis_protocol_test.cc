#include "doors/redis/redis_protocol.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <string>

#include "base/log/log.h"
#include "base/test_happens.h"
#include "doors/redis/commands/keyspace.h"
#include "doors/redis/test_line.h"
#include "service/doors.h"
#include "service/ports/remote_port.h"

namespace holdfast::doors::redis {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

TEST_F(RedisProtocolTest, TakesAndReleasesALockAsRedisDoes) {
    Line line = connect();
    EXPECT_EQ(line.say("SET k me NX PX 30000"), "+OK|");
    EXPECT_EQ(line.say("set k you nx px 30000"), "$-1|");
    EXPECT_EQ(line.say("GET k"), "$2|me|");
    EXPECT_EQ(line.say("PTTL k"), ":30000|");
    at_.clock.advance(1500ms);
    EXPECT_EQ(line.say("PTTL k"), ":28500|");
    EXPECT_EQ(line.say("TTL k"), ":29|");
    EXPECT_EQ(line.say("EXISTS k none k"), ":2|");
    EXPECT_EQ(line.say("TYPE k"), "+string|");
    EXPECT_EQ(line.say("DELEX k IFEQ you"), ":0|");
    EXPECT_EQ(line.say("DELEX k IFEQ me"), ":1|");
    EXPECT_EQ(line.say("GET k"), "$-1|");
    EXPECT_EQ(line.say("PTTL k"), ":-2|");
    EXPECT_EQ(line.say("TYPE k"), "+none|");
}

// The lock is free, but a client that waits for it and for another one comes first.
TEST_F(RedisProtocolTest, ReportsAKeyThatIsFreeButThatAnotherClientHasAskedForEarlier) {
    at_.ask(core::AcquireRequest{
        .scope = core::Scope::named("taken"), .owner = {.name = "bob"}, .ttl = 600s});
    const core::SetMember members[] = {{.scope = core::Scope::named("k")},
                                       {.scope = core::Scope::named("taken")}};
    const core::AcquireRequest both{.scope = members[0].scope,
                                    .owner = {.name = "ann"},
                                    .members = members,
                                    .ttl = 60s,
                                    .wait = 600s};
    EXPECT_EQ(at_.ask(both), "later");
    Line line = connect();
    const std::string refused =
        "-ERR nobody holds the lock, but another client has asked for it earlier|";
    EXPECT_EQ(line.say("SET k v NX PX 5000"), "$-1|");
    EXPECT_EQ(line.say("SET k v PX 5000"), refused);
    EXPECT_EQ(line.say("MSETNX j 1 k 2"), ":0|");
    EXPECT_EQ(line.say("MSET j 1 k 2"), refused);
    EXPECT_EQ(line.say("EXISTS k j"), ":1|");
    EXPECT_EQ(line.say("GET k"), "$3|ann|");
    EXPECT_EQ(line.say("TYPE k"), "+string|");
    EXPECT_EQ(line.say("PTTL k"), ":-1|");
    EXPECT_EQ(line.say("HOLDFAST.FENCE k"), "$-1|");
    // There is no lease to end or to prolong.
    for (const char* command : {"DEL k", "DELIFEQ k ann", "PEXPIRE k 5000", "PERSIST k"}) {
        EXPECT_EQ(line.say(command), ":0|") << command;
    }
    EXPECT_EQ(line.say("SET k ann XX PX 5000"), "$-1|");
    EXPECT_EQ(line.say("SET k ann IFEQ ann PX 5000"), "$-1|");
    EXPECT_EQ(at_.service.counts().waiters, 1U);
}

TEST_F(RedisProtocolTest, UnderstandsEveryFormOfExpiry) {
    Line line = connect();
    const std::int64_t now_s = service::testing::test_epoch.time_since_epoch() / 1s;
    const std::string in_ten = std::to_string(now_s + 10);
    for (const std::string& form : std::initializer_list<std::string>{
             "EX 10", "PX 10000", "EXAT " + in_ten, "PXAT " + in_ten + "000"}) {
        EXPECT_EQ(line.say("SET k v NX " + form), "+OK|") << form;
        EXPECT_EQ(line.say("PTTL k"), ":10000|") << form;
        EXPECT_EQ(line.say("DEL k"), ":1|");
    }
    EXPECT_EQ(line.say("SETEX k 10 v"), "+OK|");
    EXPECT_EQ(line.say("PSETEX k 5000 v"), "+OK|");
    EXPECT_EQ(line.say("PTTL k"), ":5000|");
    EXPECT_EQ(line.say("PERSIST k"), ":1|");
    EXPECT_EQ(line.say("PTTL k"), ":-1|");
    EXPECT_EQ(line.say("PERSIST k"), ":0|");
    EXPECT_EQ(line.say("EXPIRE k 20"), ":1|");
    EXPECT_EQ(line.say("PEXPIREAT k " + in_ten + "000"), ":1|");
    EXPECT_EQ(line.say("PTTL k"), ":10000|");
    EXPECT_EQ(line.say("SET k v XX KEEPTTL"), "+OK|");
    EXPECT_EQ(line.say("PTTL k"), ":10000|");
    EXPECT_EQ(line.say("EXPIREAT k 1"), ":1|") << "that is over: the lock ends";
    EXPECT_EQ(line.say("EXISTS k"), ":0|");
    EXPECT_EQ(line.say("PEXPIRE k 10"), ":0|");
}

TEST_F(RedisProtocolTest, HasLocksWithoutAnEnd) {
    Line line = connect();
    EXPECT_EQ(line.say("SETNX k v"), ":1|");
    EXPECT_EQ(line.say("SETNX k v"), ":0|");
    at_.advance(24h * 400);
    EXPECT_EQ(line.say("TTL k"), ":-1|");
    EXPECT_EQ(line.say("UNLINK k"), ":1|");
}

TEST_F(RedisProtocolTest, NeverOverwritesALock) {
    Line line = connect();
    EXPECT_EQ(line.say("SET k me PX 5000"), "+OK|");
    EXPECT_EQ(line.say("SET k me PX 9000"), "+OK|") << "its own value renews it";
    EXPECT_EQ(line.say("PTTL k"), ":9000|");
    EXPECT_THAT(line.say("SET k you PX 5000"), StartsWith("-ERR 'k' is held with another value"));
    EXPECT_EQ(line.say("SET k you IFEQ you PX 1"), "$-1|");
    EXPECT_THAT(line.say("SET k you IFEQ me PX 1000"), StartsWith("-ERR 'k' is held"));
    EXPECT_EQ(line.say("SET k me IFEQ me PX 7000"), "+OK|");
    EXPECT_EQ(line.say("SET k you XX PX 8000"), "+OK|") << "prolongs it, whoever asks";
    EXPECT_EQ(line.say("GET k"), "$2|me|");
    EXPECT_EQ(line.say("PTTL k"), ":8000|");
    EXPECT_EQ(line.say("SET none you XX PX 8000"), "$-1|");
    EXPECT_EQ(line.say("MSETNX a 1 k 2"), ":0|");
    EXPECT_THAT(line.say("MSET a 1 k 2"), StartsWith("-ERR 'k'"));
    EXPECT_EQ(line.say("MGET a k"), "*2|$-1|$2|me|") << "all or nothing";
    EXPECT_EQ(line.say("MSETNX a 1 b 2"), ":1|");
}

TEST_F(RedisProtocolTest, AnswersMistakesAsRedisDoes) {
    Line line = connect();
    EXPECT_EQ(line.say("NOSUCH a b"),
              "-ERR unknown command 'NOSUCH', with args beginning with: 'a' 'b' |");
    EXPECT_EQ(line.say("LPUSH list x"),
              "-ERR unknown command 'LPUSH', with args beginning with: 'list' 'x' |");
    EXPECT_EQ(line.say("GET"), "-ERR wrong number of arguments for 'get' command|");
    EXPECT_EQ(line.say("SET k v PX"), "-ERR syntax error|");
    EXPECT_EQ(line.say("SET k v NX XX"), "-ERR syntax error|");
    EXPECT_EQ(line.say("SET k v PX 1 EX 1"), "-ERR syntax error|");
    EXPECT_EQ(line.say("SET k v PX abc"), "-ERR value is not an integer or out of range|");
    EXPECT_EQ(line.say("SET k v PX 0"), "-ERR invalid expire time in 'set' command|");
    EXPECT_EQ(line.say("SET k v EX -1"), "-ERR invalid expire time in 'set' command|");
    EXPECT_EQ(line.say("SET k v PX 9223372036854775807"),
              "-ERR invalid expire time in 'set' command|");
    EXPECT_EQ(line.say("SET k v EX 9223372036854776"), "-ERR invalid expire time in 'set' command|")
        << "more than Redis can count";
    EXPECT_EQ(line.say("SELECT 16"), "-ERR DB index is out of range|");
    EXPECT_EQ(line.say("SELECT x"), "-ERR invalid DB index|");
    EXPECT_THAT(line.send({"SET", "", "v", "NX"}), StartsWith("-ERR the key is empty"));
    EXPECT_THAT(line.send({"SET", std::string(5000, 'k'), "v", "NX"}), StartsWith("-ERR the key"));
    EXPECT_EQ(line.send({"SET", "\xffk", "v", "NX"}), "-ERR the key is not UTF-8|");
    EXPECT_EQ(line.send({"SET", "bytes", "\xff\n", "NX"}), "+OK|") << "a value may be any bytes";
    EXPECT_EQ(line.send({"DELIFEQ", "bytes", "\xff\n"}), ":1|");
    EXPECT_THAT(line.send({"SET", "k", std::string(5000, 'v'), "NX"}),
                StartsWith("-ERR the value"));
    EXPECT_EQ(at_.service.counts().leases, 0U);
    EXPECT_FALSE(line.channel.closed);
    EXPECT_EQ(line.say_bytes("*1\r\n:1\r\n"), "-ERR Protocol error: expected '$', got ':'|");
    EXPECT_TRUE(line.channel.closed);
}

// Two libraries ask for 28 000 years, and mean that the lock has no end.
TEST_F(RedisProtocolTest, GrantsTheLongestLeaseToThoseWhoAskForMore) {
    constexpr const char* longest = ":31622400000|";  // 366 days
    Line line = connect();
    EXPECT_EQ(line.say("SET a me NX PX 31622400000"), "+OK|");
    EXPECT_EQ(line.say("SET b me NX PX 31622400001"), "+OK|");
    EXPECT_EQ(line.say("SET c me NX EX 883612800000"), "+OK|");
    EXPECT_EQ(line.say("SET d me NX PX 1152921504606846976"), "+OK|");
    EXPECT_EQ(line.say("SET e me NX PXAT 9223372036854775807"), "+OK|");
    EXPECT_EQ(line.say("SETEX f 883612800000 me"), "+OK|");
    for (const char* key : {"a", "b", "c", "d", "e", "f"}) {
        EXPECT_EQ(line.say("PTTL " + std::string(key)), longest) << key;
    }
    EXPECT_EQ(line.say("SET g me NX PX 1000"), "+OK|");
    EXPECT_EQ(line.say("PEXPIRE g 883612800000000"), ":1|");
    EXPECT_EQ(line.say("PTTL g"), longest);
    EXPECT_EQ(line.say("SET g me XX PX 883612800000000"), "+OK|");
    EXPECT_EQ(line.say("PTTL g"), longest);
    EXPECT_EQ(line.send({"EVAL", "return redis.call('set', 'h', 'me', 'NX', 'PX', ARGV[1])", "0",
                         "883612800000000"}),
              "+OK|");
    EXPECT_EQ(line.say("PTTL h"), longest);
}

TEST_F(RedisProtocolTest, SaysOnceForAConnectionThatATimeWasShortened) {
    base::set_up_log(base::LogFormat::text, base::LogLevel::info);
    ::testing::internal::CaptureStderr();
    Line line = connect(), other = connect();
    EXPECT_EQ(line.say("SET a me NX PX 60000"), "+OK|");
    for (const char* key : {"b", "c", "d"}) {
        EXPECT_EQ(line.say("SET " + std::string(key) + " me NX EX 883612800000"), "+OK|");
    }
    EXPECT_EQ(other.say("SET e me NX EX 883612800000"), "+OK|");
    EXPECT_TRUE(base::flush_log());
    const std::string log = ::testing::internal::GetCapturedStderr();
    base::set_up_log(base::LogFormat::text, base::LogLevel::off);
    EXPECT_THAT(log, HasSubstr("a client asked for a longer lease than the longest door=redis"));
    EXPECT_THAT(log, HasSubstr("granted_s=31622400"));
    EXPECT_EQ(std::count(log.begin(), log.end(), '\n'), 2) << log;
}

TEST_F(RedisProtocolTest, ProlongsUnderConditions) {
    Line line = connect();
    struct Row {
        const char* command;
        const char* without_end;  // what it answers for a lock without an end
        const char* with_60_s;    // ... for one that ends in 60 s
    };
    for (const Row& row :
         {Row{"PEXPIRE k 30000 NX", ":1|", ":0|"}, Row{"PEXPIRE k 30000 XX", ":0|", ":1|"},
          Row{"PEXPIRE k 30000 GT", ":0|", ":0|"}, Row{"EXPIRE k 90 GT", ":0|", ":1|"},
          Row{"PEXPIRE k 60000 GT", ":0|", ":0|"}, Row{"EXPIRE k 30 lt", ":1|", ":1|"},
          Row{"EXPIRE k 90 LT", ":1|", ":0|"}, Row{"PEXPIRE k 60000 LT", ":1|", ":0|"},
          Row{"PEXPIRE k 90000 XX GT", ":0|", ":1|"}, Row{"PEXPIRE k 30000 XX LT", ":0|", ":1|"},
          Row{"PEXPIRE k 30000 XX XX", ":0|", ":1|"}, Row{"PEXPIREAT k 1 GT", ":0|", ":0|"},
          Row{"EXPIREAT k 1 LT", ":1|", ":1|"}, Row{"PEXPIRE k -1 NX", ":1|", ":0|"},
          Row{"PEXPIRE none 30000 NX", ":0|", ":0|"}}) {
        line.say("DEL k");
        EXPECT_EQ(line.say("SET k me NX"), "+OK|");
        EXPECT_EQ(line.say(row.command), row.without_end) << row.command;
        line.say("DEL k");
        EXPECT_EQ(line.say("SET k me NX PX 60000"), "+OK|");
        EXPECT_EQ(line.say(row.command), row.with_60_s) << row.command;
        const bool is_changed = std::string_view(row.with_60_s) == ":1|";
        EXPECT_EQ(line.say("PTTL k") != ":60000|", is_changed) << row.command;
    }
    EXPECT_EQ(line.say("EXPIRE k 1 NX GT"),
              "-ERR NX and XX, GT or LT options at the same time are not compatible|");
    EXPECT_EQ(line.say("EXPIRE k 1 GT LT"),
              "-ERR GT and LT options at the same time are not compatible|");
    EXPECT_EQ(line.say("EXPIRE k x SOON"), "-ERR Unsupported option SOON|");
    EXPECT_EQ(line.say("EXPIRE k x NX"), "-ERR value is not an integer or out of range|");
}

TEST_F(RedisProtocolTest, EndsTheConnectionOfAnHttpClient) {
    Line line = connect();
    EXPECT_EQ(line.say_bytes("POST / HTTP/1.1\r\nHost: x\r\n\r\nSET k v NX\r\n"), "");
    EXPECT_TRUE(line.channel.closed);
    EXPECT_EQ(at_.service.counts().leases, 0U);
}

TEST_F(RedisProtocolTest, SpeaksBothVersionsAndAnswersHandshakes) {
    Line line = connect();
    EXPECT_EQ(line.say("PING"), "+PONG|");
    EXPECT_EQ(line.say("PING hi"), "$2|hi|");
    EXPECT_THAT(line.say("HELLO 3 SETNAME lib"), StartsWith("%7|$6|server|$5|redis|"));
    EXPECT_EQ(line.say("GET none"), "_|");
    EXPECT_EQ(line.say("CLIENT GETNAME"), "$3|lib|");
    EXPECT_EQ(line.say("CLIENT SETINFO LIB-NAME x"), "+OK|");
    EXPECT_THAT(line.say("CLIENT MAINT_NOTIFICATIONS ON"), StartsWith("-ERR unknown subcommand"));
    EXPECT_THAT(line.say("HELLO 2"), StartsWith("*14|"));
    EXPECT_EQ(line.say("HELLO 4"), "-NOPROTO unsupported protocol version|");
    EXPECT_THAT(line.say("INFO"), HasSubstr("|loading:0|"));
    EXPECT_EQ(line.say("COMMAND DOCS"), "*0|");
    EXPECT_EQ(line.say("ECHO x"), "$1|x|");
    EXPECT_EQ(line.say("QUIT"), "+OK|");
    EXPECT_TRUE(line.channel.closed);
}

TEST_F(RedisProtocolTest, KeepsDatabasesApart) {
    Line line = connect();
    EXPECT_EQ(line.say("SELECT 3"), "+OK|");
    EXPECT_EQ(line.say("SET k v NX PX 1000"), "+OK|");
    EXPECT_EQ(line.say("SELECT 0"), "+OK|");
    EXPECT_EQ(line.say("GET k"), "$-1|");
    EXPECT_EQ(line.say("GET db3:k"), "$1|v|") << "that is its name at all doors";
}

TEST_F(RedisProtocolTest, AnswersEverythingThatArrivedTogetherInOrder) {
    Line line = connect();
    const std::string bytes =
        "SET a 1 NX PX 1000\r\nGET a\r\n*2\r\n$3\r\nDEL\r\n$1\r\na\r\nGET a\r\n";
    EXPECT_EQ(line.say_bytes(bytes), "+OK|$1|1|:1|$-1|");
    std::string heard;
    for (const char byte : bytes) heard += line.say_bytes({&byte, 1});
    EXPECT_EQ(heard, "+OK|$1|1|:1|$-1|");
}

// --- Other doors, and other people's locks ---

TEST_F(RedisProtocolTest, SeesLocksOfOtherDoorsAndLeavesThemAlone) {
    Line line = connect();
    at_.ask(core::AcquireRequest{.scope = core::Scope::named("job"),
                                 .owner = {.door = service::lockserver_door, .name = "w1"},
                                 .ttl = 30s});
    EXPECT_EQ(line.say("SET job w1 NX PX 1000"), "$-1|");
    EXPECT_EQ(line.say("GET job"), "$2|w1|");
    EXPECT_EQ(line.say("PTTL job"), ":30000|");
    EXPECT_THAT(line.say("DEL job"), StartsWith("-ERR 'job' is held at another door (lockserver)"));
    EXPECT_THAT(line.say("PEXPIRE job 1"), StartsWith("-ERR 'job' is held at another door"));
    EXPECT_THAT(line.say("SET job w1 XX PX 1"), StartsWith("-ERR 'job' is held at another door"));
    EXPECT_EQ(line.say("DELEX job IFEQ w1"), ":0|") << "the same name at two doors is two owners";
    EXPECT_THAT(line.say("DEL mine job"), StartsWith("-ERR 'job'"));
    EXPECT_EQ(line.say("PTTL job"), ":30000|");
}

TEST_F(RedisProtocolTest, SeesALockThatIsKeptForItsLastOwner) {
    Line line = connect();
    at_.ask(core::AcquireRequest{.scope = core::Scope::named("job"),
                                 .owner = {.door = service::homelab_door, .name = "laptop1"},
                                 .ttl = 1s,
                                 .grace = 5s});
    at_.advance(2s);
    EXPECT_EQ(line.say("EXISTS job"), ":1|");
    EXPECT_EQ(line.say("SET job x NX PX 1000"), "$-1|");
    EXPECT_EQ(line.say("PTTL job"), ":4000|");
}

TEST_F(RedisProtocolTest, SeesTheNameOfASemaphore) {
    Line line = connect();
    at_.ask(core::AcquireRequest{.scope = core::Scope::semaphore("pool"),
                                 .owner = {.door = service::dflockd_door, .name = "c1"},
                                 .limit = 2,
                                 .ttl = 30s});
    EXPECT_EQ(line.say("EXISTS pool"), ":1|");
    EXPECT_EQ(line.say("SET pool x NX PX 1000"), "$-1|");
}

TEST_F(RedisProtocolTest, IsStrictIfItIsTold) {
    RedisDoor strict({.is_strict = true}, gate_, at_.clock);
    Line line = connect(strict);
    EXPECT_EQ(line.say("SET k me NX PX 5000"), "+OK|");
    for (const char* command : {"DEL k", "PEXPIRE k 1", "PERSIST k", "SET k you XX PX 1"}) {
        EXPECT_THAT(line.say(command), HasSubstr("--redis-strict")) << command;
    }
    EXPECT_EQ(line.say("SET k me XX PX 6000"), "+OK|") << "the value was shown";
    const std::string release =
        "if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) end";
    EXPECT_EQ(line.send({"EVAL", "return redis.call('del', KEYS[1])", "1", "k"}).substr(0, 8),
              "-ERR 'k'");
    EXPECT_EQ(line.send({"EVAL", release, "1", "k", "me"}), ":1|");
}

TEST_F(RedisProtocolTest, TellsWhyALockHasEnded) {
    Line line = connect();
    const auto cause_of = [&](const std::string& command) {
        line.say("SET k me NX PX 5000");
        const std::uint64_t forced = at_.service.submit(service::Measure{})->figures().forced;
        line.say(command);
        at_.executor.settle();
        return at_.service.submit(service::Measure{})->figures().forced - forced;
    };
    EXPECT_EQ(cause_of("DEL k"), 1U) << "anybody could have sent that";
    EXPECT_EQ(cause_of("DELEX k IFEQ me"), 0U);
}

TEST_F(RedisProtocolTest, CountsWhatItsCommandsAndScriptsHaveDone) {
    Line line = connect();
    line.say("SET a me NX PX 5000");
    line.say("MSET b me c me");
    line.say("SET a you NX PX 5000");
    line.say("PEXPIRE a 9000");
    line.send(
        {"EVAL", "redis.call('pexpire', 'b', 9000) return redis.call('del', 'b', 'c')", "0", "me"});
    line.say("DELEX a IFEQ me");
    at_.executor.settle();
    const service::ServiceFigures& seen = at_.service.submit(service::Measure{})->figures();
    EXPECT_EQ(seen.acquire.success, 3U);
    EXPECT_EQ(seen.renew.success, 2U);
    EXPECT_EQ(seen.release.success, 3U);
    EXPECT_EQ(seen.forced, 0U);
}

TEST(RedisRefusal, NamesTheOptionOfALimitThatHasOne) {
    const auto reply = [](core::Refusal refusal) { return explain(refusal, "set").text; };
    EXPECT_THAT(reply(core::Refusal::leases_max),
                HasSubstr("too many locks on this server (--leases-max)"));
    EXPECT_THAT(reply(core::Refusal::locks_max), HasSubstr("too many locks on this server"));
    EXPECT_THAT(reply(core::Refusal::locks_max), Not(HasSubstr("--"))) << "no option changes it";
    EXPECT_THAT(reply(core::Refusal::endless_leases_max), Not(HasSubstr("--")));
}

// --- Scripts ---

TEST_F(RedisProtocolTest, RunsScriptsByTextAndBySha1) {
    Line line = connect();
    const std::string text = "return {KEYS[1], ARGV[1]}";
    EXPECT_EQ(line.send({"EVAL", text, "1", "k", "a"}), "*2|$1|k|$1|a|");
    const std::string sha1 = sha1_hex(text);
    EXPECT_EQ(line.say("EVALSHA " + sha1 + " 1 k a"), "*2|$1|k|$1|a|");
    EXPECT_EQ(line.say("SCRIPT EXISTS " + sha1 + " " + std::string(40, '0')), "*2|:1|:0|");
    EXPECT_EQ(line.say("SCRIPT FLUSH"), "+OK|");
    EXPECT_EQ(line.say("EVALSHA " + sha1 + " 1 k a"),
              "-NOSCRIPT No matching script. Please use EVAL.|");
    EXPECT_EQ(line.send({"SCRIPT", "LOAD", text}), "$40|" + sha1 + "|");
    EXPECT_THAT(line.send({"SCRIPT", "LOAD", "while 1 do end"}),
                StartsWith("-ERR Error compiling script: line 1: 'while' is not understood"));
    EXPECT_THAT(line.send({"EVAL", "return redis.call('lpush', 'a', 1)", "0"}),
                StartsWith("-ERR Unknown Redis command called from script"));
    EXPECT_EQ(line.send({"EVAL", text, "3", "k"}),
              "-ERR Number of keys can't be greater than number of args|");
    EXPECT_EQ(line.send({"EVAL", text, "-1"}), "-ERR Number of keys can't be negative|");
    EXPECT_EQ(line.send({"EVAL", text, "x"}), "-ERR value is not an integer or out of range|");
}

// As npm's redlock 5 does it.
TEST_F(RedisProtocolTest, TakesSeveralKeysOrNone) {
    Line line = connect();
    const std::string acquire = R"(
      for i, key in ipairs(KEYS) do
        if redis.call("exists", key) == 1 then return 0 end
      end
      for i, key in ipairs(KEYS) do
        redis.call("set", key, ARGV[1], "PX", ARGV[2])
      end
      return #KEYS)";
    EXPECT_EQ(line.send({"EVAL", acquire, "2", "a", "b", "me", "5000"}), ":2|");
    EXPECT_EQ(line.send({"EVAL", acquire, "2", "b", "c", "you", "5000"}), ":0|");
    EXPECT_EQ(line.say("MGET a b c"), "*3|$2|me|$2|me|$-1|");
}

// As redis-py's Lock extends.
TEST_F(RedisProtocolTest, AddsToTheTimeThatIsLeft) {
    Line line = connect();
    line.say("SET k me NX PX 5000");
    const std::string extend = R"(
        local token = redis.call('get', KEYS[1])
        if not token or token ~= ARGV[1] then return 0 end
        local expiration = redis.call('pttl', KEYS[1])
        if not expiration then expiration = 0 end
        if expiration < 0 then return 0 end
        local newttl = ARGV[2]
        if ARGV[3] == "0" then newttl = ARGV[2] + expiration end
        redis.call('pexpire', KEYS[1], newttl)
        return 1)";
    EXPECT_EQ(line.send({"EVAL", extend, "1", "k", "me", "1000", "0"}), ":1|");
    EXPECT_EQ(line.say("PTTL k"), ":6000|");
    EXPECT_EQ(line.send({"EVAL", extend, "1", "k", "you", "1000", "0"}), ":0|");
}

// A script that has looked and then takes must not believe that it has what it was refused.
TEST_F(RedisProtocolTest, EndsAScriptWhoseSetIsRefused) {
    Line line = connect();
    line.say("SET k me NX PX 5000");
    EXPECT_THAT(line.send({"EVAL", "redis.call('set', KEYS[1], ARGV[1], 'PX', 10) return 1", "1",
                           "k", "you"}),
                StartsWith("-ERR 'k' is held with another value"));
}

// --- WATCH, MULTI, EXEC ---

TEST_F(RedisProtocolTest, ComparesAndDeletesWithATransaction) {
    Line line = connect();
    Line other = connect();
    line.say("SET k me NX PX 5000");
    EXPECT_EQ(line.say_bytes("WATCH k\r\nGET k\r\nMULTI\r\nDEL k\r\nGET k\r\nEXEC\r\n"),
              "+OK|$2|me|+OK|+QUEUED|+QUEUED|*2|:1|$-1|");
    line.say("SET k me NX PX 5000");
    EXPECT_EQ(line.say("WATCH k"), "+OK|");
    EXPECT_EQ(other.say("PEXPIRE k 9000"), ":1|");
    EXPECT_EQ(line.say_bytes("MULTI\r\nDEL k\r\nEXEC\r\n"), "+OK|+QUEUED|*-1|");
    EXPECT_EQ(line.say("EXISTS k"), ":1|");
    EXPECT_EQ(line.say_bytes("MULTI\r\nDEL k\r\nEXEC\r\n"), "+OK|+QUEUED|*1|:1|")
        << "EXEC has ended the watch";
}

TEST_F(RedisProtocolTest, DropsATransactionWithAMistake) {
    Line line = connect();
    EXPECT_EQ(line.say("EXEC"), "-ERR EXEC without MULTI|");
    EXPECT_EQ(line.say("DISCARD"), "-ERR DISCARD without MULTI|");
    line.say("MULTI");
    EXPECT_EQ(line.say("MULTI"), "-ERR MULTI calls can not be nested|");
    EXPECT_EQ(line.say("SET k v NX PX 1000"), "+QUEUED|");
    EXPECT_THAT(line.say("NOSUCH"), StartsWith("-ERR unknown command"));
    EXPECT_EQ(line.say("EXEC"), "-EXECABORT Transaction discarded because of previous errors.|");
    EXPECT_EQ(line.say("GET k"), "$-1|");
    line.say("MULTI");
    line.say("SET k v NX PX 1000");
    EXPECT_EQ(line.say("DISCARD"), "+OK|");
    EXPECT_EQ(line.say("GET k"), "$-1|");
}

// --- Bounded ---

TEST_F(RedisProtocolTest, BoundsWhatMultiKeeps) {
    Line line = connect();
    const std::string large(60'000, 'x');
    const std::string discarded = "-EXECABORT Transaction discarded because of previous errors.|";
    line.say("MULTI");
    int queued = 0;
    std::string answer;
    for (; queued < 64; ++queued) {
        answer = line.send({"EVAL", "return 1", "0", large});
        if (answer != "+QUEUED|") break;
    }
    EXPECT_EQ(queued, 8);
    EXPECT_EQ(answer, "-ERR the commands and scripts in MULTI take more than 524288 bytes|");
    EXPECT_EQ(line.say("EXEC"), discarded);

    // Scripts count, too, each once.
    line.say("MULTI");
    std::string script = "return 0";
    for (int item = 0; item < 1000; ++item) script += ",1+1";
    EXPECT_EQ(line.send({"EVAL", script, "0"}), "+QUEUED|");
    EXPECT_EQ(line.send({"EVAL", script, "0"}), "+QUEUED|");
    EXPECT_EQ(line.send({"EVAL", script + " ", "0"}), "+QUEUED|");
    EXPECT_EQ(line.send({"EVAL", script + "  ", "0"}),
              "-ERR the commands and scripts in MULTI take more than 524288 bytes|");
    EXPECT_EQ(line.say("EXEC"), discarded);

    line.say("MULTI");
    std::vector<std::string> names{"DEL"};
    for (int key = 0; key < 64; ++key) names.push_back("k" + std::to_string(key));
    for (int command = 0; command < 16; ++command) EXPECT_EQ(line.send(names), "+QUEUED|");
    EXPECT_EQ(line.say("GET k"), "-ERR more than 1024 keys in MULTI|");
    EXPECT_EQ(line.say("EXEC"), discarded);
}

// The texts of a script are shared, so this was 64 scripts that copied 500 KB 900 times.
TEST_F(RedisProtocolTest, SharesOneBudgetAmongTheScriptsOfExec) {
    Line line = connect();
    const std::string copying =
        "local t = {ARGV[1],ARGV[1],ARGV[1],ARGV[1],ARGV[1],ARGV[1],ARGV[1],ARGV[1]} local n = 0 "
        "for i = 1, 900 do local u = {unpack(t)} n = n + 1 end return n";
    line.say("MULTI");
    for (int script = 0; script < 64; ++script) {
        ASSERT_EQ(line.send({"EVAL", copying, "0", std::string(7000, 'x')}), "+QUEUED|");
    }
    const std::string refused = "-ERR the script or transaction takes more than 20000 steps|";
    std::string expected = "*64|:900|";
    for (int script = 1; script < 64; ++script) expected += refused;
    EXPECT_EQ(line.say("EXEC"), expected);
    EXPECT_EQ(line.say("PING"), "+PONG|");
}

// A step is one commit, which holds so much and no more.
TEST_F(RedisProtocolTest, RefusesChangesBeyondWhatACommitMayHold) {
    Line line = connect();
    const std::string refused =
        "-ERR the script or transaction changes more than one commit may hold|";
    // Sets 64 keys and deletes them again: 128 changes.
    const auto again = [&](int times) {
        std::vector<std::string> words{
            "EVAL",
            "for i = 1, " + std::to_string(times) +
                " do redis.call('mset', unpack(ARGV)) redis.call('del', unpack(KEYS)) end return 1",
            "64"};
        for (int key = 0; key < 64; ++key) words.push_back("k" + std::to_string(key));
        for (int key = 0; key < 64; ++key) {
            words.push_back("k" + std::to_string(key));
            words.emplace_back("v");
        }
        return line.send(words);
    };
    EXPECT_EQ(again(15), ":1|");
    EXPECT_EQ(again(16), refused);
    const std::string values =
        "for i = 1, 200 do redis.call('set', KEYS[1], ARGV[1]) redis.call('del', KEYS[1]) end";
    EXPECT_EQ(line.send({"EVAL", values, "1", std::string(3000, 'k'), std::string(1000, 'v')}),
              refused)
        << "the bytes count, too";
}

TEST_F(RedisProtocolTest, BoundsTheKeysThatAScriptLooksAt) {
    Line line = connect();
    const std::string text =
        "local n = 0 for i = 1, 100 do n = n + #redis.call('mget', unpack(KEYS)) end return n";
    std::vector<std::string> words{"EVAL", text, "64"};
    for (int key = 0; key < 64; ++key) words.push_back("k" + std::to_string(key));
    EXPECT_EQ(line.send(words), "-ERR the script or transaction looks at more than 4096 keys|");
}

// --- The queue ---

TEST_F(RedisProtocolTest, WaitsInTurnAndTellsTheFencingNumber) {
    Line holder = connect();
    Line first = connect();
    Line second = connect();
    EXPECT_EQ(holder.say("HOLDFAST.ACQUIRE k me 5000 0"), ":1|");
    EXPECT_EQ(holder.say("HOLDFAST.FENCE k"), ":1|");
    EXPECT_EQ(holder.say("HOLDFAST.FENCE none"), "$-1|");
    EXPECT_EQ(first.say("HOLDFAST.ACQUIRE k one 5000 10000"), "");
    EXPECT_EQ(second.say("HOLDFAST.ACQUIRE k two 5000 10000\r\nPING"), "");
    EXPECT_EQ(holder.say("DELEX k IFEQ me"), ":1|");
    EXPECT_EQ(holder.say("SET k thief NX PX 1000"), "$-1|");
    at_.executor.settle();
    EXPECT_EQ(first.hear(), ":2|");
    EXPECT_EQ(second.hear(), "");
    EXPECT_EQ(holder.say("DEL k k"), ":1|") << "the next in the queue keeps what it got";
    at_.executor.settle();
    EXPECT_EQ(second.hear(), ":3|+PONG|");
}

TEST_F(RedisProtocolTest, GivesUpWaitingAfterItsTime) {
    Line holder = connect();
    Line line = connect();
    holder.say("SET k me NX PX 60000");
    EXPECT_EQ(line.say("HOLDFAST.ACQUIRE k you 5000 0"), "$-1|");
    EXPECT_EQ(line.say("HOLDFAST.ACQUIRE k you 5000 1000"), "");
    at_.advance(1s);
    EXPECT_EQ(line.hear(), "$-1|");
    EXPECT_THAT(line.say("HOLDFAST.ACQUIRE k you 0 0"), StartsWith("-ERR invalid expire time"));
    EXPECT_THAT(line.say("HOLDFAST.ACQUIRE k you 1 -1"), StartsWith("-ERR invalid wait"));
    EXPECT_THAT(line.say("HOLDFAST.ACQUIRE k you"), StartsWith("-ERR wrong number"));
}

TEST_F(RedisProtocolTest, LeavesTheQueueWithItsConnection) {
    Line holder = connect();
    holder.say("SET k me NX PX 60000");
    Line dead = connect();
    dead.say("HOLDFAST.ACQUIRE k you 5000 10000");
    EXPECT_EQ(at_.service.counts().waiters, 1U);
    dead.close();
    EXPECT_EQ(at_.service.counts().waiters, 0U);
    Line half = connect();
    half.say("HOLDFAST.ACQUIRE k you 5000 10000");
    half.protocol->on_end_of_input();
    EXPECT_EQ(at_.service.counts().waiters, 0U);
    EXPECT_THAT(half.hear(), StartsWith("-ERR the client has stopped sending"));
    EXPECT_TRUE(half.protocol->idle());
    holder.close();
    EXPECT_EQ(at_.service.counts().leases, 1U) << "a lock stays when its connection closes";
}

// --- The password ---

TEST_F(RedisProtocolTest, AsksForThePassword) {
    const rights::TokenSource gate({.auth = "s3cret"});
    RedisDoor guarded({.refusal_delay = 1ms}, gate, at_.clock);
    Line line = connect(guarded);
    EXPECT_EQ(line.say("GET k"), "-NOAUTH Authentication required.|");
    EXPECT_EQ(line.say("NOSUCH"), "-NOAUTH Authentication required.|");
    EXPECT_EQ(line.say("MULTI"), "-NOAUTH Authentication required.|");
    EXPECT_THAT(line.say("HELLO 3"), StartsWith("-NOAUTH HELLO must be called"));
    EXPECT_EQ(line.say("AUTH wrong\r\nPING"), "") << "guessing takes time";
    while (line.channel.sent.empty()) loop_.context().run_for(1ms);
    EXPECT_EQ(line.hear(),
              "-WRONGPASS invalid username-password pair or user is disabled.|"
              "-NOAUTH Authentication required.|");
    EXPECT_EQ(line.say("AUTH default s3cret"), "+OK|");
    EXPECT_EQ(line.say("GET k"), "$-1|");
    Line hello = connect(guarded);
    EXPECT_THAT(hello.say("HELLO 3 AUTH default s3cret"), StartsWith("%7|"));
    EXPECT_EQ(hello.say("GET k"), "_|");
    Line open = connect();
    EXPECT_THAT(open.say("AUTH x"), StartsWith("-ERR AUTH <password> called without any password"));
}

TEST_F(RedisProtocolTest, EndsAConnectionThatNeverShowsThePassword) {
    const rights::TokenSource gate({.auth = "s3cret"});
    RedisDoor guarded({.auth_timeout = 5ms}, gate, at_.clock);
    Line line = connect(guarded);
    EXPECT_TRUE(base::happens([&] {
        loop_.context().run_for(1ms);
        return line.channel.closed;
    }));
}

TEST_F(RedisProtocolTest, RefusesWhatTheTokenHasNoRightTo) {
    const std::string file =
        "ci lock deploy/* db3:x read logs " + rights::to_text(base::sha256("s3cret")) + "\n";
    rights::TokenSource tokens({.lines = rights::parse_token_file(file).value()});
    RedisDoor guarded({}, tokens, at_.clock);
    Line other = connect();
    EXPECT_EQ(other.say("MSET prod o logs o"), "+OK|");
    Line line = connect(guarded);
    EXPECT_EQ(line.say("AUTH ci s3cret"), "+OK|");
    EXPECT_EQ(line.say("SET deploy/web w NX PX 1000"), "+OK|");
    EXPECT_EQ(line.say("GET logs"), "$1|o|");
    const auto denied = [](const char* right, const char* name) {
        return std::string("-NOPERM the token ci lacks the right ") + right + " on " + name +
               " at the door redis|";
    };
    for (const char* command :
         {"SET prod x", "SETNX prod x", "DEL deploy/web prod", "UNLINK prod", "DELEX prod",
          "DELIFEQ prod o", "EXPIRE prod 1", "PERSIST prod", "PSETEX prod 1 x",
          "MSET deploy/a 1 prod 2", "MSETNX prod 1", "HOLDFAST.ACQUIRE prod w 1000 0"}) {
        EXPECT_EQ(line.say(command), denied("lock", "prod")) << command;
    }
    for (const char* command :
         {"GET prod", "MGET logs prod", "EXISTS prod", "TTL prod", "PTTL prod", "TYPE prod",
          "GETRANGE prod 0 1", "HOLDFAST.FENCE prod", "WATCH logs prod"}) {
        EXPECT_EQ(line.say(command), denied("read", "prod")) << command;
    }
    EXPECT_EQ(line.say("DEL logs"), denied("lock", "logs"));
    EXPECT_EQ(line.say("MULTI"), "+OK|");
    EXPECT_EQ(line.say("SET prod x"), denied("lock", "prod"));
    EXPECT_THAT(line.say("EXEC"), StartsWith("-EXECABORT"));
    EXPECT_THAT(line.send({"EVAL", "return redis.call('del', KEYS[1])", "1", "prod"}),
                HasSubstr("lacks the right lock on prod"));
    EXPECT_EQ(line.send({"EVAL", "return redis.call('del', KEYS[1])", "1", "deploy/web"}), ":1|");
    EXPECT_EQ(line.say("SELECT 3"), "+OK|");
    EXPECT_EQ(line.say("SET x w"), "+OK|");
    EXPECT_EQ(line.say("SET deploy/x w"), denied("lock", "db3:deploy/x"));
    EXPECT_EQ(other.say("GET prod"), "$1|o|");
}

// A token that may do nothing here is not admitted, and one that may not any more runs no scripts.
TEST_F(RedisProtocolTest, AdmitsATokenOnlyIfItMayDoSomethingHere) {
    const auto tokens_with = [](const std::string& rights) {
        const std::string file =
            "ui " + rights + " " + rights::to_text(base::sha256("s3cret")) + "\n";
        return rights::Tokens{.lines = rights::parse_token_file(file).value()};
    };
    rights::TokenSource tokens(tokens_with("read * @http"));
    RedisDoor guarded({}, tokens, at_.clock);
    Line line = connect(guarded);
    const std::string denied =
        "-NOPERM the token ui lacks the right read on anything at the door redis|";
    EXPECT_EQ(line.say("AUTH s3cret"), denied);
    EXPECT_EQ(line.say("AUTH ui s3cret"), denied);
    EXPECT_EQ(line.say("HELLO 3 AUTH ui s3cret"), denied);
    EXPECT_EQ(line.say("PING"), "-NOAUTH Authentication required.|");
    EXPECT_EQ(line.say("SCRIPT FLUSH"), "-NOAUTH Authentication required.|");
    tokens.replace(tokens_with("read logs @redis"));
    EXPECT_EQ(line.say("AUTH s3cret"), "+OK|");
    EXPECT_EQ(line.send({"EVAL", "return 1", "0"}), ":1|");
    EXPECT_EQ(line.say("MULTI\r\nDISCARD"), "+OK|+OK|");
    tokens.replace(tokens_with("read * @http"));
    const std::string none = "EVALSHA " + std::string(40, '0') + " 0";
    for (const std::string& command : {std::string("EVAL 'return 1' 0"), none, std::string("MULTI"),
                                       std::string("SCRIPT FLUSH"), std::string("SCRIPT LOAD x")}) {
        EXPECT_EQ(line.say(command), denied) << command;
    }
    EXPECT_EQ(line.say("PING"), "+PONG|");
}

// --- Commits and threads ---

class DurableRedis : public RedisProtocolTest {
  protected:
    DurableRedis() : RedisProtocolTest(service::testing::Durability::full) {}
};

TEST_F(DurableRedis, AnswersAfterTheCommitAndCommitsAScriptAtOnce) {
    Line line = connect();
    const char* const script =
        "for i, key in ipairs(KEYS) do redis.call('set', key, ARGV[1]) end return #KEYS";
    EXPECT_EQ(line.send({"EVAL", script, "3", "a", "b", "c", "me"}), "")
        << "nothing is on disk yet";
    EXPECT_EQ(line.say("GET a\r\nPING"), "");
    at_.executor.settle();
    ASSERT_EQ(at_.store.commits.size(), 1U);
    at_.store.finish();
    at_.executor.settle();
    EXPECT_EQ(line.hear(), ":3|$2|me|+PONG|");
}

// Answers that wait for the disk are memory.
TEST_F(DurableRedis, ReadsNoFurtherWhileManyBytesOfAnswersWait) {
    Line line = connect();
    line.say("SET k me");
    const std::string text(50'000, 'x');
    int sent = 0;
    for (; sent < 20 && !line.channel.paused; ++sent) {
        EXPECT_EQ(line.send({"EVAL", "redis.call('get', 'k') return ARGV[1]", "0", text}), "");
    }
    EXPECT_EQ(sent, 7) << "the seventh is not read any more";
    EXPECT_GT(line.channel.waiting_bytes, 256 * 1024);
    EXPECT_LT(line.channel.waiting_bytes, 320 * 1024);
    at_.executor.settle();
    at_.store.finish();
    at_.executor.settle();
    EXPECT_FALSE(line.channel.paused);
    EXPECT_EQ(line.channel.waiting_bytes, 0);
    EXPECT_EQ(line.hear().size(), 4 + 7 * (7 + text.size() + 1)) << "+OK and seven texts";
}

TEST_F(RedisProtocolTest, WorksFromAnotherThread) {
    service::testing::ManualExecutor here;
    service::RemotePort port(here, at_.executor, at_.service);
    Line line(door_, port, loop_);
    EXPECT_EQ(line.send({"SET", "a long key that is no small string", "me", "NX", "PX", "5000"}),
              "");
    EXPECT_EQ(line.say("MULTI\r\nGET 'a long key that is no small string'\r\nEXEC\r\nPING"), "");
    for (int turn = 0; turn < 4; ++turn) {
        here.settle();
        at_.executor.settle();
    }
    EXPECT_EQ(line.hear(), "+OK|+OK|+QUEUED|*1|$2|me|+PONG|");
    line.close();
}

}  // namespace
}  // namespace holdfast::doors::redis

#include "service/events/event_log.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include "base/log/log.h"
#include "core/lock_table.h"
#include "core/values/scope_set.h"
#include "service/doors.h"

namespace holdfast::service {
namespace {

void tell(EventLog& log, const core::Event& event) {
    core::Changes changes;
    changes.add(event);
    log.on_changes(changes);
}

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using namespace std::chrono_literals;

constexpr core::Token token{.fence = core::Fence{0x1234},
                            .secret = core::Secret{0xdeadbeefcafef00d}};

core::Event event_of(core::EventKind kind, core::Time at = {}) {
    core::Event event{.kind = kind, .at = at};
    event.lease = {.scope = core::Scope::named("backup"),
                   .owner = {.door = homelab_door, .name = "laptop1"},
                   .token = token,
                   .ttl = 30s};
    return event;
}

// What `write` makes the program say.
std::string logged(base::LogFormat format, base::LogLevel least,
                   const std::function<void()>& write) {
    base::set_up_log(format, least);
    ::testing::internal::CaptureStderr();
    write();
    EXPECT_TRUE(base::flush_log());
    std::string text = ::testing::internal::GetCapturedStderr();
    base::set_up_log(format, base::LogLevel::off);
    return text;
}

std::ptrdiff_t lines(const std::string& text) {
    return std::count(text.begin(), text.end(), '\n');
}

// A lock table to which things happen, and the lines that this is worth.
class Story {
  public:
    core::Outcome acquire(std::string_view owner, core::Duration ttl, core::Duration wait = {}) {
        core::AcquireRequest request = ask(owner, ttl);
        request.wait = wait;
        return table.acquire(now, request);
    }
    void pass(core::Duration time) { table.advance(now += time); }
    core::AcquireRequest ask(std::string_view owner, core::Duration ttl) {
        return {.scope = core::Scope::named("backup"),
                .owner = {.door = homelab_door, .name = owner},
                .ttl = ttl,
                .session = session};
    }
    core::SessionId open_session() {
        return session = table.open_session(now, {.door = dflockd_door, .name = "conn-7"});
    }
    // The last line that is about such an event, without its time.
    std::string line_of(core::EventKind kind) {
        std::string last;
        for (const core::Event& event : table.changes()) {
            if (event.kind != kind) continue;
            last = logged(base::LogFormat::text, base::LogLevel::debug, [&] {
                EventLog log;
                tell(log, event);
            });
        }
        constexpr std::size_t time_size = std::string_view("2026-01-15T10:30:00.123Z ").size();
        return last.size() < time_size ? last : last.substr(time_size);
    }

    core::LockTable table{core::TableOptions{.first_fence = 4660}};
    core::Time now{10s};
    core::SessionId session;
};

// What happens, and the whole line that tells of it.
struct Row {
    core::EventKind kind;
    const char* name;
    void (*happen)(Story&);
    const char* line;
};
using enum core::EventKind;

constexpr Row rows[] = {
    {granted, "granted", [](Story& story) { story.acquire("ann", 30s); },
     "info    granted lock=backup owner=ann door=homelab fencing_token=4660 ttl_ms=30000 "
     "queue=0\n"},
    {granted, "granted without an end", [](Story& story) { story.acquire("ann", core::endless); },
     "info    granted lock=backup owner=ann door=homelab fencing_token=4660 ttl_ms=0 queue=0\n"},
    {renewed, "renewed",
     [](Story& story) {
         const core::Token held = story.acquire("ann", 30s).lease.token;
         story.table.renew(story.now, {.token = held, .ttl = 5s});
     },
     "debug   renewed lock=backup owner=ann door=homelab fencing_token=4660 ttl_ms=5000 "
     "queue=0\n"},
    {renewed, "renewed by somebody else",
     [](Story& story) {
         const core::Token held = story.acquire("ann", 30s).lease.token;
         story.table.renew(story.now, {.token = held, .ttl = 5s, .is_forced = true});
     },
     "debug   renewed lock=backup owner=ann door=homelab fencing_token=4660 ttl_ms=5000 queue=0 "
     "cause=force\n"},
    {released, "released",
     [](Story& story) {
         const core::Token held = story.acquire("ann", 30s).lease.token;
         story.pass(1500ms);
         story.table.release(story.now, {.token = held});
     },
     "info    released lock=backup owner=ann door=homelab fencing_token=4660 held_ms=1500\n"},
    {granted, "granted to a client with a token",
     [](Story& story) {
         story.table.on_behalf_of("ci");
         story.acquire("ann", 30s);
     },
     "info    granted lock=backup owner=ann door=homelab fencing_token=4660 ttl_ms=30000 queue=0 "
     "by=ci\n"},
    {released, "forced",
     [](Story& story) {
         story.table.on_behalf_of("ci");
         story.acquire("ann", 30s);
         story.table.on_behalf_of("http@192.0.2.7");
         story.table.force_release(story.now, core::Scope::named("backup"));
     },
     "info    released lock=backup owner=ann door=homelab fencing_token=4660 held_ms=0 "
     "cause=force by=http@192.0.2.7\n"},
    {released, "ended with its session",
     [](Story& story) {
         const core::SessionId session = story.open_session();
         story.acquire("ann", 30s);
         story.table.end_session(story.now, session);
     },
     "info    released lock=backup owner=ann door=homelab fencing_token=4660 held_ms=0 "
     "cause=session_end\n"},
    {released, "ended with its login",
     [](Story& story) {
         const core::Token held = story.acquire("ann", 30s).lease.token;
         story.table.release(story.now, {.token = held, .cause = core::Cause::session_end});
     },
     "info    released lock=backup owner=ann door=homelab fencing_token=4660 held_ms=0 "
     "cause=session_end\n"},
    {released, "released because nobody has heard of the grant",
     [](Story& story) {
         const core::Token held = story.acquire("ann", 30s).lease.token;
         story.table.release(story.now, {.token = held, .cause = core::Cause::none});
     },
     "info    released lock=backup owner=ann door=homelab fencing_token=4660 held_ms=0\n"},
    {expired, "expired",
     [](Story& story) {
         story.acquire("ann", 1500ms);
         story.pass(60s);
     },
     "info    expired lock=backup owner=ann door=homelab fencing_token=4660 held_ms=1500\n"},
    {expired, "expired after a restart",
     [](Story& story) {
         core::RestoreRequest lease{story.ask("ann", 30s)};
         lease.token = {.fence = core::Fence{77}};
         lease.remaining = 2s;
         lease.acquired_at = story.now - 3s;
         EXPECT_TRUE(story.table.restore(story.now, lease));
         story.pass(60s);
     },
     "info    expired lock=backup owner=ann door=homelab fencing_token=77 held_ms=5000 "
     "cause=restart\n"},
    {grace_ended, "the grace is over",
     [](Story& story) {
         core::AcquireRequest request = story.ask("ann", 1500ms);
         request.grace = 5s;
         story.table.acquire(story.now, request);
         story.pass(60s);
     },
     "info    grace_ended lock=backup owner=ann door=homelab fencing_token=4660 held_ms=1500\n"},
    {grace_ended, "the owner has the lock again",
     [](Story& story) {
         core::AcquireRequest request = story.ask("ann", 1500ms);
         request.grace = 5s;
         story.table.acquire(story.now, request);
         story.pass(2s);
         story.acquire("ann", 30s);
     },
     "info    grace_ended lock=backup owner=ann door=homelab fencing_token=4660 held_ms=1500\n"},
    {queued, "queued",
     [](Story& story) {
         story.acquire("ann", 30s);
         story.acquire("bob", 30s, 9s);
     },
     "debug   queued lock=backup owner=bob door=homelab waited_ms=0 queue=1\n"},
    {wait_timed_out, "waited in vain",
     [](Story& story) {
         story.acquire("ann", 30s);
         story.acquire("bob", 30s, 9s);
         story.pass(9s);
     },
     "debug   wait_timed_out lock=backup owner=bob door=homelab waited_ms=9000 queue=0\n"},
    {wait_cancelled, "stopped waiting",
     [](Story& story) {
         story.acquire("ann", 30s);
         const core::WaiterId waiter = story.acquire("bob", 30s, 9s).waiter;
         story.pass(1s);
         story.table.cancel(story.now, waiter);
     },
     "debug   wait_cancelled lock=backup owner=bob door=homelab waited_ms=1000 queue=0\n"},
    {wait_cancelled, "stopped waiting with its session",
     [](Story& story) {
         story.acquire("ann", 30s);
         const core::SessionId session = story.open_session();
         story.acquire("bob", 30s, 9s);
         story.table.end_session(story.now, session);
     },
     "debug   wait_cancelled lock=backup owner=bob door=homelab waited_ms=0 queue=0 "
     "cause=session_end\n"},
    {session_opened, "a session began", [](Story& story) { story.open_session(); },
     "debug   session_opened session=1 owner=conn-7 door=dflockd\n"},
    {session_ended, "a session ended",
     [](Story& story) { story.table.end_session(story.now, story.open_session()); },
     "debug   session_ended session=1 owner=conn-7 door=dflockd\n"},
    {value_set, "a value was set",
     [](Story& story) {
         const core::Token held = story.acquire("ann", 30s).lease.token;
         story.table.set_value(story.now, {.token = held, .value = "here"});
     },
     "debug   value_set lock=backup owner=ann door=homelab fencing_token=4660 revision=1\n"},
    {deadlock, "a deadlock",
     [](Story& story) {
         core::AcquireRequest request = story.ask("ann", 30s);
         story.table.acquire(story.now, request);
         request.scope = core::Scope::named("restore");
         request.owner.name = "bob";
         story.table.acquire(story.now, request);
         request.owner.name = "ann";
         request.wait = 9s;
         story.table.acquire(story.now, request);
         story.acquire("bob", 30s, 9s);
     },
     "warning deadlock cycle=\"bob waits for backup of ann, ann waits for restore of bob\"\n"},
};

TEST(EventLog, TellsOfEveryKindOfEventInALine) {
    for (const Row& row : rows) {
        Story story;
        row.happen(story);
        EXPECT_EQ(story.line_of(row.kind), row.line) << row.name;
    }
    for (int kind = 0; kind <= static_cast<int>(core::last_event_kind); ++kind) {
        EXPECT_TRUE(std::ranges::any_of(rows, [kind](const Row& row) {
            return row.kind == core::EventKind{static_cast<std::uint8_t>(kind)};
        })) << core::to_text(core::EventKind{static_cast<std::uint8_t>(kind)});
    }
}

TEST(EventLog, ARefusedFenceIsAWarning) {
    EventLog log;
    const std::string text = logged(base::LogFormat::text, base::LogLevel::warning, [&] {
        log.on_fence_refused({.resource = "bucket", .number = 33, .highest = 34});
    });
    EXPECT_THAT(text,
                HasSubstr(" warning fence_refused resource=bucket fencing_token=33 highest=34\n"));
}

TEST(EventLog, WritesEveryAct) {
    const std::string text = logged(base::LogFormat::text, base::LogLevel::warning, [] {
        for (std::uint32_t i = 0; i < EventLog::lines_per_second_max + 1; ++i) {
            EventLog::on_act(
                {.action = AdminAction::force_release, .what = "deploy/web", .by = "oncall"});
        }
    });
    const std::string line = " warning audit action=force_release what=deploy/web by=oncall\n";
    std::size_t count = 0;
    for (auto at = text.find(line); at != std::string::npos; at = text.find(line, at + 1)) ++count;
    EXPECT_EQ(count, EventLog::lines_per_second_max + 1);
}

TEST(EventLog, NamesAllLocksOfASet) {
    EventLog log;
    core::Event event = event_of(core::EventKind::granted);
    const std::string members = core::set_to_text(std::vector<core::SetMember>{
        {.scope = core::Scope::named("backup")},
        {.scope = core::Scope::path("x"), .mode = core::Mode::shared}});
    event.lease.members = members;
    const std::string text =
        logged(base::LogFormat::text, base::LogLevel::info, [&] { tell(log, event); });
    EXPECT_THAT(text, HasSubstr(" granted lock=\"backup, path:x\" "));
}

TEST(EventLog, RenewalsWaitsAndSessionsAreForDebugging) {
    for (const auto kind : {core::EventKind::renewed, core::EventKind::queued,
                            core::EventKind::wait_timed_out, core::EventKind::wait_cancelled,
                            core::EventKind::session_opened, core::EventKind::session_ended}) {
        EventLog log;
        const auto write = [&] { tell(log, event_of(kind)); };
        EXPECT_EQ(logged(base::LogFormat::text, base::LogLevel::info, write), "");
        EXPECT_EQ(lines(logged(base::LogFormat::text, base::LogLevel::debug, write)), 1);
    }
}

TEST(EventLog, NeverShowsTheSecretHalfOfAToken) {
    for (const auto format : {base::LogFormat::text, base::LogFormat::json}) {
        const std::string text = logged(format, base::LogLevel::debug, [] {
            EventLog log;
            for (int kind = 0; kind <= static_cast<int>(core::last_event_kind); ++kind) {
                tell(log, event_of(static_cast<core::EventKind>(kind)));
            }
        });
        EXPECT_EQ(lines(text), 11) << "a deadlock without a cycle is no line";
        EXPECT_THAT(text, Not(HasSubstr("deadbeef")));
        EXPECT_THAT(text, Not(HasSubstr("f00d")));
        EXPECT_THAT(text, Not(HasSubstr("16045690984503111693")));  // the same in decimal
    }
}

TEST(EventLog, NamesFromTheNetworkCannotForgeALine) {
    core::Event event = event_of(core::EventKind::granted);
    event.lease.owner.name = "eve\n{\"level\":\"error\"}\r\x1b[2J door=root";
    event.lease.scope = core::Scope::named("a\nb\"c");
    for (const auto format : {base::LogFormat::text, base::LogFormat::json}) {
        EventLog log;
        const std::string text = logged(format, base::LogLevel::info, [&] { tell(log, event); });
        EXPECT_EQ(lines(text), 1);
        EXPECT_THAT(text, HasSubstr(R"("eve\n{\"level\":\"error\"}\r\u001b[2J door=root")"));
        EXPECT_THAT(text, HasSubstr(R"("a\nb\"c")"));
        EXPECT_THAT(text, AllOf(Not(HasSubstr("\r")), Not(HasSubstr("\x1b"))));
    }
}

TEST(EventLog, CountsWhatIsBeyondItsBudget) {
    EventLog log;
    const auto burst = [&](core::Time at, std::uint32_t events) {
        return logged(base::LogFormat::text, base::LogLevel::info, [&] {
            for (std::uint32_t i = 0; i < events; ++i) {
                tell(log, event_of(core::EventKind::granted, at));
            }
        });
    };
    EXPECT_EQ(lines(burst(core::Time{10s}, EventLog::lines_per_second_max + 50)),
              EventLog::lines_per_second_max);
    EXPECT_EQ(burst(core::Time{10s + 999ms}, 7), "");
    const std::string next = burst(core::Time{11s}, 1);
    EXPECT_EQ(lines(next), 2);
    EXPECT_THAT(next, HasSubstr("lock transitions not logged count=57\n"));
    EXPECT_EQ(lines(burst(core::Time{12s}, 1)), 1) << "the count is said once";
}

TEST(EventLog, WhatIsNotLoggedCostsNoBudget) {
    EventLog log;
    const std::string text = logged(base::LogFormat::text, base::LogLevel::info, [&] {
        for (int i = 0; i < 1000; ++i) tell(log, event_of(core::EventKind::renewed));
        tell(log, event_of(core::EventKind::granted));
    });
    EXPECT_EQ(lines(text), 1);
}

}  // namespace
}  // namespace holdfast::service

#include "service/events/event_log.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include "base/log/log.h"
#include "core/values/cycle.h"
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

TEST(EventLog, AGrantIsALine) {
    EventLog log;
    const std::string text = logged(base::LogFormat::text, base::LogLevel::info,
                                    [&] { tell(log, event_of(core::EventKind::granted)); });
    EXPECT_THAT(text, HasSubstr(" info    granted lock=backup owner=laptop1 door=homelab "
                                "fencing_token=4660 ttl_ms=30000 queue=0\n"));
}

TEST(EventLog, ARefusedFenceIsAWarning) {
    EventLog log;
    const std::string text = logged(base::LogFormat::text, base::LogLevel::warning, [&] {
        log.on_fence_refused({.resource = "bucket", .number = 33, .highest = 34});
    });
    EXPECT_THAT(text,
                HasSubstr(" warning fence_refused resource=bucket fencing_token=33 highest=34\n"));
}

TEST(EventLog, ADeadlockIsAWarning) {
    EventLog log;
    core::Event event = event_of(core::EventKind::deadlock);
    const std::string cycle =
        core::cycle_to_text(std::vector<core::CycleMember>{{.owner = {.name = "ann"},
                                                            .waits_for = core::Scope::named("b"),
                                                            .held_by = {.name = "bob"}},
                                                           {.owner = {.name = "bob"},
                                                            .waits_for = core::Scope::named("a"),
                                                            .held_by = {.name = "ann"}}});
    event.cycle = cycle;
    const std::string text =
        logged(base::LogFormat::text, base::LogLevel::warning, [&] { tell(log, event); });
    EXPECT_THAT(text, HasSubstr(" warning deadlock cycle=\"ann waits for b of bob, "
                                "bob waits for a of ann\"\n"));
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

TEST(EventLog, AnEndSaysHowLongItWasHeldAndWhy) {
    EventLog log;
    core::Event event = event_of(core::EventKind::released, core::Time{2s});
    event.lease.acquired_at = core::Time{500ms};
    event.cause = core::Cause::force;
    const std::string text =
        logged(base::LogFormat::text, base::LogLevel::info, [&] { tell(log, event); });
    EXPECT_THAT(text, AllOf(HasSubstr(" released "), HasSubstr("held_ms=1500 cause=force\n")));
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
            for (int kind = 0; kind <= static_cast<int>(core::EventKind::session_ended); ++kind) {
                tell(log, event_of(static_cast<core::EventKind>(kind)));
            }
        });
        EXPECT_EQ(lines(text), 10);
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

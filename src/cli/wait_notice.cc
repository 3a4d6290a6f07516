#include "cli/wait_notice.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "cli/lock_argument.h"
#include "cli/screen/terminal_text.h"
#include "holdfast/boot_clock.h"
#include "sdk/patience.h"

namespace holdfast::cli {

namespace {

using std::chrono::milliseconds;

constexpr milliseconds first_after{1'000}, look_every{2'000};
constexpr milliseconds look_timeout{1'000};  // the end of the wait waits for a look under way
constexpr milliseconds endless = std::chrono::hours{24 * 365};

std::string position_text(const LockRow& lock, const std::string& owner) {
    const auto waiter = std::ranges::find(lock.waiters, owner, &WaiterRow::owner);
    if (waiter == lock.waiters.end()) return "";
    return fmt::format(", place {} of {} in the queue", waiter - lock.waiters.begin() + 1,
                       std::max<std::uint64_t>(lock.waiter_count, lock.waiters.size()));
}

}  // namespace

std::string describe_wait(const LockRow& lock, const std::string& name, const AwaitedLock& awaited,
                          milliseconds waited) {
    if (lock.holders.empty()) return "";
    std::string text = fmt::format("waiting for {}: held by {}", name, lock.holders.front().owner);
    if (lock.holders.size() > 1) text += fmt::format(" and {} more", lock.holders.size() - 1);
    if (const std::int64_t since = lock.holders.front().acquired_ms; since > 0) {
        text += " since " + moment(since);
    }
    text += position_text(lock, awaited.owner);
    if (awaited.wait < endless) {
        const milliseconds left = std::max(awaited.wait - waited, milliseconds{0});
        text += fmt::format("; giving up in {}", countdown(left));
    }
    return text;
}

WaitNotice::WaitNotice(AwaitedLock awaited)
    : awaited_(std::move(awaited)), thread_([this](const std::stop_token& stop) { watch(stop); }) {}

// Of several locks, the first that somebody holds.
std::string WaitNotice::look(Server& server, milliseconds waited) const {
    for (const std::string& name : awaited_.locks) {
        const auto lock = look_at(server, name);
        if (!lock) return "waiting for the server: " + lock.error().message;
        std::string text = describe_wait(*lock, name, awaited_, waited);
        if (!text.empty()) return text;
    }
    return "";
}

void WaitNotice::watch(const std::stop_token& stop) const {
    if (::isatty(STDERR_FILENO) != 1) return;
    const auto begin = BootClock::now();
    auto server = Server::open(awaited_.server, look_timeout);
    if (!server) return;  // the command itself will say why
    // The time that is left is said once; a new line comes when something else has changed.
    std::string known;
    for (milliseconds pause = first_after; sdk::sleep_for(pause, stop); pause = look_every) {
        const auto waited = std::chrono::floor<milliseconds>(BootClock::now() - begin);
        const std::string text = look(*server, waited);
        if (stop.stop_requested()) return;
        const std::string core = text.substr(0, text.find(';'));
        if (text.empty() || core == known) continue;
        known = core;
        fmt::print(stderr, "holdfast: {}\n", escape(text));
    }
}

}  // namespace holdfast::cli

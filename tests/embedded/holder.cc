// A program with the engine inside, for tests to stop and kill.
//
//     embedded_holder write TTL_MS              holds a lock and writes under it until it may not
//     embedded_holder keep FILE OWNER           takes the lock, says its token, and holds it
//     embedded_holder take FILE COUNT           takes and gives back locks, saying each token
//     embedded_holder check FILE TOKEN          says what a token is worth

#include <holdfast/lock_manager.h>
#include <unistd.h>

#include <atomic>
#include <charconv>
#include <cstdio>
#include <string>
#include <thread>

namespace {

using namespace std::chrono_literals;
using holdfast::LockScope;

const LockScope job = LockScope::Inode{7};

void say(const std::string& line) {
    std::puts(line.c_str());
    std::fflush(stdout);
}

int complain(const holdfast::LockError& error) {
    say("error: " + to_text(error));
    return 1;
}

int to_number(std::string_view text) {
    int number = 0;
    std::from_chars(text.data(), text.data() + text.size(), number);
    return number;
}

int write_until_refused(std::chrono::milliseconds ttl) {
    auto manager = holdfast::LockManager::open();
    if (!manager) return complain(manager.error());
    std::atomic<bool> is_told = false;
    auto handle = manager->hold({.scope = job, .holder = "writer", .ttl = ttl}, 0s,
                                {.on_lost = [&](const holdfast::GuardLost& loss) {
                                    say("told: " + to_text(loss.error));
                                    is_told = true;
                                }});
    if (!handle) return complain(handle.error());
    say("writing");
    while (true) {
        const auto checked = manager->check(handle->lease().token, job);
        if (!checked) {
            say("write refused: " + to_text(checked.error()));
            break;
        }
        std::this_thread::sleep_for(1ms);
    }
    say(handle->is_guaranteed() ? "handle: guaranteed" : "handle: lost");
    while (!is_told) std::this_thread::sleep_for(1ms);
    say(handle->stop_token().stop_requested() ? "stop: requested" : "stop: not requested");
    return 0;
}

int keep(holdfast::LockManager& manager, const std::string& holder) {
    const auto lease = manager.try_acquire({.scope = job, .holder = holder, .ttl = 10min});
    if (!lease) return complain(lease.error());
    say("token " + lease->token);
    std::this_thread::sleep_for(1h);
    return 0;
}

int take(holdfast::LockManager& manager, int count) {
    // Names of its own: what its killed predecessor held last is held still.
    const std::string prefix = std::to_string(::getpid()) + "-";
    for (int taken = 0; taken < count; ++taken) {
        const LockScope scope = LockScope::Named{prefix + std::to_string(taken)};
        const auto lease = manager.try_acquire({.scope = scope, .holder = "taker", .ttl = 10min});
        if (!lease) return complain(lease.error());
        say("token " + lease->token);
        if (const auto released = manager.release(*lease); !released) {
            return complain(released.error());
        }
    }
    say("done");
    return 0;
}

int check(holdfast::LockManager& manager, const std::string& token) {
    const auto lease = manager.get_by_token(token);
    if (!lease) return complain(lease.error());
    say("good: " + lease->scope.to_text() + " of " + lease->holder);
    return 0;
}

}  // namespace

int main(int argc, char** argv) {
    if (argc < 3) return 2;
    const std::string verb = argv[1];
    if (verb == "write") return write_until_refused(std::chrono::milliseconds{to_number(argv[2])});
    auto manager = holdfast::LockManager::open({.path = argv[2]});
    if (!manager) return complain(manager.error());
    if (argc < 4) return 2;
    if (verb == "keep") return keep(*manager, argv[3]);
    if (verb == "take") return take(*manager, to_number(argv[3]));
    if (verb == "check") return check(*manager, argv[3]);
    return 2;
}

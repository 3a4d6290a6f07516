#include <holdfast/client.h>

#include <iostream>

using namespace std::chrono_literals;
using holdfast::LockScope;

namespace {

// A backup of three parts into a bucket that cannot compare numbers itself: the server remembers
// the largest fencing token for it, and refuses smaller ones.
holdfast::LockResult<int> back_up(holdfast::Client& client, const holdfast::LeaseGuard& guard) {
    int part = 0;
    while (part < 3 && guard.is_guaranteed()) {  // or: !guard.stop_token().stop_requested()
        const auto passed = client.pass_fence("bucket", guard.fencing_token());
        if (!passed) return passed.error();
        std::cout << "part " << ++part << " is stored\n";
    }
    return part;
}

}  // namespace

int main() {
    // The server is HOLDFAST_SERVER, or http://127.0.0.1:8080.
    auto client = holdfast::Client::open();
    if (!client) {
        std::cerr << to_text(client.error()) << '\n';
        return 1;
    }

    // Waits in the queue for a minute at most; from then on the lease is renewed.
    auto guard = client->hold({.scope = LockScope::Named{"nightly-backup"}, .ttl = 30s}, 1min,
                              {.on_lost = [](const holdfast::GuardLost& loss) {
                                  std::cerr << "stopping: " << to_text(loss.error) << '\n';
                              }});
    if (!guard) {
        std::cerr << "not tonight: " << to_text(guard.error()) << '\n';
        return 1;
    }

    const auto parts = back_up(*client, *guard);
    if (!parts) {
        std::cerr << to_text(parts.error()) << '\n';
        return 1;
    }

    // An error if the lock was lost before: then some of it may have been too late.
    if (const auto released = guard->release(); !released) {
        std::cerr << to_text(released.error()) << '\n';
        return 1;
    }
    std::cout << "done, " << *parts << " parts\n";
    return *parts == 3 ? 0 : 1;
}

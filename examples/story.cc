#include <holdfast/client.h>

#include <cstdlib>
#include <future>
#include <iostream>
#include <thread>

using namespace std::chrono_literals;
using holdfast::LockScope;

namespace {

// The value, or the end of the program.
template <class T>
T expect(holdfast::LockResult<T> result) {
    if (result) return *std::move(result);
    std::cerr << to_text(result.error()) << '\n';
    std::exit(1);
}

}  // namespace

int main() {
    auto client = expect(holdfast::Client::open());  // $HOLDFAST_SERVER, or http://127.0.0.1:8080

    // Acquire. The lease renews itself, every third of its TTL.
    const auto ann = expect(
        client.hold({.scope = LockScope::Named{"printer"}, .holder = "ann", .ttl = 3s}, 1min));
    std::cout << "ann has the printer\n";

    // Wait, in the server's queue.
    auto waiting = std::async(std::launch::async, [&client] {
        return client.hold({.scope = LockScope::Named{"printer"}, .holder = "bob"}, 1min);
    });
    std::this_thread::sleep_for(1s);
    std::cout << "bob waits for it\n";

    // Lose. An admin ends Ann's lease. Bob gets the lock at once; Ann learns of it when she renews.
    expect(client.force_release(LockScope::Named{"printer"}));
    auto bob = expect(waiting.get());
    if (bob.fencing_token() > ann.fencing_token()) {
        std::cout << "bob has it, with a larger fencing number\n";
    }
    while (ann.is_guaranteed()) std::this_thread::sleep_for(100ms);
    std::cout << "ann has lost it\n";

    // Fence. Whatever Ann does too late is refused.
    expect(client.pass_fence("paper", bob.fencing_token()));
    std::cout << "bob may print\n";
    const auto refused = client.pass_fence("paper", ann.fencing_token());
    if (!refused && std::holds_alternative<holdfast::StaleFence>(refused.error())) {
        std::cout << "ann may not\n";
    }
    return bob.release() ? 0 : 1;
}

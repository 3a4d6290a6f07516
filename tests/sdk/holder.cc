// A program that writes under the lock `x` of a server until it is no longer sure of it, and then
// tries to write once more, as one would who does not look.

#include <holdfast/client.h>

#include <iostream>
#include <thread>

using namespace std::chrono_literals;

int main() {
    auto client = holdfast::Client::open();
    if (!client) return 1;
    auto guard =
        client->hold({.scope = holdfast::LockScope::Named{"x"}, .holder = "holder", .ttl = 4s}, 0s);
    if (!guard) return 1;
    const auto write = [&] { return client->pass_fence("store", guard->fencing_token()); };
    std::cout << "holding" << std::endl;
    while (guard->is_guaranteed() && write()) std::this_thread::sleep_for(20ms);
    std::cout << (guard->is_guaranteed() ? "sure" : "not sure") << std::endl;
    const auto late = write();
    std::cout << "write: " << (late ? "accepted" : to_text(late.error())) << std::endl;
    const auto released = guard->release();
    std::cout << "release: " << (released ? "done" : to_text(released.error())) << std::endl;
    std::cout << (guard->stop_token().stop_requested() ? "stopped" : "not stopped") << std::endl;
    return 0;
}

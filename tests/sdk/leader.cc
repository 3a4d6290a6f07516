// A program that leads the election `boss`, changes its value, and leads until it is killed.

#include <holdfast/client.h>

#include <iostream>
#include <thread>

using namespace std::chrono_literals;

int main() {
    auto client = holdfast::Client::open();
    if (!client) return 1;
    auto guard =
        client->campaign({.election = "boss", .candidate = "ann", .value = "one", .ttl = 3s});
    if (!guard) return 1;
    const auto changed = client->set_value(guard->lease(), "two");
    if (!changed) {
        std::cerr << to_text(changed.error()) << std::endl;
        return 1;
    }
    std::cout << "leading" << std::endl;
    while (guard->is_guaranteed()) std::this_thread::sleep_for(100ms);
    return 0;
}

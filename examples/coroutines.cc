// A storage engine with an event loop: its tasks are coroutines on one thread, and none of them blocks
// the others while it waits for a lock.

#include <holdfast/lock_manager.h>
#include <poll.h>

#include <coroutine>
#include <cstdlib>
#include <iostream>
#include <string>

using namespace std::chrono_literals;
using holdfast::LockScope;

namespace {

// A coroutine that begins at once and has no result.
struct Task {
    struct promise_type {
        Task get_return_object() { return {}; }
        std::suspend_never initial_suspend() noexcept { return {}; }
        std::suspend_never final_suspend() noexcept { return {}; }
        void return_void() {}
        void unhandled_exception() { std::abort(); }
    };
};

// The value, or the end of the program.
template <class T>
T expect(holdfast::LockResult<T> result) {
    if (result) return *std::move(result);
    std::cerr << to_text(result.error()) << '\n';
    std::exit(1);
}

// What the tasks write.
struct Engine {
    holdfast::AsyncLocks locks;
    std::string page;
    int tasks_left = 0;
};

Task write_page(Engine& engine, std::string writer) {
    ++engine.tasks_left;
    const LockScope bytes = LockScope::ByteRange{.inode = 7, .start = 0, .end = 4096};
    const holdfast::LeaseRequest request{.scope = bytes, .holder = writer};
    std::cout << writer << " asks\n";
    const auto lease = expect(co_await engine.locks.acquire(request, 1min));
    std::cout << writer << " has the page\n";

    // Whatever else takes time is waited for here, and other tasks go on. Then, before the write:
    const auto checked = co_await engine.locks.check(lease.token, bytes);
    if (checked) engine.page += writer + " was here. ";

    if (!co_await engine.locks.release(lease)) std::exit(1);
    --engine.tasks_left;
}

}  // namespace

int main() {
    auto manager = expect(holdfast::LockManager::open());
    auto queue = expect(holdfast::CompletionQueue::open());
    Engine engine{.locks = manager.async(queue.executor())};

    // Somebody else, who does not use coroutines, has the page.
    const auto held =
        expect(manager.try_acquire({.scope = LockScope::Inode{7}, .holder = "scan", .ttl = 10min}));
    for (const char* const writer : {"ann", "bob", "eve"}) write_page(engine, writer);
    std::cout << "scan gives it back\n";
    if (!manager.release(held)) return 1;

    // The event loop. A real one waits for sockets and disks, too.
    while (engine.tasks_left > 0) {
        pollfd event{.fd = queue.descriptor(), .events = POLLIN, .revents = 0};
        if (poll(&event, 1, 60'000) != 1) return 1;
        queue.run();
    }
    std::cout << engine.page << '\n';
    return engine.page == "ann was here. bob was here. eve was here. " ? 0 : 1;
}

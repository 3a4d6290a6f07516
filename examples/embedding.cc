#include <holdfast/lock_manager.h>

#include <cstdint>
#include <iostream>
#include <string>
#include <string_view>

using namespace std::chrono_literals;
using holdfast::LockScope;

namespace {

// A file that is written under locks only.
class LockedFile {
  public:
    explicit LockedFile(holdfast::LockManager& locks) : locks_(locks) {}

    // Refused with LockExpired, LockNotFound or LockScopeMismatch, unless the token is good for
    // exactly these bytes.
    holdfast::LockResult<void> write_with_lock(std::uint64_t start, std::string_view bytes,
                                               std::string_view token) {
        const LockScope::ByteRange written{.inode = 7, .start = start, .end = start + bytes.size()};
        const auto lease = locks_.check(token, written);
        if (!lease) return lease.error();
        if (content_.size() < written.end) content_.resize(written.end);
        content_.replace(start, bytes.size(), bytes);
        return {};
    }
    [[nodiscard]] const std::string& content() const { return content_; }

  private:
    holdfast::LockManager& locks_;
    std::string content_;
};

}  // namespace

int main() {
    // With a path, locks and fencing tokens survive the program: open({.path = "locks.db"}).
    auto locks = holdfast::LockManager::open();
    if (!locks) {
        std::cerr << to_text(locks.error()) << '\n';
        return 1;
    }
    LockedFile file(*locks);

    // Two writers on two regions of one file are not in each other's way.
    const auto head = locks->try_acquire(
        {.scope = LockScope::ByteRange{.inode = 7, .start = 0, .end = 5}, .holder = "writer-1"});
    const auto tail = locks->try_acquire(
        {.scope = LockScope::ByteRange{.inode = 7, .start = 5}, .holder = "writer-2"});
    if (!head || !tail) return 1;
    if (!file.write_with_lock(0, "hold ", head->token)) return 1;
    if (!file.write_with_lock(5, "fast", tail->token)) return 1;
    if (const auto refused = file.write_with_lock(3, "----", head->token); !refused) {
        std::cout << to_text(refused.error()) << '\n';  // a lock on range:7:0-5 is not enough ...
    }
    if (!locks->release(*head) || !locks->release(*tail)) return 1;

    // A long job keeps the whole file, renewing its lease, and stops when it can no longer be sure.
    const auto letters = locks->with_lock(
        {.scope = LockScope::Inode{7}, .holder = "counter", .ttl = holdfast::short_lease.ttl}, 1min,
        [&file](holdfast::LeaseGuard& guard) {
            std::size_t count = 0;
            for (const char c : file.content()) {
                if (!guard.is_guaranteed()) break;  // or: guard.stop_token().stop_requested()
                if (c != ' ') ++count;
            }
            return count;
        },
        {.on_lost = [](const holdfast::GuardLost& loss) {
            std::cerr << "lost the lock: " << to_text(loss.error) << '\n';
        }});
    if (!letters) return 1;  // not had, or lost before the job was done
    std::cout << *letters << " letters in \"" << file.content() << "\"\n";
    return *letters == 8 ? 0 : 1;
}

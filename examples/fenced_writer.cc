// A writer that stood still for longer than its lease comes back and goes on as if nothing had
// happened. It loses, twice: the lock manager knows that its lock is over, and storage that looks
// at fencing tokens does not even have to ask.

#include <holdfast/lock_manager.h>

#include <cstdint>
#include <iostream>
#include <string>

using namespace std::chrono_literals;

namespace {

// Storage far away. All it knows of locks is the largest fencing token it has seen.
class FencedFile {
  public:
    bool write(std::uint64_t fencing_token, std::string text) {
        if (fencing_token < largest_seen_) return false;
        largest_seen_ = fencing_token;
        text_ = std::move(text);
        return true;
    }
    [[nodiscard]] const std::string& text() const { return text_; }

  private:
    std::uint64_t largest_seen_ = 0;
    std::string text_;
};

}  // namespace

int main() {
    auto locks = holdfast::LockManager::open();
    if (!locks) return 1;
    FencedFile file;
    const holdfast::LockScope scope = holdfast::LockScope::Inode{7};

    const auto slow = locks->acquire({.scope = scope, .holder = "slow", .ttl = 100ms}, 0s);
    if (!slow) return 1;
    // Here the slow writer stands still. Nobody renews its lease; when that ends, the lock is
    // handed to the next one who waits.
    const auto quick = locks->acquire({.scope = scope, .holder = "quick", .ttl = 1h}, 1min);
    if (!quick) return 1;
    const bool quick_wrote = file.write(quick->fencing_token, "what quick wrote");
    std::cout << "quick writes: " << (quick_wrote ? "accepted" : "refused") << '\n';

    // The slow writer wakes up. Had it asked, it would know:
    const auto checked = locks->check(slow->token, scope);
    std::cout << "slow asks: " << (checked ? "go on" : to_text(checked.error())) << '\n';
    // It does not ask. Nothing is lost:
    const bool slow_wrote = file.write(slow->fencing_token, "what slow wrote");
    std::cout << "slow writes: " << (slow_wrote ? "accepted" : "refused") << '\n'
              << "the file holds: " << file.text() << '\n';

    const bool is_expired =
        !checked && std::holds_alternative<holdfast::LockExpired>(checked.error());
    const bool is_right = quick_wrote && is_expired && !slow_wrote;
    return is_right && file.text() == "what quick wrote" ? 0 : 1;
}

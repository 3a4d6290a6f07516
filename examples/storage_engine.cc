// A storage engine with locks inside: a file of pages that many threads write. Each page remembers
// the fencing token of its last writer, so a writer that was asleep cannot overwrite a later one.

#include <fcntl.h>
#include <holdfast/lock_manager.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <string>
#include <thread>

using namespace std::chrono_literals;
using holdfast::LockScope;

namespace {

constexpr std::uint64_t page_bytes = 4096;

// What is on disk.
struct Page {
    std::uint64_t fencing_token = 0;  // of the last writer
    char text[page_bytes - sizeof(std::uint64_t)] = {};
};

// The file. It knows nothing of leases, only fencing tokens.
class PageFile {
  public:
    explicit PageFile(const std::string& path)
        : file_(::open(path.c_str(), O_RDWR | O_CREAT, 0600)) {}
    ~PageFile() { ::close(file_); }
    PageFile(const PageFile&) = delete;
    PageFile& operator=(const PageFile&) = delete;

    [[nodiscard]] std::uint64_t inode() const {
        struct stat status {};
        return ::fstat(file_, &status) == 0 ? status.st_ino : 0;
    }
    // The bytes of a page, as a lock sees them.
    [[nodiscard]] LockScope scope_of(std::uint64_t number) const {
        const std::uint64_t start = number * page_bytes;
        return LockScope::ByteRange{.inode = inode(), .start = start, .end = start + page_bytes};
    }
    [[nodiscard]] Page read(std::uint64_t number) const {
        Page page;
        if (::pread(file_, &page, sizeof page, offset_of(number)) < 0) page = {};
        return page;
    }
    // False if a later holder of the lock has written the page already, or if the disk fails.
    bool write(std::uint64_t number, const std::string& text, const holdfast::Lease& lease) {
        if (lease.fencing_token < read(number).fencing_token) return false;
        Page page{.fencing_token = lease.fencing_token};
        text.copy(page.text, sizeof page.text - 1);
        return ::pwrite(file_, &page, sizeof page, offset_of(number)) == sizeof page;
    }

  private:
    static off_t offset_of(std::uint64_t number) { return static_cast<off_t>(number * page_bytes); }

    const int file_;
};

// The value, or the end of the program.
template <class T>
T expect(holdfast::LockResult<T> result) {
    if (result) return *std::move(result);
    std::cerr << to_text(result.error()) << '\n';
    std::exit(1);
}

// Writes a page under its lock. The guard renews the lease for as long as it takes.
void write_page(holdfast::LockManager& locks, PageFile& file, std::uint64_t number,
                const std::string& holder) {
    auto guard = expect(locks.hold({.scope = file.scope_of(number), .holder = holder}, 1min));
    if (!file.write(number, holder + " was here", guard.lease())) std::exit(1);
    if (!guard.release()) std::exit(1);  // lost before the write was done
}

void show(const std::string& what, bool is_accepted) {
    std::cout << what << ": " << (is_accepted ? "accepted" : "refused") << '\n';
}

void tell_the_story(const std::filesystem::path& folder) {
    PageFile file(folder / "pages");
    const std::string path = folder / "locks.db";  // locks survive the program
    {
        auto locks = expect(holdfast::LockManager::open({.path = path}));

        // Two writers of different pages do not wait for each other.
        std::thread ann([&] { write_page(locks, file, 0, "ann"); });
        std::thread bob([&] { write_page(locks, file, 1, "bob"); });
        ann.join();
        bob.join();
        std::cout << "page 0: " << file.read(0).text << "\npage 1: " << file.read(1).text << '\n';

        // A writer stands still for longer than its lease, and the next one goes on.
        const LockScope page = file.scope_of(0);
        const auto slow =
            expect(locks.acquire({.scope = page, .holder = "slow", .ttl = 100ms}, 1min));
        const auto quick =
            expect(locks.acquire({.scope = page, .holder = "quick", .ttl = 1h}, 1min));
        show("quick writes", file.write(0, "quick was here", quick));
        // The slow writer wakes up. If it asks, it learns that its lease has ended. If it does not
        // ask, the page knows.
        show("slow asks", locks.check(slow.token, page).has_value());
        show("slow writes", file.write(0, "slow was here", slow));
    }

    // The program is started again. Quick's lease is held again, so a scan of the whole file is
    // refused until that lease ends.
    auto locks = expect(holdfast::LockManager::open({.path = path}));
    const holdfast::LeaseRequest scan{.scope = LockScope::Inode{file.inode()}, .holder = "scan"};
    show("scan", locks.try_acquire(scan).has_value());
    for (const holdfast::Lease& lease : expect(locks.list())) {
        std::cout << "held by " << lease.holder << '\n';
        if (!locks.release(lease)) std::exit(1);
    }
    show("scan", locks.try_acquire(scan).has_value());
    std::cout << "page 0: " << file.read(0).text << '\n';
}

}  // namespace

int main() {
    std::string folder = "/tmp/storage_engine.XXXXXX";
    if (::mkdtemp(folder.data()) == nullptr) return 1;
    tell_the_story(folder);
    std::error_code ignored;
    std::filesystem::remove_all(folder, ignored);
}

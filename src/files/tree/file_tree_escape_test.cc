// No way out of the root, nor into the store's own folder.

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <atomic>
#include <cstdio>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include "base/crypto.h"
#include "files/tree/file_tree.h"
#include "files/tree/test_tree.h"

namespace holdfast::files::testing {
namespace {

namespace fs = std::filesystem;

// A root with a secret beside it.
class EscapeTest : public TreeTest {
  protected:
    void SetUp() override {
        TreeTest::SetUp();
        fs::create_directory(folder_ / "outside");
        write_foreign_file(folder_ / "outside/secret", "secret");
    }

    // Nothing at `path` can be read, written, listed or removed.
    void expect_closed(const std::string& path) {
        const auto parsed = FilePath::parse(path);
        if (!parsed) return;
        EXPECT_EQ(fault_of(tree_->open_file(*parsed)), Fault::not_found) << path;
        EXPECT_FALSE(put(*tree_, path, "changed")) << path;
        EXPECT_FALSE(patch(*tree_, path, 0, "changed")) << path;
        EXPECT_FALSE(tree_->remove_file(*parsed, always)) << path;
        EXPECT_FALSE(tree_->list(*parsed, {})) << path;
        EXPECT_FALSE(tree_->remove_directory(*parsed)) << path;
        EXPECT_FALSE(tree_->make_directory(*parsed)) << path;
    }
    void expect_unharmed() const {
        EXPECT_TRUE(fs::exists(folder_ / "outside/secret"));
        std::ifstream file(folder_ / "outside/secret");
        EXPECT_EQ(std::string(std::istreambuf_iterator<char>(file), {}), "secret");
        EXPECT_EQ(std::distance(fs::directory_iterator(folder_ / "outside"), {}), 1);
        EXPECT_EQ(std::distance(fs::directory_iterator(folder_ / ""), {}), 2);
    }
};

TEST_F(EscapeTest, LeadsNowhereByDots) {
    for (const char* path :
         {"/../outside/secret", "/a/../../outside/secret", "/./../outside/secret", "/..",
          "/../root/../outside/secret", "//../outside/secret", "/.../../../outside/secret",
          "/a/b/c/../../../../outside/secret", "/../../../../../../../../etc/passwd", "/a/..",
          "/a/../", "/./", "/../", "/..//..//etc/passwd"}) {
        EXPECT_FALSE(FilePath::parse(path)) << path;
    }
    // A lenient decoder would turn these into dots. Here they are ordinary names.
    for (const char* path :
         {"/%2e%2e/outside/secret", "/..%2foutside%2fsecret", "/..\\outside\\secret",
          "/..;/outside/secret", "/%252e%252e/outside/secret", "/\xEF\xBC\x8E\xEF\xBC\x8E/outside",
          "/.. /outside/secret", "/..../outside/secret"}) {
        EXPECT_EQ(fault_of(tree_->open_file(path_of(path))), Fault::not_found) << path;
        EXPECT_TRUE(put(*tree_, path, "x")) << path;
        EXPECT_EQ(get(*tree_, path), "x");
    }
    expect_unharmed();
}

TEST_F(EscapeTest, FollowsNoLink) {
    fs::create_symlink("../outside/secret", real("/relative"));
    fs::create_symlink(folder_ / "outside/secret", real("/absolute"));
    fs::create_directory_symlink("../outside", real("/folder"));
    fs::create_directory_symlink("/", real("/top"));
    fs::create_directory_symlink("/proc/self/root", real("/magic"));
    fs::create_directory_symlink("/proc/self/cwd", real("/magic2"));
    fs::create_symlink("loop", real("/loop"));
    fs::create_symlink("nowhere", real("/dangling"));
    fs::create_directory(real("/inside"));
    fs::create_directory_symlink("inside", real("/to-inside"));
    fs::create_directory_symlink(".holdfast", real("/to-own"));
    fs::create_symlink(".holdfast/lock", real("/to-lock"));
    for (const char* path :
         {"/relative", "/absolute", "/folder", "/folder/secret", "/folder/new", "/top", "/loop",
          "/loop/a", "/dangling", "/dangling/a", "/to-inside", "/to-inside/a", "/to-own",
          "/to-own/lock", "/to-own/tmp/a", "/to-lock", "/magic/etc/passwd", "/magic2/a"}) {
        expect_closed(path);
    }
    expect_closed("/top" + folder_ / "outside/secret");
    expect_unharmed();
    EXPECT_TRUE(fs::is_empty(real("/inside")));
    EXPECT_FALSE(fs::exists(real("/nowhere")));
}

TEST_F(EscapeTest, TakesNothingButFilesForFiles) {
    ASSERT_EQ(mkfifo(real("/pipe").c_str(), 0600), 0);
    sockaddr_un address{.sun_family = AF_UNIX};
    // A short name, since that of the folder may not fit.
    const std::string name = real("/socket");
    ASSERT_LT(name.size(), sizeof address.sun_path);
    name.copy(address.sun_path, sizeof address.sun_path - 1);
    const base::Descriptor socket_descriptor(socket(AF_UNIX, SOCK_STREAM, 0));
    ASSERT_EQ(bind(socket_descriptor.get(), reinterpret_cast<sockaddr*>(&address), sizeof address),
              0);
    expect_closed("/pipe");
    expect_closed("/socket");
    EXPECT_TRUE(fs::is_fifo(real("/pipe")));
    EXPECT_TRUE(fs::is_socket(real("/socket")));
}

TEST_F(EscapeTest, HidesItsOwnFolder) {
    ASSERT_TRUE(put(*tree_, "/a", "x"));
    for (const char* path : {"/.holdfast", "/.holdfast/", "/.holdfast/next_inode",
                             "/.holdfast/tmp/0000000000000000", "/.HOLDFAST/lock"}) {
        EXPECT_FALSE(FilePath::parse(path)) << path;
    }
    const auto page = tree_->list(path_of("/"), {});
    ASSERT_TRUE(page);
    ASSERT_EQ(page->entries.size(), 1U);
    EXPECT_EQ(page->entries[0].path, "/a");
}

// Somebody exchanges a directory for a link to the outside, again and again, while others read,
// write and list through it.
TEST_F(EscapeTest, LosesNoRaceAgainstLinks) {
    write_foreign_file(folder_ / "outside/secret", "secret");
    fs::create_directory(real("/swap"));
    write_foreign_file(real("/swap/secret"), "inside");
    fs::create_directory_symlink("../outside", real("/link"));
    std::atomic<bool> is_over = false;
    std::thread swapper([&] {
        const auto exchange = [&] {
            return renameat2(AT_FDCWD, real("/swap").c_str(), AT_FDCWD, real("/link").c_str(),
                             RENAME_EXCHANGE);
        };
        while (!is_over) ASSERT_EQ(exchange(), 0);
    });
    run_together(3, [&](int i) {
        for (int j = 0; j < 100; ++j) {
            const auto file = tree_->open_file(path_of("/swap/secret"));
            EXPECT_FALSE(file && content_of(*file) == "secret");
            (void)put(*tree_, "/swap/new" + std::to_string(i), "new");
            (void)tree_->make_directory(path_of("/swap/directory"));
            (void)tree_->remove_directory(path_of("/swap/directory"));
            (void)tree_->remove_file(path_of("/swap/new" + std::to_string(i)), always);
            const auto page = tree_->list(path_of("/"), {});
            if (!page) continue;
            for (const auto& entry : page->entries) EXPECT_NE(entry.path, "/link/secret/");
        }
    });
    is_over = true;
    swapper.join();
    expect_unharmed();
}

}  // namespace
}  // namespace holdfast::files::testing

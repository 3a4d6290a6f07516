#include "files/login/session_book.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <string>
#include <thread>

#include "base/crypto.h"
#include "files/tree/test_tree.h"

namespace holdfast::files::testing {
namespace {

const service::WallTime start{1'736'726'400s};

class SessionBookTest : public TreeTest {
  protected:
    void SetUp() override {
        TreeTest::SetUp();
        open_book();
    }
    void open_book(std::size_t sessions_max = sessions_max_default) {
        book_.reset();
        auto book = SessionBook::open(tree_->own_folder(), sessions_max);
        ASSERT_TRUE(book) << book.error().message;
        book_ = std::move(*book);
    }
    SessionBook::NewSession create(service::WallTime now = start) {
        auto made = book_->create({.owner = "bearer"}, now);
        EXPECT_TRUE(made) << made.error().message;
        return made ? std::move(*made) : SessionBook::NewSession{};
    }

    std::unique_ptr<SessionBook> book_;
};

TEST_F(SessionBookTest, FindsASessionByItsId) {
    const auto made = create();
    EXPECT_EQ(made.id.size(), 64U);
    EXPECT_EQ(made.session.owner, "bearer");
    EXPECT_EQ(made.session.created_ms, 1'736'726'400'000);
    EXPECT_EQ(made.session.expires_ms, 1'736'726'400'000 + 7 * 86'400'000);
    EXPECT_EQ(book_->find(made.id, start), made.session);
    std::string wrong = made.id;
    wrong.back() = wrong.back() == '0' ? '1' : '0';
    for (const std::string& id : {wrong, made.session.name, base::sha256_hex(made.id),
                                  made.id + "0", made.id.substr(1), std::string()}) {
        EXPECT_FALSE(book_->find(id, start)) << id;
    }
}

TEST_F(SessionBookTest, GivesEveryoneAnotherIdAndName) {
    std::set<std::string> seen;
    for (int i = 0; i < 50; ++i) {
        const auto made = create();
        EXPECT_TRUE(seen.insert(made.id).second);
        EXPECT_TRUE(seen.insert(made.session.name).second);
    }
}

TEST_F(SessionBookTest, OutlivesTheServer) {
    const auto one = create();
    const std::string key(64, 'a');
    const auto two = book_->create(
        {.owner = key, .permission = Permission::read, .app_name = "Notes \"\n\u00fc"}, start + 1s);
    ASSERT_TRUE(two);
    open_book();
    EXPECT_EQ(book_->find(one.id, start), one.session);
    EXPECT_EQ(book_->find(two->id, start + 1s), two->session);
    EXPECT_EQ(book_->list(start), (std::vector<Session>{one.session, two->session}));
}

// A session without the name of an app is on disk as it was before there were such names.
TEST_F(SessionBookTest, IsOnDiskInTheseBytes) {
    const auto text_of = [&](const SessionBook::NewSession& made) {
        std::ifstream file(real("/.holdfast/sessions/" + base::sha256_hex(made.id)));
        return std::string(std::istreambuf_iterator<char>(file), {});
    };
    EXPECT_EQ(text_of(create()), "1 1736726400000 1737331200000 bearer\n");
    const auto named = book_->create({.owner = "bearer", .app_name = "My App"}, start);
    ASSERT_TRUE(named);
    EXPECT_EQ(text_of(*named), "1 1736726400000 1737331200000 bearer 4d7920417070\n");
}

TEST_F(SessionBookTest, KeepsNoIdAnywhere) {
    const auto made = create();
    const std::string command = "grep --recursive --text --quiet " + made.id + " " + real("");
    EXPECT_NE(std::system(command.c_str()), 0);
    const std::string names = "find " + real("") + " | grep --quiet " + made.id;
    EXPECT_NE(std::system(names.c_str()), 0);
    EXPECT_EQ(made.session.name, base::sha256_hex(made.id).substr(0, 16));
}

TEST_F(SessionBookTest, EndsASessionForGood) {
    const auto one = create();
    const std::string key(64, 'a');
    const auto two = create();
    EXPECT_EQ(book_->end(one.session.name), true);
    EXPECT_EQ(book_->end(one.session.name), false);
    EXPECT_EQ(book_->end("../lock"), false);
    EXPECT_FALSE(book_->find(one.id, start));
    open_book();
    EXPECT_FALSE(book_->find(one.id, start));
    EXPECT_TRUE(book_->find(two.id, start));
}

TEST_F(SessionBookTest, ExpiresAfterSevenDays) {
    const auto one = create();
    const std::string key(64, 'a');
    const auto two = create(start + 1h);
    const service::WallTime end = start + session_time;
    EXPECT_EQ(book_->next_expiry(), end);
    EXPECT_TRUE(book_->find(one.id, end - 1ms));
    EXPECT_FALSE(book_->find(one.id, end));
    EXPECT_EQ(book_->list(end), std::vector<Session>{two.session});
    EXPECT_EQ(book_->remove_expired(end - 1ms).removed, std::vector<Session>{});
    open_book();  // also one that expired while the server was down is told of
    EXPECT_EQ(book_->remove_expired(end).removed, std::vector<Session>{one.session});
    EXPECT_EQ(book_->remove_expired(end).removed, std::vector<Session>{});
    EXPECT_EQ(book_->next_expiry(), end + 1h);
    EXPECT_EQ(book_->remove_expired(end + 1h).removed, std::vector<Session>{two.session});
    EXPECT_EQ(book_->next_expiry(), std::nullopt);
    EXPECT_TRUE(std::filesystem::is_empty(real("/.holdfast/sessions")));
}

TEST_F(SessionBookTest, RemovesTheOtherExpiredSessionsWhenTheDiskFailsForOne) {
    std::vector<SessionBook::NewSession> made{create(), create(), create()};
    std::ranges::sort(made, {}, [](const auto& one) { return one.session.name; });
    // A directory in the place of the first file cannot be removed like a file.
    const std::filesystem::path file = real("/.holdfast/sessions/" + base::sha256_hex(made[0].id));
    ASSERT_TRUE(std::filesystem::remove(file));
    ASSERT_TRUE(std::filesystem::create_directory(file));
    const service::WallTime end = start + session_time;
    const auto expired = book_->remove_expired(end);
    EXPECT_EQ(expired.removed, (std::vector<Session>{made[1].session, made[2].session}));
    EXPECT_EQ(expired.failed_count, 1U);
    ASSERT_TRUE(expired.failure);
    EXPECT_NE(expired.failure->message, "");
    ASSERT_TRUE(std::filesystem::remove(file));
    EXPECT_EQ(book_->remove_expired(end).removed, std::vector<Session>{made[0].session})
        << "it is tried again";
}

TEST_F(SessionBookTest, HasRoomForSoManyOnly) {
    open_book(2);
    const auto one = create();
    ASSERT_TRUE(book_->create({.owner = "two"}, start));
    const auto three = book_->create({.owner = "three"}, start);
    ASSERT_FALSE(three);
    EXPECT_EQ(three.error().message,
              "there are 2 sessions already; end one, or wait until one expires");
    ASSERT_TRUE(book_->end(one.session.name));
    EXPECT_TRUE(book_->create({.owner = "three"}, start));
    EXPECT_FALSE(book_->create({.owner = "four"}, start));
    EXPECT_TRUE(book_->create({.owner = "four"}, start + session_time));
}

// One owner has room for 3 of 12.
TEST_F(SessionBookTest, GivesEachOwnerAShareAndReplacesTheSessionThatWasNotUsedForLongest) {
    open_book(12);
    std::vector<SessionBook::NewSession> made;
    for (int i = 0; i < 3; ++i) made.push_back(create(start + std::chrono::seconds(i)));
    ASSERT_TRUE(book_->find(made[0].id, start + 10s)) << "the second one is the least used now";
    const auto fourth = book_->create({.owner = "bearer"}, start + 11s);
    ASSERT_TRUE(fourth);
    ASSERT_TRUE(fourth->replaced);
    EXPECT_EQ(fourth->replaced->name, made[1].session.name);
    EXPECT_FALSE(book_->find(made[1].id, start + 11s));
    for (const std::string& id : {made[0].id, made[2].id, fourth->id}) {
        EXPECT_TRUE(book_->find(id, start + 11s));
    }
    const auto other = book_->create({.owner = "other"}, start + 11s);
    ASSERT_TRUE(other);
    EXPECT_FALSE(other->replaced) << "the share of another owner is not touched";
    open_book(12);
    EXPECT_FALSE(book_->find(made[1].id, start + 11s)) << "it is gone from the disk, too";
    EXPECT_EQ(book_->list(start + 11s).size(), 4U);
}

TEST_F(SessionBookTest, ReplacesASessionWhenItsChangesAreDone) {
    open_book(1);
    const auto one = create();
    auto change = book_->begin_change(one.session.name, start);
    ASSERT_TRUE(change);
    std::atomic<bool> is_told = false;
    std::thread login([&] {
        EXPECT_TRUE(book_->create({.owner = "bearer"}, start)->replaced);
        is_told = true;
    });
    while (book_->is_live(one.session.name, start)) std::this_thread::yield();
    EXPECT_FALSE(is_told);
    change.reset();
    login.join();
    EXPECT_TRUE(is_told);
}

TEST_F(SessionBookTest, PassesOverFilesThatAreNoSessions) {
    const auto made = create();
    const std::string folder = real("/.holdfast/sessions/");
    write_foreign_file(folder + "readme", "1 1 2 bearer\n");
    for (const char* text : {"", "1", "1 a b c\n", "3 1 2 bearer\n", "1 1 2 bearer", "1 1\n"}) {
        write_foreign_file(folder + std::string(64, 'a'), text);
        open_book();
        EXPECT_EQ(book_->list(service::WallTime{}), std::vector<Session>{made.session}) << text;
    }
}

TEST_F(SessionBookTest, StandsManyAtOnce) {
    run_together(4, [&](int) {
        for (int j = 0; j < 25; ++j) {
            const auto made = book_->create({.owner = "bearer"}, start);
            ASSERT_TRUE(made);
            EXPECT_TRUE(book_->find(made->id, start));
            EXPECT_EQ(book_->end(made->session.name), true);
        }
    });
    EXPECT_TRUE(book_->list(start).empty());
}

TEST_F(SessionBookTest, LetsOnlySessionsThatAreNotOverBeginAChange) {
    const std::string name = create().session.name;
    EXPECT_FALSE(book_->begin_change("nobody", start));
    EXPECT_TRUE(book_->is_live(name, start));
    EXPECT_TRUE(book_->begin_change(name, start));
    const service::WallTime end = start + session_time;
    EXPECT_TRUE(book_->begin_change(name, end - 1ms));
    EXPECT_FALSE(book_->begin_change(name, end)) << "on time, though nobody has removed it yet";
    EXPECT_FALSE(book_->is_live(name, end));
    EXPECT_EQ(book_->end(name), true);
    EXPECT_FALSE(book_->begin_change(name, start));
    EXPECT_FALSE(book_->is_live(name, start));
}

// Whichever way a session ends: the end is told when the changes that had begun are done.
TEST_F(SessionBookTest, EndsWhenTheChangesThatHadBegunAreDone) {
    for (const bool expires : {true, false}) {
        const std::string name = create().session.name;
        std::atomic<bool> is_told = false;
        auto one = book_->begin_change(name, start);
        auto two = book_->begin_change(name, start);
        ASSERT_TRUE(one && two);
        std::thread ender([&] {
            if (expires) {
                EXPECT_EQ(book_->remove_expired(start + session_time).removed.size(), 1U);
            } else {
                EXPECT_EQ(book_->end(name), true);
            }
            is_told = true;
        });
        while (book_->is_live(name, start)) std::this_thread::yield();
        EXPECT_FALSE(book_->begin_change(name, start)) << "a further one";
        create();  // others go on meanwhile
        one.reset();
        EXPECT_FALSE(is_told);
        two.reset();
        ender.join();
        EXPECT_TRUE(is_told);
    }
}

}  // namespace
}  // namespace holdfast::files::testing

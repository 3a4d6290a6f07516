#include "store/journal/journal_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>

#include "store/tables/test_leases.h"

namespace holdfast::store {
namespace {

using namespace testing;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr JournalName this_journal{.database = 77, .generation = 5};
constexpr std::size_t block = JournalFile::block_bytes;

class JournalFileTest : public ::testing::Test {
  protected:
    JournalFileTest() { file_.begin(this_journal); }

    void append(const std::string& entry) {
        const auto appended = file_.append(entry);
        ASSERT_TRUE(appended) << appended.error().message;
        ASSERT_TRUE(*appended);
    }
    [[nodiscard]] std::string bytes() const { return read_journal_bytes(path_).value().value(); }
    static std::vector<std::string> found_in(const std::string& bytes,
                                             const JournalName& wanted = this_journal) {
        const auto entries = find_entries(bytes, wanted);
        if (!entries) return {"refused: " + entries.error().message};
        return {entries->begin(), entries->end()};
    }

    const TemporaryFolder folder_;
    const std::string path_ = folder_ / "journal";
    JournalFile file_ = *JournalFile::open(path_);
};

TEST_F(JournalFileTest, HasWhatWasAppended) {
    EXPECT_TRUE(file_.empty());
    const std::string large(3 * block, 'x');
    append("one");
    append(large);
    append("");
    append("three");
    EXPECT_FALSE(file_.empty());
    EXPECT_THAT(found_in(bytes()), ElementsAre("one", large, "", "three"));
    EXPECT_EQ(bytes().size(), JournalFile::size_min) << "it does not grow with every record";
    struct stat status {};
    ASSERT_EQ(::stat(path_.c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 0777U, 0600U);
}

TEST_F(JournalFileTest, IsUsedAgainFromItsBeginning) {
    for (int record = 0; record < 10; ++record) append("old");
    const JournalName next{.database = 77, .generation = 6};
    EXPECT_THAT(found_in(bytes(), next), IsEmpty());
    file_.begin(next);
    EXPECT_TRUE(file_.empty());
    append("new");
    EXPECT_THAT(found_in(bytes(), next), ElementsAre("new"));
    append("newer");
    EXPECT_THAT(found_in(bytes(), next), ElementsAre("new", "newer"));
}

TEST_F(JournalFileTest, GrowsUpToItsLargestSize) {
    const std::string large(JournalFile::size_min, 'x');
    std::size_t count = 0;
    for (;; ++count) {
        const auto appended = file_.append(large);
        ASSERT_TRUE(appended);
        if (!*appended) break;
    }
    EXPECT_EQ(bytes().size(), JournalFile::size_max);
    EXPECT_EQ(count, JournalFile::size_max / (JournalFile::size_min + block));
    EXPECT_THAT(found_in(bytes()), SizeIs(count));
    file_.begin({.database = 77, .generation = 6});
    EXPECT_FALSE(*file_.append(std::string(JournalFile::size_max, 'x')));
    EXPECT_TRUE(*file_.append(std::string(JournalFile::size_max - block, 'x')));
}

// The commit that finds the file full does not pay for those that follow.
TEST_F(JournalFileTest, GrowsALittleAtATimeWithOneWrite) {
    std::size_t grown = 0;
    for (std::size_t size = file_.size(); size < JournalFile::size_max; size = file_.size()) {
        const std::uint64_t writes = file_.writes();
        append(std::string(50'000, 'x'));
        const std::size_t by = file_.size() - size;
        ASSERT_LE(by, JournalFile::growth_max);
        ASSERT_EQ(file_.writes() - writes, by > 0 ? 2U : 1U);
        if (by > 0) ++grown;
    }
    EXPECT_EQ(grown, 17U);
    const auto found = find_entries(bytes(), this_journal);
    EXPECT_TRUE(found);
}

TEST_F(JournalFileTest, ARecordThatIsNotCompleteIsNotThere) {
    append("one");
    append(std::string(2 * block, 'y'));
    const std::string whole = bytes();
    for (const std::size_t cut : {block, block + 1, block + 40, 2 * block, 3 * block}) {
        EXPECT_THAT(found_in(whole.substr(0, cut)), ElementsAre("one")) << cut;
        std::string zeros = whole;
        std::fill(zeros.begin() + static_cast<std::ptrdiff_t>(cut), zeros.end(), '\0');
        EXPECT_THAT(found_in(zeros), ElementsAre("one")) << cut;
    }
    EXPECT_THAT(found_in(""), IsEmpty());
    EXPECT_THAT(found_in(whole.substr(0, 10)), IsEmpty());
}

// Every byte of every record but the last.
TEST_F(JournalFileTest, DamageBeforeTheLastRecordIsNoticed) {
    append("one");
    append(std::string(100, 'y'));
    append("three");
    const std::string whole = bytes();
    for (const std::size_t begin : {std::size_t{0}, block}) {
        const std::size_t used = begin == 0 ? 43 : 140;
        for (std::size_t at = begin; at < begin + used; ++at) {
            std::string damaged = whole;
            damaged[at] = static_cast<char>(damaged[at] ^ 0x10);
            EXPECT_THAT(found_in(damaged), ElementsAre(HasSubstr("refused: it is damaged"))) << at;
        }
    }
    EXPECT_THAT(found_in(whole.substr(block)), ElementsAre(HasSubstr("record 0 cannot be read")));
}

// A sector, or several, that is there twice or not at all.
TEST_F(JournalFileTest, RecordsThatHaveMovedAreNoticed) {
    append("one");
    append("two");
    append("three");
    const std::string whole = bytes();
    for (std::size_t at = 0; at < 2 * block; at += 512) {
        for (const std::size_t size : {std::size_t{512}, 3 * std::size_t{512}}) {
            std::string damaged = whole;
            damaged.insert(at, whole.substr(at, size));
            EXPECT_THAT(found_in(damaged), ElementsAre(HasSubstr("refused: it is damaged"))) << at;
            if (at + size > 2 * block) continue;  // the last record is not noticed
            damaged = whole;
            damaged.erase(at, size);
            EXPECT_THAT(found_in(damaged), ElementsAre(HasSubstr("refused: it is damaged"))) << at;
        }
    }
}

TEST_F(JournalFileTest, TheJournalOfAnotherDatabaseIsRefused) {
    append("one");
    EXPECT_THAT(found_in(bytes(), {.database = 78, .generation = 5}),
                ElementsAre("refused: it is the journal of another database"));
    EXPECT_THAT(found_in(bytes(), {.database = 77, .generation = 4}),
                ElementsAre(HasSubstr("refused: it is newer than its database")));
    const auto meanwhile =
        find_entries(bytes(), {.database = 77, .generation = 4}, JournalUse::of_running_server);
    EXPECT_THAT(meanwhile.value(), IsEmpty());
}

TEST_F(JournalFileTest, NoRoomOnTheDiskIsNoFailure) {
    std::size_t count = 0;
    {
        const FullDisk disk(JournalFile::size_min + 3 * block);
        while (file_.append("x").value()) ++count;
    }
    EXPECT_EQ(count, JournalFile::size_min / block);
    EXPECT_EQ(bytes().size(), JournalFile::size_min);
    EXPECT_THAT(found_in(bytes()), SizeIs(count));
    EXPECT_TRUE(file_.append("there is room again").value());
    EXPECT_THAT(found_in(bytes()), SizeIs(count + 1));
}

TEST_F(JournalFileTest, AFailedWriteIsAFailure) {
    const auto nowhere = JournalFile::open(folder_ / "nowhere/journal");
    ASSERT_FALSE(nowhere);
    EXPECT_THAT(nowhere.error().message, HasSubstr("No such file"));
    append("one");
    {
        const FullDisk disk(block);  // the file was larger before
        const auto failed = file_.append("two");
        ASSERT_FALSE(failed);
        EXPECT_EQ(failed.error().message, "cannot write " + path_ + ": File too large");
    }
    EXPECT_THAT(found_in(bytes()), ElementsAre("one"));
}

TEST_F(JournalFileTest, AMissingFileIsTold) {
    EXPECT_FALSE(read_journal_bytes(folder_ / "nothing").value().has_value());
    EXPECT_FALSE(read_journal_bytes(folder_ / ".").has_value());
}

}  // namespace
}  // namespace holdfast::store

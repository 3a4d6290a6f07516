#include "files/versions/version_store.h"

#include <gmock/gmock.h>

#include <array>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <thread>

#include "base/text/hex.h"
#include "files/disk/md5.h"
#include "files/disk/system.h"
#include "files/tree/test_tree.h"

namespace holdfast::files {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using testing::TemporaryFolder;

bool yes() {
    return true;
}

class VersionStoreTest : public ::testing::Test {
  protected:
    VersionStoreTest() { open(); }

    void open(VersionLimits limits = {.kept_max = 3, .document_bytes_max = 100}) {
        store_.reset();
        auto opened = VersionStore::open(folder_ / "states", limits);
        ASSERT_TRUE(opened) << opened.error().message;
        store_ = std::move(*opened);
    }

    FileResult<Version> put(const std::string& name, const std::string& text,
                            const VersionStore::Check& check = yes) {
        auto upload = store_->begin_upload().value();
        const auto appended = upload.append(text);
        if (!appended) return tl::unexpected(appended.error());
        return store_->commit(name, std::move(upload), check);
    }

    // The content of a version, or why there is none.
    std::string get(const std::string& name, std::optional<std::uint64_t> number = {}) {
        const auto found = store_->open_version(name, number);
        if (!found) return "! " + found.error().message;
        return read_head(found->descriptor.get(), 1000).value();
    }

    std::vector<std::uint64_t> numbers(const std::string& name) {
        std::vector<std::uint64_t> all;
        const auto versions = store_->versions(name).value();
        for (const Version& each : versions) all.push_back(each.number);
        return all;
    }

    // The names of the files that are being written.
    std::size_t temporary_files() {
        const std::filesystem::directory_iterator begin(folder_ / "states/.holdfast/tmp");
        return static_cast<std::size_t>(std::distance(begin, {}));
    }

    const TemporaryFolder folder_;
    std::unique_ptr<VersionStore> store_;
};

TEST_F(VersionStoreTest, KeepsTheLastVersionsOfEachDocument) {
    EXPECT_EQ(get("prod"), "! there is no state prod");
    EXPECT_THAT(numbers("prod"), IsEmpty());
    for (const char* text : {"one", "two", "three", "four"}) ASSERT_TRUE(put("prod", text));
    ASSERT_TRUE(put("test", "else"));
    EXPECT_EQ(get("prod"), "four");
    EXPECT_EQ(get("prod", 2), "two");
    EXPECT_EQ(get("prod", 1), "! there is no version 1 of prod");
    EXPECT_THAT(numbers("prod"), ElementsAre(4, 3, 2));
    EXPECT_THAT(store_->names().value(), ElementsAre("prod", "test"));
    open();
    EXPECT_EQ(get("prod"), "four");
    EXPECT_EQ(put("prod", "five")->number, 5);
}

TEST_F(VersionStoreTest, TellsSizesAndTimes) {
    using namespace std::chrono;
    const auto before = system_clock::now() - 1h;
    ASSERT_TRUE(put("prod", "four"));
    const auto found = store_->versions("prod").value();
    ASSERT_EQ(found.size(), 1);
    EXPECT_EQ(found[0].size_bytes, 4);
    const system_clock::time_point written{milliseconds{found[0].written_ms}};
    EXPECT_GT(written, before);
    EXPECT_LT(written, before + 2h);
}

TEST_F(VersionStoreTest, RemovesADocumentByAVersionWithoutContent) {
    EXPECT_EQ(store_->remove("prod", yes).error().fault, Fault::not_found);
    ASSERT_TRUE(put("prod", "one"));
    EXPECT_EQ(store_->remove("prod", yes)->number, 2);
    EXPECT_EQ(get("prod"), "! there is no state prod: it was removed");
    EXPECT_EQ(get("prod", 2), "! there is no state prod: it was removed");
    EXPECT_EQ(get("prod", 1), "one");
    EXPECT_EQ(store_->remove("prod", yes).error().fault, Fault::not_found);
    EXPECT_EQ(put("prod", "two")->number, 3);
    EXPECT_EQ(get("prod"), "two");
}

TEST_F(VersionStoreTest, RestoresAVersionAsANewOne) {
    ASSERT_TRUE(put("prod", "one"));
    ASSERT_TRUE(put("prod", "two"));
    const auto restored = store_->restore("prod", 1, yes);
    ASSERT_TRUE(restored);
    EXPECT_EQ(restored->number, 3);
    EXPECT_EQ(restored->size_bytes, 3);
    EXPECT_EQ(get("prod"), "one");
    EXPECT_EQ(get("prod", 2), "two");
    EXPECT_EQ(store_->restore("prod", 9, yes).error().fault, Fault::not_found);
}

TEST_F(VersionStoreTest, ChangesNothingWithoutPermission) {
    ASSERT_TRUE(put("prod", "one"));
    const auto no = [] { return false; };
    EXPECT_EQ(put("prod", "two", no).error().fault, Fault::refused);
    EXPECT_EQ(put("other", "two", no).error().fault, Fault::refused);
    EXPECT_EQ(store_->remove("prod", no).error().fault, Fault::refused);
    EXPECT_EQ(store_->restore("prod", 1, no).error().fault, Fault::refused);
    EXPECT_THAT(numbers("prod"), ElementsAre(1));
    EXPECT_THAT(store_->names().value(), ElementsAre("prod"));
    EXPECT_EQ(temporary_files(), 0);
}

TEST_F(VersionStoreTest, RefusesWhatIsTooLargeAndKeepsNothingOfIt) {
    EXPECT_EQ(store_->begin_upload(101).error().fault, Fault::too_large);
    auto upload = store_->begin_upload(100).value();
    ASSERT_TRUE(upload.append(std::string(100, 'x')));
    EXPECT_EQ(upload.append("x").error().fault, Fault::too_large);
    EXPECT_EQ(temporary_files(), 1);
    { const VersionUpload gone = std::move(upload); }
    EXPECT_EQ(temporary_files(), 0);
}

TEST_F(VersionStoreTest, TakesAnyNameThatPeopleWouldGive) {
    const std::vector<std::string> names{"a/b",  "..",  ".holdfast", "a b%2F", "\xC3\xBC-1_x.y",
                                         "PROD", "prod"};
    for (const std::string& name : names) {
        ASSERT_TRUE(VersionStore::is_name(name)) << name;
        ASSERT_TRUE(put(name, "of " + name));
    }
    for (const std::string& name : names) EXPECT_EQ(get(name), "of " + name);
    EXPECT_THAT(store_->names().value(), ::testing::UnorderedElementsAreArray(names));
    for (const std::string& name :
         {std::string(), std::string("a\nb"), std::string("a\0b", 3), std::string("\xFF"),
          std::string(256, 'x'), std::string(90, ' ')}) {
        EXPECT_FALSE(VersionStore::is_name(name)) << name;
    }
}

TEST_F(VersionStoreTest, IgnoresWhatOthersLeftInItsFolders) {
    ASSERT_TRUE(put("prod", "one"));
    for (const char* name :
         {"states/prod/x", "states/prod/1.bak", "states/prod/0", "states/note"}) {
        std::ofstream(folder_ / name) << "foreign";
    }
    std::filesystem::create_directory(folder_ / "states/a b");
    EXPECT_THAT(numbers("prod"), ElementsAre(1));
    EXPECT_THAT(store_->names().value(), ElementsAre("prod"));
    EXPECT_EQ(put("prod", "two")->number, 2);
}

TEST_F(VersionStoreTest, IsForOneServerAtATime) {
    const auto second = VersionStore::open(folder_ / "states", {});
    ASSERT_FALSE(second);
    EXPECT_THAT(second.error().message, ::testing::EndsWith("another server uses the files' root"));
    const auto impossible = VersionStore::open("/dev/null/states", {});
    EXPECT_FALSE(impossible);
}

TEST_F(VersionStoreTest, LetsNobodyPassWhileAWriteIsBetweenItsCheckAndItsEnd) {
    std::atomic<bool> may_go_on = false;
    std::atomic<bool> is_in_check = false;
    std::thread writer([&] {
        EXPECT_TRUE(put("prod", "one", [&] {
            is_in_check = true;
            is_in_check.notify_all();
            may_go_on.wait(false);
            return true;
        }));
    });
    is_in_check.wait(false);
    EXPECT_EQ(get("prod"), "! there is no state prod");
    std::thread helper([&] {
        may_go_on = true;
        may_go_on.notify_all();
    });
    store_->wait_for_writes("prod");
    EXPECT_EQ(get("prod"), "one");
    helper.join();
    writer.join();
}

TEST_F(VersionStoreTest, NumbersTheWritesOfManyThreadsOneByOne) {
    constexpr int count = 8;
    std::vector<std::thread> writers;
    std::atomic<std::uint64_t> sum = 0;
    for (int index = 0; index < count; ++index) {
        writers.emplace_back([&, index] { sum += put("prod", std::to_string(index))->number; });
    }
    for (std::thread& writer : writers) writer.join();
    EXPECT_EQ(sum, count * (count + 1) / 2);
    EXPECT_THAT(numbers("prod"), ElementsAre(8, 7, 6));
}

TEST(Md5, IsThatOfTheStandard) {
    Md5 hash;
    hash.update("mess");
    hash.update("age digest");
    const auto digest = hash.finish();
    ASSERT_TRUE(digest);
    std::string text;
    for (const char byte : *digest)
        text += base::to_hex(std::array{static_cast<std::uint8_t>(byte)});
    EXPECT_EQ(text, "f96b697d7cb7938d525a2f31aaf161d0");
}

}  // namespace
}  // namespace holdfast::files

#include "base/token_file.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>

namespace holdfast::base {
namespace {

class TokenFile : public testing::Test {
  protected:
    Result<std::string> read(const std::string& content) {
        std::ofstream(path_) << content;
        return read_token_file(path_);
    }
    ~TokenFile() override { ::unlink(path_.c_str()); }

    const std::string path_ = testing::TempDir() + "token_" + std::to_string(::getpid());
};

TEST_F(TokenFile, HasTheTokenInItsFirstLineThatIsNotBlank) {
    EXPECT_EQ(read("secret").value(), "secret");
    EXPECT_EQ(read("secret\nother\n").value(), "secret");
    EXPECT_EQ(read("\r\n  secret \t\r\n").value(), "secret");
}

TEST_F(TokenFile, WithoutATokenIsAnError) {
    EXPECT_EQ(read_token_file(path_).error().message,
              "cannot read a token from " + path_ + ": No such file or directory");
    const std::string is_empty = "there is no token in " + path_ + ": the file is empty";
    EXPECT_EQ(read("").error().message, is_empty);
    EXPECT_EQ(read(" \n\n").error().message, is_empty);
    EXPECT_EQ(read_token_file("/").error().message, "cannot read a token from /: Is a directory");
}

TEST_F(TokenFile, MayBeLargeButNotItsToken) {
    EXPECT_EQ(read("secret\n" + std::string(100'000, 'x')).value(), "secret");
    EXPECT_EQ(read(std::string(4096, 'x')).value().size(), 4096U);
    EXPECT_EQ(read(std::string(4097, 'x')).error().message,
              "the first line of " + path_ + " is too long for a token");
}

TEST_F(TokenFile, MayBeReadAsASmallFile) {
    std::ofstream(path_) << "12345";
    EXPECT_EQ(read_small_file(path_, 5).value(), "12345");
    EXPECT_EQ(read_small_file(path_, 4).error().message, "it has more than 4 bytes");
    EXPECT_EQ(read_small_file(path_ + "x", 4).error().message, "No such file or directory");
}

}  // namespace
}  // namespace holdfast::base

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
    EXPECT_EQ(read_token_file(path_).error().message, "cannot read a token from " + path_);
    EXPECT_FALSE(read(""));
    EXPECT_FALSE(read(" \n\n"));
}

}  // namespace
}  // namespace holdfast::base

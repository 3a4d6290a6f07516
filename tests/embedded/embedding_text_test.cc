// docs/embedding.md shows examples/embedding.cc, and shows it as it is.

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <string>

namespace holdfast {
namespace {

std::string read(const std::string& path) {
    std::ifstream file(std::string(HOLDFAST_SOURCE_DIR "/") + path, std::ios::binary);
    EXPECT_TRUE(file) << path;
    return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

TEST(EmbeddingText, ShowsTheProgramThatIsCompiled) {
    const std::string text = read("docs/embedding.md");
    const std::string fence = "```";
    const std::size_t begin = text.find(fence + "cpp\n");
    ASSERT_NE(begin, std::string::npos);
    const std::size_t code = begin + fence.size() + 4;
    const std::size_t end = text.find(fence, code);
    EXPECT_EQ(text.substr(code, end - code), read("examples/embedding.cc"));
    EXPECT_EQ(text.find(fence + "cpp\n", end), std::string::npos)
        << "a second program that nobody compiles";
}

}  // namespace
}  // namespace holdfast

// docs/embedding.md shows examples/embedding.cc and parts of examples/coroutines.cc, as they are.

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
    // What follows are parts of the example with coroutines.
    const std::string example = read("examples/coroutines.cc");
    for (std::size_t next = text.find(fence + "cpp\n", end); next != std::string::npos;) {
        const std::size_t part = next + fence.size() + 4;
        const std::size_t part_end = text.find(fence, part);
        EXPECT_NE(example.find(text.substr(part, part_end - part)), std::string::npos)
            << "nobody compiles this:\n"
            << text.substr(part, part_end - part);
        next = text.find(fence + "cpp\n", part_end);
    }
}

}  // namespace
}  // namespace holdfast

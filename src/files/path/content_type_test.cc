#include "files/path/content_type.h"

#include <gtest/gtest.h>

#include <string>

namespace holdfast::files {
namespace {

using namespace std::string_literals;

// NOLINTNEXTLINE(bugprone-easily-swappable-parameters): a file's name, then what is in it
std::string_view type_of(std::string_view name, std::string_view content) {
    return content_type({.name = name, .content = content});
}

TEST(ContentType, IsThatOfTheFirstBytesWhateverTheName) {
    EXPECT_EQ(type_of("a.txt", "\x89PNG\r\n\x1A\n and more"), "image/png");
    EXPECT_EQ(type_of("a", "\xFF\xD8\xFF\xE0"), "image/jpeg");
    EXPECT_EQ(type_of("a", "%PDF-1.7"), "application/pdf");
    EXPECT_EQ(type_of("a", "RIFF\1\2\3\4WEBPVP8 "), "image/webp");
    EXPECT_EQ(type_of("a", "RIFF\1\2\3\4WAVEfmt "), "audio/wav");
    EXPECT_EQ(type_of("a", "\0\0\0\x20"s + "ftypisom"), "video/mp4");
    EXPECT_EQ(type_of("a", std::string(257, 'x') + "ustar"), "application/x-tar");
    EXPECT_EQ(type_of("a",
                      "\x7F"
                      "ELF"),
              "application/x-executable");
}

TEST(ContentType, NeedsAllOfTheMagic) {
    EXPECT_EQ(type_of("a", "\x89PNG"), "application/octet-stream");
    EXPECT_EQ(type_of("a", "RIFF\1\2\3\4XXXX"), "application/octet-stream");
    EXPECT_EQ(type_of("a", "RIFF"), "application/octet-stream");
    EXPECT_EQ(type_of("a.txt", "BMW is a maker of cars"), "text/plain");
}

TEST(ContentType, OfAnArchiveMayBeToldByItsName) {
    EXPECT_EQ(type_of("a", "PK\3\4..."), "application/zip");
    EXPECT_EQ(type_of("a.txt", "PK\3\4..."), "application/zip");
    EXPECT_EQ(type_of("a.odt", "PK\3\4..."), "application/vnd.oasis.opendocument.text");
    EXPECT_EQ(type_of("a.epub", "PK\3\4..."), "application/epub+zip");
}

TEST(ContentType, OfJsonIsJsonWhateverTheName) {
    EXPECT_EQ(type_of("a.txt", R"( {"a":[1,2]} )"), "application/json");
    EXPECT_EQ(type_of("a", "[]"), "application/json");
    EXPECT_EQ(type_of("a.txt", "{not json"), "text/plain");
    EXPECT_EQ(type_of("a", "17"), "application/octet-stream");
    EXPECT_EQ(type_of("a.json", "{not json"), "application/json");
}

TEST(ContentType, OfALongTextIsNotLookedForInIt) {
    const std::string longest = "[\"" + std::string(json_bytes_max - 4, 'a') + "\"]";
    EXPECT_EQ(type_of("a", longest), "application/json");
    EXPECT_EQ(type_of("a", longest + " "), "application/octet-stream");
}

TEST(ContentType, ElseIsToldByTheEndingOfTheName) {
    EXPECT_EQ(type_of("a.txt", "hello"), "text/plain");
    EXPECT_EQ(type_of("a.tar.HTML", "hello"), "text/html");
    EXPECT_EQ(type_of("a.md", ""), "text/markdown");
    for (const char* name : {"a", "a.", ".txt", "txt", "a.unknown", "", "a.zzzz", "a.0"}) {
        EXPECT_EQ(type_of(name, "hello"), "application/octet-stream") << name;
    }
}

}  // namespace
}  // namespace holdfast::files

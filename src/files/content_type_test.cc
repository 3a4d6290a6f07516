#include "files/content_type.h"

#include <gtest/gtest.h>

#include <string>

namespace holdfast::files {
namespace {

using namespace std::string_literals;

TEST(ContentType, IsThatOfTheFirstBytesWhateverTheName) {
    EXPECT_EQ(content_type("a.txt", "\x89PNG\r\n\x1A\n and more"), "image/png");
    EXPECT_EQ(content_type("a", "\xFF\xD8\xFF\xE0"), "image/jpeg");
    EXPECT_EQ(content_type("a", "%PDF-1.7"), "application/pdf");
    EXPECT_EQ(content_type("a", "RIFF\1\2\3\4WEBPVP8 "), "image/webp");
    EXPECT_EQ(content_type("a", "RIFF\1\2\3\4WAVEfmt "), "audio/wav");
    EXPECT_EQ(content_type("a", "\0\0\0\x20"s + "ftypisom"), "video/mp4");
    EXPECT_EQ(content_type("a", std::string(257, 'x') + "ustar"), "application/x-tar");
    EXPECT_EQ(content_type("a",
                           "\x7F"
                           "ELF"),
              "application/x-executable");
}

TEST(ContentType, NeedsAllOfTheMagic) {
    EXPECT_EQ(content_type("a", "\x89PNG"), "application/octet-stream");
    EXPECT_EQ(content_type("a", "RIFF\1\2\3\4XXXX"), "application/octet-stream");
    EXPECT_EQ(content_type("a", "RIFF"), "application/octet-stream");
    EXPECT_EQ(content_type("a.txt", "BMW is a maker of cars"), "text/plain");
}

TEST(ContentType, OfAnArchiveMayBeToldByItsName) {
    EXPECT_EQ(content_type("a", "PK\3\4..."), "application/zip");
    EXPECT_EQ(content_type("a.txt", "PK\3\4..."), "application/zip");
    EXPECT_EQ(content_type("a.odt", "PK\3\4..."), "application/vnd.oasis.opendocument.text");
    EXPECT_EQ(content_type("a.epub", "PK\3\4..."), "application/epub+zip");
}

TEST(ContentType, OfJsonIsJsonWhateverTheName) {
    EXPECT_EQ(content_type("a.txt", R"( {"a":[1,2]} )"), "application/json");
    EXPECT_EQ(content_type("a", "[]"), "application/json");
    EXPECT_EQ(content_type("a.txt", "{not json"), "text/plain");
    EXPECT_EQ(content_type("a", "17"), "application/octet-stream");
    EXPECT_EQ(content_type("a.json", "{not json"), "application/json");
}

TEST(ContentType, OfALongTextIsNotLookedForInIt) {
    const std::string longest = "[\"" + std::string(json_bytes_max - 4, 'a') + "\"]";
    EXPECT_EQ(content_type("a", longest), "application/json");
    EXPECT_EQ(content_type("a", longest + " "), "application/octet-stream");
}

TEST(ContentType, ElseIsToldByTheEndingOfTheName) {
    EXPECT_EQ(content_type("a.txt", "hello"), "text/plain");
    EXPECT_EQ(content_type("a.tar.HTML", "hello"), "text/html");
    EXPECT_EQ(content_type("a.md", ""), "text/markdown");
    for (const char* name : {"a", "a.", ".txt", "txt", "a.unknown", "", "a.zzzz", "a.0"}) {
        EXPECT_EQ(content_type(name, "hello"), "application/octet-stream") << name;
    }
}

}  // namespace
}  // namespace holdfast::files

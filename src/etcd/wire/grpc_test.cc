#include "etcd/wire/grpc.h"

#include <gtest/gtest.h>

namespace holdfast::etcd {
namespace {

using Kind = Failure::Kind;

TEST(Frame, HasAHeadOfFiveBytes) {
    EXPECT_EQ(to_frame(""), std::string(5, '\0'));
    EXPECT_EQ(to_frame("abc"), std::string("\0\0\0\0\3abc", 8));
    EXPECT_EQ(to_frame(std::string(0x10203, 'x')).substr(0, 5), std::string("\0\0\1\2\3", 5));
}

TEST(FrameReader, PutsMessagesTogetherFromPiecesOfAnySize) {
    const std::string stream = to_frame("first") + to_frame("") + to_frame("third");
    for (std::size_t piece = 1; piece <= stream.size(); ++piece) {
        FrameReader reader;
        std::vector<std::string> messages;
        for (std::size_t i = 0; i < stream.size(); i += piece) {
            ASSERT_TRUE(reader.add(std::string_view(stream).substr(i, piece)));
            while (auto message = reader.take()) messages.push_back(*message);
        }
        EXPECT_EQ(messages, (std::vector<std::string>{"first", "", "third"}));
        EXPECT_TRUE(reader.is_empty());
    }
}

TEST(FrameReader, KnowsThatAMessageIsNotComplete) {
    FrameReader reader;
    ASSERT_TRUE(reader.add(to_frame("first").substr(0, 7)));
    EXPECT_FALSE(reader.take());
    EXPECT_FALSE(reader.is_empty());
}

TEST(FrameReader, RefusesCompressedAndHugeMessages) {
    EXPECT_FALSE(FrameReader().add("\x01"));
    EXPECT_FALSE(FrameReader().add(std::string("\0\x04\0\0\x01", 5)));
    EXPECT_TRUE(FrameReader().add(std::string("\0\x04\0\0\0", 5)));
}

Kind kind_of(int code, std::string message = "") {
    return explain({.http_status = 200, .code = code, .message = std::move(message)}, "m").kind;
}

TEST(Explain, KnowsWhatACodeMeansForTheRequest) {
    EXPECT_EQ(kind_of(2), Kind::unknown);
    EXPECT_EQ(kind_of(3), Kind::rejected);
    EXPECT_EQ(kind_of(4), Kind::unknown);
    EXPECT_EQ(kind_of(5), Kind::no_lease);
    EXPECT_EQ(kind_of(7), Kind::rejected);
    EXPECT_EQ(kind_of(8, "etcdserver: mvcc: database space exceeded"), Kind::no_space);
    EXPECT_EQ(kind_of(8, "etcdserver: too many requests"), Kind::not_done);
    EXPECT_EQ(kind_of(8, "grpc: received message larger than max (3 vs. 2)"), Kind::rejected);
    EXPECT_EQ(kind_of(8, "grpc: trying to send message larger than max (3 vs. 2)"),
              Kind::too_large);
    EXPECT_EQ(kind_of(11, "etcdserver: mvcc: required revision has been compacted"),
              Kind::compacted);
    EXPECT_EQ(kind_of(11, "etcdserver: mvcc: required revision is a future revision"),
              Kind::not_done);
    EXPECT_EQ(kind_of(12), Kind::rejected);
    EXPECT_EQ(kind_of(13), Kind::unknown);
    EXPECT_EQ(kind_of(14), Kind::unknown);
    EXPECT_EQ(kind_of(15), Kind::rejected);
    EXPECT_EQ(kind_of(16), Kind::rejected);
    EXPECT_EQ(kind_of(999), Kind::unknown);
}

TEST(Explain, KnowsStreamsThatHaveNoCode) {
    EXPECT_EQ(explain({}, "m").kind, Kind::unknown);
    EXPECT_EQ(explain({.http2_error = 7}, "m").kind, Kind::not_done);
    EXPECT_EQ(explain({.http2_error = 8}, "m").kind, Kind::unknown);
    EXPECT_EQ(explain({.http2_error = 1, .is_too_large = true}, "m").message,
              "m gives an answer of more than 64 MiB");
    EXPECT_EQ(explain({.http2_error = 1, .is_too_large = true}, "m").kind, Kind::too_large);
    EXPECT_EQ(explain({.http_status = 404}, "m").kind, Kind::rejected);
    EXPECT_EQ(explain({.http_status = 503}, "m").kind, Kind::unknown);
}

TEST(Explain, NamesTheMemberAndDecodesTheMessage) {
    EXPECT_EQ(explain({.http_status = 200, .code = 3, .message = "50%25 \xc3\xa4"}, "m").message,
              "m: 50% \xc3\xa4 (code 3)");
    EXPECT_EQ(explain({.http_status = 200, .code = 3, .message = "50% off"}, "m").message,
              "m: 50% off (code 3)");
}

TEST(Explain, KnowsThatEtcdWantsANewToken) {
    EXPECT_TRUE(wants_new_token({.code = 16}));
    EXPECT_TRUE(wants_new_token({.code = 3, .message = "etcdserver: user name is empty"}));
    EXPECT_TRUE(
        wants_new_token({.code = 3, .message = "etcdserver: revision of auth store is old"}));
    EXPECT_FALSE(wants_new_token({.code = 3, .message = "etcdserver: key is not provided"}));
    EXPECT_FALSE(wants_new_token({.code = 7}));
}

}  // namespace
}  // namespace holdfast::etcd

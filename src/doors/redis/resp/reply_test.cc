#include "doors/redis/resp/reply.h"

#include <gtest/gtest.h>

namespace holdfast::doors::redis {
namespace {

std::string written(const Reply& reply, RespVersion version = RespVersion::resp2) {
    std::string out;
    append_reply(out, reply, version);
    return out;
}

TEST(Reply, IsWrittenAsRedisWritesIt) {
    EXPECT_EQ(written(Reply::ok()), "+OK\r\n");
    EXPECT_EQ(written(Reply::error("ERR syntax error")), "-ERR syntax error\r\n");
    EXPECT_EQ(written(Reply::integer(-2)), ":-2\r\n");
    EXPECT_EQ(written(Reply::bulk("")), "$0\r\n\r\n");
    EXPECT_EQ(written(Reply::bulk("a\r\nb")), "$4\r\na\r\nb\r\n");
    EXPECT_EQ(written(Reply::null()), "$-1\r\n");
    EXPECT_EQ(written({.kind = Reply::Kind::null_array}), "*-1\r\n");
    EXPECT_EQ(written(Reply::array({})), "*0\r\n");
    EXPECT_EQ(written(Reply::array({Reply::integer(1), Reply::null()})), "*2\r\n:1\r\n$-1\r\n");
}

TEST(Reply, HasAMapAndANullInResp3) {
    const Reply map{.kind = Reply::Kind::map, .items = {Reply::bulk("proto"), Reply::integer(3)}};
    EXPECT_EQ(written(map), "*2\r\n$5\r\nproto\r\n:3\r\n");
    EXPECT_EQ(written(map, RespVersion::resp3), "%1\r\n$5\r\nproto\r\n:3\r\n");
    EXPECT_EQ(written(Reply::null(), RespVersion::resp3), "_\r\n");
    EXPECT_EQ(written({.kind = Reply::Kind::null_array}, RespVersion::resp3), "_\r\n");
    EXPECT_EQ(written(Reply::array({Reply::null()}), RespVersion::resp3), "*1\r\n_\r\n");
}

// A key that a client chose may be in an error. It must not end the line.
TEST(Reply, KeepsAnErrorInOneLine) {
    EXPECT_EQ(written(Reply::error("ERR 'a\r\n+OK' is held")), "-ERR 'a  +OK' is held\r\n");
}

}  // namespace
}  // namespace holdfast::doors::redis

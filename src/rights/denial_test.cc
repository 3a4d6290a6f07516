#include "rights/denial.h"

#include <gmock/gmock.h>

#include <string>

#include "base/log/log.h"

namespace holdfast::rights {
namespace {

using ::testing::EndsWith;
using namespace std::chrono_literals;

std::shared_ptr<const Token> token_called(const std::string& name) {
    return std::make_shared<const Token>(name, Digest{}, Grants{});
}

TEST(Denial, OfATokenIsLoggedOnceASecondWithTheNumberOfTheOthers) {
    const auto token = token_called("ci");
    const Token::LogClock::time_point start{};
    EXPECT_EQ(token->may_log_denial(start), 0U);
    EXPECT_EQ(token->may_log_denial(start), std::nullopt);
    EXPECT_EQ(token->may_log_denial(start + 999ms), std::nullopt);
    EXPECT_EQ(token->may_log_denial(start + 1s), 2U);
    EXPECT_EQ(token->may_log_denial(start + 3s), 0U) << "the count is said once";
}

TEST(Denial, OfOneTokenDoesNotHideThatOfAnother) {
    const auto one = token_called("one"), other = token_called("other");
    const Token::LogClock::time_point start{};
    EXPECT_EQ(one->may_log_denial(start), 0U);
    EXPECT_EQ(other->may_log_denial(start), 0U);
}

TEST(Denial, IsALineAndAlwaysCounted) {
    const auto token = token_called("ci");
    base::set_up_log(base::LogFormat::text, base::LogLevel::warning);
    ::testing::internal::CaptureStderr();
    for (int i = 0; i < 3; ++i) {
        EXPECT_TRUE(deny(token.get(), {Right::lock, Door::http, core::Scope::named("prod")}));
    }
    EXPECT_TRUE(base::flush_log());
    const std::string text = ::testing::internal::GetCapturedStderr();
    base::set_up_log(base::LogFormat::text, base::LogLevel::off);
    EXPECT_THAT(text,
                EndsWith(" warning denied token=ci right=lock scope=prod door=http left_out=0\n"));
    EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 1);
    EXPECT_EQ(token->denials(Right::lock), 3U);
}

// The client has shown the token of a lease, and may not know what that is on.
TEST(Denial, OfALeaseNamesItsScopeOnlyToAClientThatMayReadIt) {
    const std::string_view words[] = {"read", "prod"};
    const Token reader("ci", Digest{}, Grants::parse(words).value());
    const Denial known =
        refuse_lease(reader, {Right::lock, Door::http, core::Scope::named("prod")});
    EXPECT_EQ(known.scope, "prod");
    EXPECT_EQ(known.sentence, "the token ci lacks the right lock on prod at the door http");
    const Denial hidden =
        refuse_lease(reader, {Right::read, Door::http, core::Scope::named("secret")});
    EXPECT_EQ(hidden.sentence,
              "the token ci lacks the right read on what this lease is on at the door http");
    std::string body = R"({"error":"x"})";
    add_to_json(body, hidden);
    EXPECT_EQ(body, R"({"error":"x","right":"read"})");
}

}  // namespace
}  // namespace holdfast::rights

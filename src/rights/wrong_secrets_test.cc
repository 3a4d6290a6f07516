#include "rights/wrong_secrets.h"

#include <gmock/gmock.h>

#include <string>

#include "base/log/log.h"
#include "rights/token_table.h"

namespace holdfast::rights {
namespace {

using ::testing::EndsWith;

TEST(WrongSecrets, AreCountedByDoorAndLoggedWithTheAddressOnceASecond) {
    WrongSecrets wrong;
    base::set_up_log(base::LogFormat::text, base::LogLevel::warning);
    ::testing::internal::CaptureStderr();
    wrong.add(Door::redis, "192.0.2.7");
    EXPECT_TRUE(base::flush_log());
    const std::string text = ::testing::internal::GetCapturedStderr();
    base::set_up_log(base::LogFormat::text, base::LogLevel::off);
    EXPECT_THAT(text, EndsWith(" warning a wrong secret door=redis from=192.0.2.7 left_out=0\n"));
    wrong.add(Door::http, "");
    wrong.add(Door::http, "");
    EXPECT_EQ(wrong.count(Door::http), 2U);
    EXPECT_EQ(wrong.count(Door::redis), 1U);
    EXPECT_EQ(wrong.count(Door::files), 0U);
}

TEST(WrongSecrets, AreStillCountedWhenTheTokensAreReadAgain) {
    TokenSource source({.auth = "one"});
    source.current()->wrong_secrets().add(Door::http, "unix");
    source.replace({.auth = "two"});
    EXPECT_EQ(source.current()->wrong_secrets().count(Door::http), 1U);
}

}  // namespace
}  // namespace holdfast::rights

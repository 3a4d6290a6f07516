#include "rights/token_file.h"

#include <gmock/gmock.h>

#include <set>

namespace holdfast::rights {
namespace {

using core::Scope;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;
using ::testing::StartsWith;

std::string hash_of(std::string_view secret) {
    return to_text(base::sha256(secret));
}

std::string fault(const std::string& text) {
    const auto parsed = parse_token_file(text);
    return parsed ? "" : parsed.error().message;
}

TEST(TokenFile, HasOneTokenALine) {
    const auto tokens =
        parse_token_file("# who may do what\n\n  ci\tlock deploy/* read * @http " + hash_of("one") +
                         "   # since May\r\nui read * " + hash_of("two"))
            .value();
    ASSERT_THAT(tokens, SizeIs(2));
    EXPECT_EQ(tokens[0].name, "ci");
    EXPECT_EQ(tokens[0].digest, base::sha256("one"));
    EXPECT_TRUE(tokens[0].grants.may(Right::lock, Door::http, Scope::named("deploy/x")));
    EXPECT_FALSE(tokens[0].grants.may(Right::lock, Door::redis, Scope::named("deploy/x")));
    EXPECT_EQ(tokens[1].name, "ui");
}

TEST(TokenFile, MayBeEmpty) {
    for (const char* text : {"", "\n", "# nobody\n", " \t \r\n"}) {
        EXPECT_THAT(parse_token_file(text).value(), SizeIs(0)) << text;
    }
}

TEST(TokenFile, ThatIsWrongNamesTheLineAndNoSecret) {
    const std::string good = "ci read * " + hash_of("one") + "\n";
    const std::string digits(64, 'a');
    const struct {
        std::string line, named;
    } rows[] = {
        {"ci", "ends with the hash"},
        {"ci s3cret", "ends with the hash"},
        {"ci read * s3cret", "ends with the hash"},
        {"ci read * sha256:s3cret", "ends with the hash"},
        {"ci read * sha256:" + std::string(64, 'A'), "lower-case"},
        {"ci read * md5:" + digits, "ends with the hash"},
        {"ci sha256:" + digits + " read *", "ends with the hash"},
        {"ci sha256:" + digits, "needs a right"},
        {"ci read sha256:" + digits, "read needs a pattern"},
        {"ci read * sha256:" + digits + " sha256:" + digits, "one secret"},
        {"c/i read * sha256:" + digits, "the name of a token"},
        {std::string(65, 'x') + " read * sha256:" + digits, "at most 64"},
        {"auth read * sha256:" + digits, "--auth-token-file"},
        {"admin read * sha256:" + digits, "--admin-token-file"},
        {"anonymous read * sha256:" + digits, "without a token"},
        {"ci read * " + hash_of("two"), "the name is that of line 2"},
        {"ui read * " + hash_of("one"), "the secret is that of line 2"},
        {"ui write s3cret " + hash_of("two"), "read, lock or admin"},
        {"ui lock s3cret*s3cret " + hash_of("two"), "star"},
    };
    for (const auto& row : rows) {
        EXPECT_THAT(fault("# tokens\n" + good + row.line + "\n"),
                    AllOf(StartsWith("line 3: "), HasSubstr(row.named), Not(HasSubstr("s3cret"))))
            << row.line;
    }
}

TEST(TokenFile, SplitsWords) {
    EXPECT_THAT(split_words(" a\tb#c  #d e"), ElementsAre("a", "b#c"));
    EXPECT_THAT(split_words("#"), SizeIs(0));
}

TEST(TokenSecret, IsLongAndNeverTheSame) {
    std::set<std::string> secrets;
    std::set<char> letters;
    for (int index = 0; index < 100; ++index) {
        const std::string secret = new_secret();
        EXPECT_THAT(secret, AllOf(StartsWith("hf_"), SizeIs(46)));
        secrets.insert(secret);
        letters.insert(secret.begin() + 3, secret.end());
    }
    EXPECT_THAT(secrets, SizeIs(100));
    EXPECT_THAT(letters, SizeIs(64));
}

TEST(TokenSecret, IsKeptAsAHashWithTheNameOfItsScheme) {
    const std::string text = hash_of("abc");
    EXPECT_EQ(text, "sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    EXPECT_EQ(parse_digest(text), base::sha256("abc"));
    EXPECT_FALSE(parse_digest(text + "0"));
    EXPECT_FALSE(parse_digest(text.substr(0, 70)));
    EXPECT_FALSE(parse_digest(text.substr(7)));
}

}  // namespace
}  // namespace holdfast::rights

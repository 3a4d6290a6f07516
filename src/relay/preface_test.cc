#include "relay/preface.h"

#include <gtest/gtest.h>

namespace holdfast::relay {
namespace {

const std::string asked(challenge_bytes, 'c');

Preface some_preface() {
    return {.door = "dflockd",
            .client = "192.0.2.7:40000",
            .node = "b",
            .epoch = 0x0102030405060708,
            .nonce = std::string(nonce_bytes, 'n')};
}

std::string wire_of(const Preface& preface) {
    std::string wire;
    append_preface(wire, preface, asked, "secret");
    return wire;
}

TEST(Preface, IsReadAsItWasWritten) {
    const auto found = read_preface(wire_of(some_preface()) + "more");
    ASSERT_EQ(Found<SignedPreface>::State::whole, found.state);
    EXPECT_EQ(wire_of(some_preface()).size(), found.size);
    const Preface& preface = found.value.preface;
    EXPECT_EQ("dflockd", preface.door);
    EXPECT_EQ("192.0.2.7:40000", preface.client);
    EXPECT_EQ("b", preface.node);
    EXPECT_EQ(0x0102030405060708U, preface.epoch);
    EXPECT_EQ(std::string(nonce_bytes, 'n'), preface.nonce);
    EXPECT_TRUE(is_authentic(found.value, asked, "secret"));
}

TEST(Preface, IsIncompleteUntilItsLastByte) {
    const std::string wire = wire_of(some_preface());
    for (std::size_t bytes = 0; bytes < wire.size(); ++bytes) {
        EXPECT_EQ(Found<SignedPreface>::State::incomplete,
                  read_preface(std::string_view(wire).substr(0, bytes)).state)
            << bytes;
    }
}

TEST(Preface, ProvesEveryByteTheSecretAndTheChallenge) {
    const std::string wire = wire_of(some_preface());
    const auto whole = read_preface(wire);
    EXPECT_FALSE(is_authentic(whole.value, asked, "Secret"));
    EXPECT_FALSE(is_authentic(whole.value, asked, ""));
    EXPECT_FALSE(is_authentic(whole.value, std::string(challenge_bytes, 'd'), "secret"));
    for (std::size_t i = 0; i < wire.size(); ++i) {
        std::string changed = wire;
        changed[i] = static_cast<char>(changed[i] ^ 1);
        const auto found = read_preface(changed);
        EXPECT_FALSE(found.size > 0 && is_authentic(found.value, asked, "secret")) << i;
    }
}

TEST(Preface, IsBrokenIfItIsSomethingElse) {
    EXPECT_EQ(Found<SignedPreface>::State::broken, read_preface("G").state);
    EXPECT_EQ(Found<SignedPreface>::State::broken, read_preface("HFRp\x02").state);
    EXPECT_EQ(Found<SignedPreface>::State::broken, read_preface("HFRp\x01\xff\xff").state);
    std::string wire = wire_of(some_preface());
    wire[31] = '\xff';  // the length of the door's name
    EXPECT_EQ(Found<SignedPreface>::State::broken, read_preface(wire).state);
    wire[31] = '\x06';  // a byte is left over
    EXPECT_EQ(Found<SignedPreface>::State::broken, read_preface(wire).state);
}

TEST(Preface, CutsLongTexts) {
    Preface preface = some_preface();
    preface.client = std::string(1000, 'x');
    preface.node = std::string(1000, 'y');
    preface.door = std::string(1000, 'z');
    const auto found = read_preface(wire_of(preface));
    ASSERT_EQ(Found<SignedPreface>::State::whole, found.state);
    EXPECT_EQ(std::string(text_bytes_max, 'x'), found.value.preface.client);
    EXPECT_TRUE(is_authentic(found.value, asked, "secret"));
}

TEST(Challenge, IsReadAsItWasWritten) {
    std::string wire;
    append_challenge(wire, asked);
    for (std::size_t bytes = 0; bytes < wire.size(); ++bytes) {
        EXPECT_EQ(Found<std::string>::State::incomplete,
                  read_challenge(std::string_view(wire).substr(0, bytes)).state);
    }
    const auto found = read_challenge(wire + "x");
    EXPECT_EQ(wire.size(), found.size);
    EXPECT_EQ(asked, found.value);
    EXPECT_EQ(Found<std::string>::State::broken, read_challenge("HTTP").state);
}

TEST(Challenge, IsAnotherEachTime) {
    EXPECT_EQ(challenge_bytes, random_bytes(challenge_bytes).size());
    EXPECT_NE(random_bytes(challenge_bytes), random_bytes(challenge_bytes));
}

TEST(Answer, IsProvenIfItAccepts) {
    const std::string nonce(nonce_bytes, 'n');
    std::string wire;
    append_accepted(wire, nonce, asked, "secret");
    const auto found = read_answer(wire);
    ASSERT_EQ(wire.size(), found.size);
    EXPECT_TRUE(is_accepted(found.value, nonce, asked, "secret"));
    EXPECT_FALSE(is_accepted(found.value, std::string(nonce_bytes, 'm'), asked, "secret"));
    EXPECT_FALSE(is_accepted(found.value, nonce, std::string(challenge_bytes, 'd'), "secret"));
    EXPECT_FALSE(is_accepted(found.value, nonce, asked, "other"));
}

TEST(Answer, SaysWhyItRefuses) {
    std::string wire;
    append_answer(wire, Verdict::other_epoch);
    const auto found = read_answer(wire);
    ASSERT_EQ(wire.size(), found.size);
    EXPECT_EQ(Verdict::other_epoch, found.value.verdict);
    EXPECT_FALSE(is_accepted(found.value, std::string(nonce_bytes, 'n'), asked, "secret"));
    wire[5] = '\x06';
    EXPECT_EQ(Found<Answer>::State::broken, read_answer(wire).state);
}

// Somebody who does not know the secret cannot turn a refusal into an acceptance.
TEST(Answer, WithoutProofIsNoAcceptance) {
    std::string wire;
    append_answer(wire, Verdict::accepted);
    const auto found = read_answer(wire);
    EXPECT_FALSE(is_accepted(found.value, std::string(nonce_bytes, 'n'), asked, "secret"));
}

}  // namespace
}  // namespace holdfast::relay

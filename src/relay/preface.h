#pragma once

// The preface: what two nodes say to one another before the bytes of a client flow.
//
//     leader -> relay   challenge   32 random bytes
//     relay -> leader   preface     door, client, node, epoch, 16 random bytes (the nonce), proof
//     leader -> relay   answer      verdict, proof
//
// The relay's proof is an HMAC, with the secret that the nodes of a cluster share, of the challenge
// and of all that the preface says. So a preface that somebody has overheard is good for nothing: the
// next challenge is another. (A time would add nothing, and the clocks of nodes differ.) The leader's
// proof is an HMAC of challenge, nonce and verdict. So a client's bytes go to nobody who does not
// know the secret. Only the verdict `accepted` needs a proof: after any other, the relay keeps the
// client's connection.
//
// Every message begins with four letters and a version, and has a limited size.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace holdfast::relay {

inline constexpr std::size_t challenge_bytes = 32;
inline constexpr std::size_t nonce_bytes = 16;
// Of each text in a preface. make_preface() cuts what is longer.
inline constexpr std::size_t text_bytes_max = 255;

enum class Verdict : std::uint8_t {
    accepted = 0,
    not_leading = 1,    // this node does not lead, or no longer
    other_epoch = 2,    // it leads in another epoch than the relay knows
    no_such_door = 3,   // the leader has no door of that name
    not_authentic = 4,  // the relay does not know the secret
    too_many = 5,       // the door has as many connections as it may
};

// For people: "this node does not lead".
[[nodiscard]] std::string_view to_text(Verdict verdict);

struct Preface {
    std::string door;
    std::string client;  // its address
    std::string node;    // that passes the connection on
    std::uint64_t epoch = 0;
    std::string nonce;  // nonce_bytes random bytes
};

// A preface as it was received: see is_authentic().
struct SignedPreface {
    Preface preface;
    std::string signed_bytes;
    std::string proof;
};

struct Answer {
    Verdict verdict = Verdict::not_leading;
    std::string proof;
};

// What was found at the front of some input.
template <class T>
struct Found {
    enum class State : std::uint8_t { incomplete, broken, whole };
    State state = State::incomplete;
    std::size_t size = 0;  // if whole: how many bytes it takes
    T value = {};
};

// Random bytes from the system's generator.
[[nodiscard]] std::string random_bytes(std::size_t size);

void append_challenge(std::string& out, std::string_view challenge);
void append_preface(std::string& out, const Preface& preface, std::string_view challenge,
                    std::string_view secret);
// Without a secret, the answer has no proof.
void append_answer(std::string& out, Verdict verdict);
void append_accepted(std::string& out, std::string_view nonce, std::string_view challenge,
                     std::string_view secret);

[[nodiscard]] Found<std::string> read_challenge(std::string_view input);
[[nodiscard]] Found<SignedPreface> read_preface(std::string_view input);
[[nodiscard]] Found<Answer> read_answer(std::string_view input);

[[nodiscard]] bool is_authentic(const SignedPreface& received, std::string_view challenge,
                                std::string_view secret);
// Whether an answer says `accepted`, and comes from a node that knows the secret.
[[nodiscard]] bool is_accepted(const Answer& answer, std::string_view nonce,
                               std::string_view challenge, std::string_view secret);

}  // namespace holdfast::relay

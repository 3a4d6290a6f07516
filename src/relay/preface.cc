#include "relay/preface.h"

#include <algorithm>
#include <optional>

#include "base/check.h"
#include "base/crypto.h"

namespace holdfast::relay {

namespace {

// Four letters and the version.
constexpr std::string_view challenge_magic = "HFRc\x01";
constexpr std::string_view preface_magic = "HFRp\x01";
constexpr std::string_view answer_magic = "HFRa\x01";
static_assert(challenge_magic.size() == 5);

constexpr std::size_t epoch_bytes = 8;
constexpr std::size_t size_bytes = 2;  // of the preface after these
constexpr std::size_t body_bytes_max = epoch_bytes + nonce_bytes + 3 * (1 + text_bytes_max);

// What is proven begins with a word of its own, so that no message passes for another.
constexpr std::string_view preface_word = "holdfast relay preface 1";
constexpr std::string_view answer_word = "holdfast relay answer 1";

template <std::size_t size>
void append_number(std::string& out, std::uint64_t value) {
    for (std::size_t i = size; i-- > 0;) out.push_back(static_cast<char>(value >> (8 * i)));
}

std::uint64_t to_number(std::string_view bytes) {
    std::uint64_t value = 0;
    for (const char byte : bytes) value = value << 8U | static_cast<unsigned char>(byte);
    return value;
}

void append_text(std::string& out, std::string_view text) {
    const auto part = text.substr(0, text_bytes_max);
    out.push_back(static_cast<char>(part.size()));
    out.append(part);
}

// Removes a text with its length from the front. Nothing if it is cut off.
std::optional<std::string> take_text(std::string_view& rest) {
    if (rest.empty()) return std::nullopt;
    const std::size_t size = static_cast<unsigned char>(rest.front());
    if (rest.size() < 1 + size) return std::nullopt;
    std::string text(rest.substr(1, size));
    rest.remove_prefix(1 + size);
    return text;
}

// How a message with these first bytes and of this size stands: broken as soon as a byte differs.
template <class T>
Found<T> look_for(std::string_view input, std::string_view magic, std::size_t size) {
    using State = typename Found<T>::State;
    const std::size_t known = std::min(input.size(), magic.size());
    if (input.substr(0, known) != magic.substr(0, known)) return {.state = State::broken};
    if (input.size() < size) return {};
    return {.state = State::whole, .size = size};
}

// NOLINTNEXTLINE(bugprone-easily-swappable-parameters): the secret first, then what it proves
std::string prove(std::string_view secret, std::string_view word, std::string_view challenge,
                  std::string_view said) {
    std::string message(word);
    message.append(challenge).append(said);
    return base::hmac_sha256(secret, message);
}

// NOLINTNEXTLINE(bugprone-easily-swappable-parameters): in the order in which they were sent
std::string prove_acceptance(std::string_view nonce, std::string_view challenge,
                             std::string_view secret) {
    std::string said(nonce);
    said.push_back(static_cast<char>(Verdict::accepted));
    return prove(secret, answer_word, challenge, said);
}

std::optional<Preface> read_body(std::string_view body) {
    if (body.size() < epoch_bytes + nonce_bytes) return std::nullopt;
    Preface preface{.epoch = to_number(body.substr(0, epoch_bytes)),
                    .nonce = std::string(body.substr(epoch_bytes, nonce_bytes))};
    body.remove_prefix(epoch_bytes + nonce_bytes);
    for (std::string* const text : {&preface.door, &preface.client, &preface.node}) {
        auto taken = take_text(body);
        if (!taken) return std::nullopt;
        *text = std::move(*taken);
    }
    if (!body.empty()) return std::nullopt;
    return preface;
}

}  // namespace

std::string_view to_text(Verdict verdict) {
    switch (verdict) {
        case Verdict::accepted: return "accepted";
        case Verdict::not_leading: return "this node does not lead";
        case Verdict::other_epoch: return "this node leads in another epoch";
        case Verdict::no_such_door: return "this node does not have that door";
        case Verdict::not_authentic: return "the secret of the cluster is another";
        case Verdict::too_many: return "the door has too many connections";
    }
    return "unknown";
}

std::string random_bytes(std::size_t size) {
    base::RandomBits random;
    std::string bytes;
    while (bytes.size() < size) append_number<8>(bytes, random());
    bytes.resize(size);
    return bytes;
}

void append_challenge(std::string& out, std::string_view challenge) {
    CHECK(challenge.size() == challenge_bytes);
    out.append(challenge_magic).append(challenge);
}

void append_preface(std::string& out, const Preface& preface, std::string_view challenge,
                    std::string_view secret) {
    CHECK(preface.nonce.size() == nonce_bytes);
    std::string body;
    append_number<epoch_bytes>(body, preface.epoch);
    body.append(preface.nonce);
    append_text(body, preface.door);
    append_text(body, preface.client);
    append_text(body, preface.node);
    out.append(preface_magic);
    append_number<size_bytes>(out, body.size());
    out.append(body).append(prove(secret, preface_word, challenge, body));
}

void append_answer(std::string& out, Verdict verdict) {
    out.append(answer_magic).push_back(static_cast<char>(verdict));
    out.append(base::hmac_bytes, '\0');
}

void append_accepted(std::string& out, std::string_view nonce, std::string_view challenge,
                     std::string_view secret) {
    out.append(answer_magic).push_back(static_cast<char>(Verdict::accepted));
    out.append(prove_acceptance(nonce, challenge, secret));
}

Found<std::string> read_challenge(std::string_view input) {
    auto found =
        look_for<std::string>(input, challenge_magic, challenge_magic.size() + challenge_bytes);
    if (found.size > 0) found.value = input.substr(challenge_magic.size(), challenge_bytes);
    return found;
}

Found<SignedPreface> read_preface(std::string_view input) {
    using State = Found<SignedPreface>::State;
    constexpr std::size_t before_body = preface_magic.size() + size_bytes;
    auto head = look_for<SignedPreface>(input, preface_magic, before_body);
    if (head.state != State::whole) return head;
    const std::size_t body_size = to_number(input.substr(preface_magic.size(), size_bytes));
    if (body_size > body_bytes_max) return {.state = State::broken};
    const std::size_t size = before_body + body_size + base::hmac_bytes;
    if (input.size() < size) return {};
    const auto body = input.substr(before_body, body_size);
    auto preface = read_body(body);
    if (!preface) return {.state = State::broken};
    return {
        .state = State::whole,
        .size = size,
        .value = {.preface = std::move(*preface),
                  .signed_bytes = std::string(body),
                  .proof = std::string(input.substr(size - base::hmac_bytes, base::hmac_bytes))}};
}

Found<Answer> read_answer(std::string_view input) {
    constexpr std::size_t before_proof = answer_magic.size() + 1;
    auto found = look_for<Answer>(input, answer_magic, before_proof + base::hmac_bytes);
    if (found.state != Found<Answer>::State::whole) return found;
    const auto verdict = static_cast<std::uint8_t>(input[answer_magic.size()]);
    if (verdict > static_cast<std::uint8_t>(Verdict::too_many)) {
        return {.state = Found<Answer>::State::broken};
    }
    found.value = {.verdict = static_cast<Verdict>(verdict),
                   .proof = std::string(input.substr(before_proof, base::hmac_bytes))};
    return found;
}

bool is_authentic(const SignedPreface& received, std::string_view challenge,
                  std::string_view secret) {
    return base::equal_in_constant_time(
        received.proof, prove(secret, preface_word, challenge, received.signed_bytes));
}

bool is_accepted(const Answer& answer, std::string_view nonce, std::string_view challenge,
                 std::string_view secret) {
    return answer.verdict == Verdict::accepted &&
           base::equal_in_constant_time(answer.proof, prove_acceptance(nonce, challenge, secret));
}

}  // namespace holdfast::relay

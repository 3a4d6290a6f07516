#pragma once

// Signing events in tests, as a client does.

#include <secp256k1.h>
#include <secp256k1_extrakeys.h>
#include <secp256k1_schnorrsig.h>

#include <array>
#include <cstdint>
#include <string>
#include <utility>

#include "base/check.h"
#include "base/crypto.h"
#include "base/json/json.h"
#include "base/text/hex.h"
#include "files/login/nostr_event.h"

namespace holdfast::files::testing {

// NostrSigner: somebody with a key.
class NostrSigner {
  public:
    // The secret key is `seed` over and over. REQUIRES: seed is not 0 or 255.
    explicit NostrSigner(std::uint8_t seed)
        : context_(secp256k1_context_create(SECP256K1_CONTEXT_NONE)) {
        std::array<std::uint8_t, 32> secret{};
        secret.fill(seed);
        CHECK(secp256k1_keypair_create(context_, &keys_, secret.data()) == 1);
        secp256k1_xonly_pubkey key;
        CHECK(secp256k1_keypair_xonly_pub(context_, &key, nullptr, &keys_) == 1);
        std::array<std::uint8_t, 32> bytes{};
        CHECK(secp256k1_xonly_pubkey_serialize(context_, bytes.data(), &key) == 1);
        public_key_ = base::to_hex(bytes);
    }
    NostrSigner(const NostrSigner&) = delete;
    NostrSigner& operator=(const NostrSigner&) = delete;
    ~NostrSigner() { secp256k1_context_destroy(context_); }

    [[nodiscard]] const std::string& public_key() const { return public_key_; }

    // The event with this author's key, its id and its signature.
    [[nodiscard]] NostrEvent sign(NostrEvent event) const {
        event.public_key = public_key_;
        const base::Sha256::Digest id = base::sha256(canonical_text(event));
        event.id = base::to_hex(id);
        std::array<std::uint8_t, 64> signature{};
        CHECK(secp256k1_schnorrsig_sign32(context_, signature.data(), id.data(), &keys_, nullptr) ==
              1);
        event.signature = base::to_hex(signature);
        return event;
    }

    // An event that logs in at `url`.
    [[nodiscard]] NostrEvent sign_login(std::string url, std::int64_t created_s) const {
        return sign({.created_s = created_s,
                     .kind = nostr_auth_kind,
                     .tags = {{"u", std::move(url)}, {"method", "POST"}}});
    }

  private:
    secp256k1_context* context_;
    secp256k1_keypair keys_{};
    std::string public_key_;
};

// The event as a client sends it.
inline std::string to_json(const NostrEvent& event) {
    std::string json = R"({"id":")" + event.id + R"(","pubkey":")" + event.public_key +
                       R"(","created_at":)" + std::to_string(event.created_s) + R"(,"kind":)" +
                       std::to_string(event.kind) + R"(,"tags":[)";
    for (std::size_t i = 0; i < event.tags.size(); ++i) {
        json += i == 0 ? "[" : ",[";
        for (std::size_t j = 0; j < event.tags[i].size(); ++j) {
            if (j > 0) json += ',';
            base::append_json_string(json, event.tags[i][j]);
        }
        json += ']';
    }
    json += R"(],"content":)";
    base::append_json_string(json, event.content);
    json += R"(,"sig":")" + event.signature + R"("})";
    return json;
}

}  // namespace holdfast::files::testing

#include "files/login/nostr_event.h"

#include <secp256k1.h>
#include <secp256k1_extrakeys.h>
#include <secp256k1_schnorrsig.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <optional>
#include <system_error>
#include <utility>

#include "base/check.h"
#include "base/crypto.h"
#include "base/json/json_object.h"
#include "base/text/hex.h"
#include "base/text/number.h"
#include "files/login/session_book.h"

namespace holdfast::files {
namespace {

using Bytes32 = std::array<std::uint8_t, 32>;
using Bytes64 = std::array<std::uint8_t, 64>;

tl::unexpected<NostrRefusal> refuse(NostrFault fault, std::string message) {
    return tl::unexpected<NostrRefusal>(NostrRefusal{fault, std::move(message)});
}

// Only the short escapes of JSON; every other character is written as it is.
void append_string(std::string& out, std::string_view text) {
    constexpr std::string_view escaped = "\n\"\\\r\t\b\f";
    constexpr std::string_view letters = "n\"\\rtbf";
    out += '"';
    for (const char c : text) {
        const std::size_t at = escaped.find(c);
        if (at != std::string_view::npos) out += '\\';
        out += at == std::string_view::npos ? c : letters[at];
    }
    out += '"';
}

bool is_hex(std::string_view text, std::size_t size) {
    return text.size() == size && text.find_first_not_of("0123456789abcdef") == std::string::npos;
}

NostrResult<NostrEvent> parse_event(std::string_view json) {
    NostrEvent event;
    std::optional<std::int64_t> created;
    std::optional<std::int64_t> kind;
    const auto read = base::read_json_object(json, {{"id", &event.id},
                                                    {"pubkey", &event.public_key},
                                                    {"created_at", &created},
                                                    {"kind", &kind},
                                                    {"tags", &event.tags},
                                                    {"content", &event.content},
                                                    {"sig", &event.signature}});
    const auto invalid = [](std::string message) {
        return refuse(NostrFault::invalid_event, std::move(message));
    };
    if (!read) return invalid(read.error().message);
    if (!is_hex(event.public_key, 64)) {
        return invalid("pubkey must be 64 lower-case hexadecimal digits");
    }
    if (!is_hex(event.signature, 128)) {
        return invalid("sig must be 128 lower-case hexadecimal digits");
    }
    if (!created || !kind) return invalid("created_at and kind must be there");
    event.created_s = *created;
    event.kind = *kind;
    // An event that was changed, or that has no id, is one that nobody has signed.
    if (base::sha256_hex(canonical_text(event)) != event.id) {
        return refuse(NostrFault::invalid_signature, "id is not the hash of the event");
    }
    return event;
}

// The value of the tag of that name; nothing if there is no such tag, or more than one.
std::optional<std::string_view> tag_of(const NostrEvent& event, std::string_view name) {
    std::optional<std::string_view> value;
    for (const auto& tag : event.tags) {
        if (tag.empty() || tag[0] != name) continue;
        if (tag.size() < 2 || value) return std::nullopt;
        value = tag[1];
    }
    return value;
}

// `a`, or `a or b or c`.
std::string join(std::span<const std::string> urls) {
    std::string text;
    for (const std::string& url : urls) text += text.empty() ? url : " or " + url;
    return text;
}

std::optional<std::string> fault_of(const NostrEvent& event, const NostrRequest& request) {
    if (event.kind != nostr_auth_kind) return "kind must be 27235";
    const auto url = tag_of(event, "u");
    if (!url || std::ranges::find(request.urls, *url) == request.urls.end()) {
        return "the tag u must be " + join(request.urls);
    }
    if (tag_of(event, "method") != request.method) {
        return "the tag method must be " + std::string(request.method);
    }
    const std::int64_t now_s =
        std::chrono::floor<std::chrono::seconds>(request.now.time_since_epoch()).count();
    if (event.created_s < now_s - nostr_window.count()) {
        return "the event is more than a minute old";
    }
    if (event.created_s > now_s + nostr_window.count()) {
        return "the event is from more than a minute ahead";
    }
    return std::nullopt;
}

}  // namespace

std::string_view to_text(NostrFault fault) {
    switch (fault) {
        case NostrFault::invalid_event: return "Invalid Nostr event";
        case NostrFault::invalid_auth_event: return "Invalid auth event";
        case NostrFault::invalid_signature: return "Invalid signature";
        case NostrFault::unauthorized: return "Unauthorized";
    }
    CHECK(false);
}

NostrResult<NostrEvent> verify_nostr_event(std::string_view json, const NostrRequest& request) {
    TRY(auto event, parse_event(json));
    if (auto fault = fault_of(event, request)) {
        return refuse(NostrFault::invalid_auth_event, std::move(*fault));
    }
    if (!is_signed(
            {.public_key = event.public_key, .message = event.id, .signature = event.signature})) {
        return refuse(NostrFault::invalid_signature, "sig is not the author's");
    }
    if (std::ranges::find(request.owner_keys, event.public_key) == request.owner_keys.end()) {
        return refuse(NostrFault::unauthorized, "the author is not an owner of this server");
    }
    return event;
}

NostrResult<Permission> permission_of(const NostrEvent& event) {
    bool is_limited = false, reads = false, writes = false;
    for (const auto& tag : event.tags) {
        if (tag.empty() || tag[0] != "scope") continue;
        is_limited = true;
        if (tag.size() < 2) {
            return refuse(NostrFault::invalid_auth_event, "the tag scope must be read or write");
        }
        for (const std::string& scope : std::span(tag).subspan(1)) {
            reads = reads || scope == "read";
            writes = writes || scope == "write";
            if (scope == "read" || scope == "write") continue;
            return refuse(NostrFault::invalid_auth_event,
                          "the scope '" + scope + "' is not known; it must be read or write");
        }
    }
    if (!is_limited || (reads && writes)) return Permission::read_write;
    if (reads) return Permission::read;
    return refuse(NostrFault::invalid_auth_event, "the scope write needs the scope read beside it");
}

std::string app_name_of(const NostrEvent& event) {
    std::string_view name = tag_of(event, "app").value_or("");
    if (name.size() > app_name_bytes_max) {
        std::size_t end = app_name_bytes_max;
        while (end > 0 && (static_cast<unsigned char>(name[end]) & 0xC0U) == 0x80) --end;
        name = name.substr(0, end);
    }
    return std::string(name);
}

std::string canonical_text(const NostrEvent& event) {
    std::string text = "[0,";
    append_string(text, event.public_key);
    text += ',' + std::to_string(event.created_s) + ',' + std::to_string(event.kind) + ",[";
    for (std::size_t i = 0; i < event.tags.size(); ++i) {
        text += i == 0 ? "[" : ",[";
        for (std::size_t j = 0; j < event.tags[i].size(); ++j) {
            if (j > 0) text += ',';
            append_string(text, event.tags[i][j]);
        }
        text += ']';
    }
    text += "],";
    append_string(text, event.content);
    text += ']';
    return text;
}

bool is_signed(const SchnorrClaim& claim) {
    Bytes32 key{};
    Bytes32 message{};
    Bytes64 signature{};
    if (!base::parse_hex_bytes(claim.public_key, key) ||
        !base::parse_hex_bytes(claim.message, message) ||
        !base::parse_hex_bytes(claim.signature, signature)) {
        return false;
    }
    secp256k1_xonly_pubkey public_key;
    return secp256k1_xonly_pubkey_parse(secp256k1_context_static, &public_key, key.data()) == 1 &&
           secp256k1_schnorrsig_verify(secp256k1_context_static, signature.data(), message.data(),
                                       message.size(), &public_key) == 1;
}

bool is_public_key(std::string_view text) {
    Bytes32 key{};
    secp256k1_xonly_pubkey public_key;
    return base::parse_hex_bytes(text, key) &&
           secp256k1_xonly_pubkey_parse(secp256k1_context_static, &public_key, key.data()) == 1;
}

base::Result<std::unique_ptr<UsedEvents>> UsedEvents::open(StateFolder& folder,
                                                           std::size_t events_max) {
    TRY(auto events, folder.open_folder("used_events"));
    const auto files = StateFolder::read_small_files(events.get());
    if (!files) {
        return base::fail("cannot read the used events: " +
                          std::generic_category().message(files.error()));
    }
    std::unique_ptr<UsedEvents> used(new UsedEvents(folder, std::move(events), events_max));
    for (const auto& [id, text] : *files) {
        // One that cannot be read counts as very old, and is forgotten at the next use.
        used->created_s_[id] = base::parse_decimal<std::int64_t>(text).value_or(0);
    }
    return used;
}

base::Result<bool> UsedEvents::use(const NostrEvent& event, service::WallTime now) {
    const std::lock_guard lock(mutex_);
    forget_old(now);
    if (created_s_.contains(event.id)) return false;
    if (created_s_.size() >= events_max_) {
        return base::fail("there have been too many logins within a minute");
    }
    const auto written =
        folder_.write_small_file(events_.get(), event.id, std::to_string(event.created_s));
    if (!written) {
        return base::fail("cannot note the used event: " +
                          std::generic_category().message(written.error()));
    }
    created_s_.emplace(event.id, event.created_s);
    return true;
}

std::size_t UsedEvents::size() const {
    const std::lock_guard lock(mutex_);
    return created_s_.size();
}

void UsedEvents::forget_old(service::WallTime now) {
    const std::int64_t now_s =
        std::chrono::floor<std::chrono::seconds>(now.time_since_epoch()).count();
    std::erase_if(created_s_, [&](const auto& entry) {
        if (entry.second >= now_s - nostr_window.count()) return false;
        unlinkat(events_.get(), entry.first.c_str(),
                 0);  // a file that stays is read at the next start
        return true;
    });
}

}  // namespace holdfast::files

#pragma once

// Who asks for something, in a word: for the log, the events and the history.
//
//     ci                the client has shown the secret of the token with this name
//     http@192.0.2.7    it has shown none: its door, and the address from which it comes
//     http@unix         ... from a Unix socket
//
// No token is called so: its name has no @. A secret is never a part of this.

#include <string>
#include <string_view>

#include "rights/token.h"

namespace holdfast::rights {

// The name of the client's token; empty if it has shown none.
[[nodiscard]] inline std::string_view name_of(const Token* client) {
    if (client == nullptr || client->name() == anonymous_name) return {};
    return client->name();
}

// Writes the asker into `text`, whose memory is used again. `host`: see net::ClientHost.
inline void set_asker(std::string& text, const Token* client, Door door, std::string_view host) {
    text = name_of(client);
    if (!text.empty()) return;
    text = to_text(door);
    if (!host.empty()) text.append("@").append(host);
}

}  // namespace holdfast::rights

#pragma once

// Who sends a request, and whether they may do what it asks for.

#include <optional>
#include <string>

#include "doors/hengdang/hengdang_door.h"
#include "doors/hengdang/http/file_answer.h"
#include "net/http/http_message.h"
#include "rights/denial.h"

namespace holdfast::doors::hengdang {

struct Visitor {
    files::Session session;
    std::string shown_id;     // as in the Authorization header; empty: a cookie has logged in
    rights::TokenPtr client;  // whose secret has logged in; null: it has no limits
    std::string by;           // rights/asker.h
};

// The owner of a session that began with the secret of a token.
[[nodiscard]] std::string session_owner_of(const rights::Token& token);

// What a request does.
enum class Deed {
    look,    // at files, locks or sessions
    leave,   // its own session
    change,  // files, locks or the sessions of others
};

// The client's session, which its Authorization header or its cookie names. Refuses a request
// without a live session (401). Refuses a request that does more than look, if only a cookie logs it
// in and its page may not make it (403), or if the session has no permission for it (403).
//
// If the session began with a token, that token must still be in force (401), and have the right to
// read or to change the path (403); no path: the request is about none.
[[nodiscard]] Parsed<Visitor> admit(HengdangDoor& door, const net::HttpRequest& request, Deed deed,
                                    const files::FilePath* path = nullptr);

// Why the client may not do this with the path; no value if it may. A directory on the way to what it may
// read can be listed, though no right covers it.
[[nodiscard]] std::optional<rights::Denial> deny_path(const rights::Token* client, Deed deed,
                                                      const files::FilePath& path);

// Whether the client may read something below this path. Then it may list the directory, which shows it
// what it may read, and what is on the way to that.
[[nodiscard]] bool is_on_the_way(const rights::Token* client, const files::FilePath& path);

// 403: the token has no right to this.
[[nodiscard]] FileAnswer refuse(const rights::Denial& denial);

// 403: a page of another origin made the request.
[[nodiscard]] FileAnswer refuse_origin();

}  // namespace holdfast::doors::hengdang

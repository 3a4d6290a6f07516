#pragma once

// Who sends a request, and whether they may do what it asks for.

#include <string>

#include "doors/hengdang/hengdang_door.h"
#include "doors/hengdang/http/file_answer.h"
#include "net/http/http_message.h"

namespace holdfast::doors::hengdang {

struct Visitor {
    files::Session session;
    std::string shown_id;  // as in the Authorization header; empty: a cookie has logged in
};

// What a request does.
enum class Deed {
    look,    // at files, locks or sessions
    leave,   // its own session
    change,  // files, locks or the sessions of others
};

// The client's session, which its Authorization header or its cookie names. Refuses a request
// without a live session (401). Refuses a request that does more than look, if only a cookie logs it
// in and its page may not make it (403), or if the session has no permission for it (403).
[[nodiscard]] Parsed<Visitor> admit(HengdangDoor& door, const net::HttpRequest& request, Deed deed);

// 403: a page of another origin made the request.
[[nodiscard]] FileAnswer refuse_origin();

}  // namespace holdfast::doors::hengdang

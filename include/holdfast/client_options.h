#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "holdfast/export.h"

namespace holdfast {

// Where a Client finds its server, and how patient it is.
struct HOLDFAST_API ClientOptions {
    // http:// or https:// URLs of one server; the next is tried when one does not answer.
    std::vector<std::string> servers{"http://127.0.0.1:8080"};
    std::string token;       // the secret the server wants to see, or
    std::string token_file;  // the file whose first line it is, read again when it is refused
    std::string ca_file;     // whom to trust, for https; empty: the system's
    // How long one answer is waited for, beyond the time the server was asked to wait for a lock.
    std::chrono::milliseconds timeout{10'000};
    // How long a request that got no answer is repeated.
    std::chrono::milliseconds retry_for{10'000};

    // Of HOLDFAST_SERVER (several are separated by commas), HOLDFAST_TOKEN_FILE, HOLDFAST_CA_FILE.
    [[nodiscard]] static ClientOptions from_environment();
};

}  // namespace holdfast

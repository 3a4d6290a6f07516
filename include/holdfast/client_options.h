#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "holdfast/export.h"

namespace holdfast {

// The addresses of the server, the secret for it, and the time limits of a Client.
struct HOLDFAST_API ClientOptions {
    // The addresses of one server: host:port, http:// or https:// URLs, or unix:/run/holdfast.sock.
    // The next is tried when one does not answer.
    std::vector<std::string> servers{"http://127.0.0.1:8080"};
    std::string token;       // the secret that the server wants, or
    std::string token_file;  // a file with it in the first line; read again when it is refused
    std::string ca_file;     // the trusted certificates, for https; empty: those of the system
    // How long to wait for one answer, beyond the time that the server may wait for a lock.
    std::chrono::milliseconds timeout{10'000};
    // How long a request that got no answer is repeated.
    std::chrono::milliseconds retry_for{10'000};

    // From the variables HOLDFAST_SERVER (several addresses are separated by commas),
    // HOLDFAST_TOKEN, HOLDFAST_TOKEN_FILE and HOLDFAST_CA_FILE.
    [[nodiscard]] static ClientOptions from_environment();
};

}  // namespace holdfast

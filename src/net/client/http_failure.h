#pragma once

// HttpFailure: why a request to another server got no answer.

#include <cstdint>
#include <string>
#include <tl/expected.hpp>
#include <utility>

namespace holdfast::net {

struct HttpFailure {
    enum class Kind : std::uint8_t {
        unreachable,  // there is no connection: the request had no effect
        timed_out,    // no answer in time: it may have had one
        no_answer,    // the connection broke, or what came is no HTTP: it may have had one
        certificate,  // the server is not who it should be, and was told nothing
        cancelled,    // the stop token said so: it may have had one
    };

    Kind kind = Kind::no_answer;
    std::string message;  // a sentence for people
};

template <class T>
using HttpResult = tl::expected<T, HttpFailure>;

[[nodiscard]] inline tl::unexpected<HttpFailure> http_failure(HttpFailure::Kind kind,
                                                              std::string message) {
    return tl::unexpected<HttpFailure>(HttpFailure{.kind = kind, .message = std::move(message)});
}

}  // namespace holdfast::net

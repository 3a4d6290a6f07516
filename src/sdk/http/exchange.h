#pragma once

// Exchange: sends requests to a server and reads its answers. A server may have several addresses;
// when one does not answer, the next is tried.
//
// Thread safety: everything from any thread.

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <utility>
#include <vector>

#include "base/json/json_value.h"
#include "holdfast/client_options.h"
#include "holdfast/lock_result.h"
#include "net/client/http_client.h"
#include "sdk/patience.h"

namespace holdfast::sdk {

// What a server said to a request.
struct Answer {
    int status = 0;
    std::string text;
    base::JsonValue json;      // null if the text is not JSON
    bool is_repeated = false;  // the request was sent twice; the first may have had its effect
    std::string server;        // the address that it came from

    // Whether it did not come from a Holdfast server, or from another path of one.
    [[nodiscard]] bool is_foreign() const;
    // The code of a refusal: `LockHeld`.
    [[nodiscard]] std::string_view reason() const;
    // The sentence that explains it.
    [[nodiscard]] std::string message() const;
    // Whether the server, or a gateway before it, cannot answer now but may answer later.
    [[nodiscard]] bool is_temporary() const;

    // The error for a program. REQUIRES: the answer is not a success.
    [[nodiscard]] LockError to_error() const;
};

// Why there is no answer to a request.
struct NoAnswer {
    LockError error;
    bool is_final = false;         // asking again would not help
    bool may_have_effect = false;  // the request may have been done nevertheless
    bool is_unreachable = false;   // there was no connection
    // The answer that was of no use: it was temporary, or it refused a stream.
    std::optional<Answer> answer = {};

    [[nodiscard]] bool is_cancelled() const { return std::holds_alternative<LockCancelled>(error); }
};

template <class T>
using Answered = tl::expected<T, NoAnswer>;

struct Ask {
    std::string method;
    std::string target;
    std::string body;
    std::chrono::milliseconds timeout;
    bool is_repeatable = true;  // the same request twice has the effect of one
    std::stop_token stop;
};

// The parts of a list of addresses that is separated by commas. Empty parts are left out.
[[nodiscard]] std::vector<std::string> split_by_commas(std::string_view text);

class Exchange {
  public:
    // Fails with an InvalidLockRequest that names what is wrong with the options.
    [[nodiscard]] static LockResult<std::unique_ptr<Exchange>> open(const ClientOptions& options);

    // Sends a request once: to one address or, while it certainly had no effect, to one after the
    // other. After a failure the next request begins with the next address.
    [[nodiscard]] Answered<Answer> ask_once(const Ask& ask);
    // Asks until there is an answer, or patience ends. A request that is not repeatable is sent
    // again only if it certainly had no effect.
    [[nodiscard]] Answered<Answer> ask(const Ask& ask, Patience patience);

    // A GET whose answer has no end, or any length.
    struct Stream {
        std::string target;
        std::vector<std::pair<std::string, std::string>> headers;
        std::optional<std::chrono::milliseconds> timeout;  // until the header; default: as options
        std::function<void()> on_open;                     // the server has answered 200
        // Called with each piece of the body. Returns false to end the stream.
        std::function<bool(std::string_view)> on_bytes;
        std::stop_token stop;
    };
    // Returns when the stream ends. Fails if it broke, or if no address answered with 200.
    [[nodiscard]] Answered<void> stream(const Stream& stream);

    [[nodiscard]] const ClientOptions& options() const { return options_; }

  private:
    using Headers = std::vector<std::pair<std::string, std::string>>;

    Exchange(const ClientOptions& options, std::vector<std::unique_ptr<net::HttpClient>> servers,
             std::string token);

    Answered<Answer> ask_server(std::size_t index, const Ask& ask);
    net::HttpResult<net::HttpAnswer> send(std::size_t index, const Ask& ask);
    Answered<void> stream_from(std::size_t index, const Stream& stream);
    [[nodiscard]] Headers authorization() const;
    bool has_new_token();
    void turn_from(std::size_t index);

    const ClientOptions options_;
    const std::vector<std::unique_ptr<net::HttpClient>> servers_;
    std::atomic<std::size_t> current_ = 0;  // of servers_
    mutable std::mutex mutex_;
    std::string token_;  // under mutex_
};

}  // namespace holdfast::sdk

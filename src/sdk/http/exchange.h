#pragma once

// Exchange: requests to a server and its answers, whichever of its addresses answers.
//
// Thread safety: everything from any thread.

#include <atomic>
#include <chrono>
#include <memory>
#include <mutex>
#include <stop_token>
#include <string>
#include <vector>

#include "holdfast/client_options.h"
#include "holdfast/lock_result.h"
#include "net/client/http_client.h"
#include "sdk/http/answer.h"
#include "sdk/patience.h"

namespace holdfast::sdk {

struct Ask {
    std::string method;
    std::string target;
    std::string body;
    std::chrono::milliseconds timeout;
    bool is_repeatable = true;
    std::stop_token stop;
};

class Exchange {
  public:
    // Fails with an InvalidLockRequest that names what is wrong with the options.
    [[nodiscard]] static LockResult<std::unique_ptr<Exchange>> open(const ClientOptions& options);

    // Asks one address for an answer, or, as long as no connection can be made, all of them in
    // turn. After a failure the next request begins at the next address.
    [[nodiscard]] Answered<Answer> ask_once(const Ask& ask);
    // The same until there is an answer or no patience left. What must not be repeated is only if
    // it certainly had no effect.
    [[nodiscard]] Answered<Answer> ask(const Ask& ask, Patience patience);

    // An answer that has no end. `on_head` is called for a 200 only; other answers are returned.
    struct Stream {
        std::string target;
        std::vector<std::pair<std::string, std::string>> headers;
        std::function<void()> on_head;
        std::function<bool(std::string_view)> on_bytes;
        std::stop_token stop;
    };
    // Returns when it ends: with NoAnswer if it broke, or nobody gave one.
    [[nodiscard]] Answered<void> stream(const Stream& stream);

    [[nodiscard]] const ClientOptions& options() const { return options_; }

  private:
    using Headers = std::vector<std::pair<std::string, std::string>>;

    Exchange(const ClientOptions& options, std::vector<std::unique_ptr<net::HttpClient>> servers,
             std::string token);

    Answered<Answer> ask_server(std::size_t index, const Ask& ask);
    net::HttpResult<net::HttpAnswer> send(std::size_t index, const Ask& ask);
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

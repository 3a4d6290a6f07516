// The clients of the doors that speak JSON over HTTP: lockserver and homelab.

#include <utility>

#include "base/json/json_value.h"
#include "base/json/json_writer.h"
#include "base/text/duration.h"
#include "load/lock_client.h"
#include "net/client/http_client.h"
#include "net/client/url.h"

namespace holdfast::load {

namespace {

struct JsonAnswer {
    int status = 0;
    base::JsonValue body;
};

// The error for an answer that the protocol does not have.
tl::unexpected<base::Error> unexpected_answer(const JsonAnswer& answer) {
    const std::string_view error = answer.body["error"].text();
    return base::fail("the server answered " + std::to_string(answer.status) +
                      (error.empty() ? "" : ": " + std::string(error)));
}

// Asks one server.
class JsonConnection {
  public:
    JsonConnection(std::unique_ptr<net::HttpClient> client, std::string token)
        : client_(std::move(client)), token_(std::move(token)) {}

    [[nodiscard]] base::Result<JsonAnswer> ask(const std::string& method, const std::string& target,
                                               const std::string& body = "") const {
        net::HttpCall call{.method = method, .target = target, .body = body};
        if (!token_.empty()) call.headers.emplace_back("Authorization", "Bearer " + token_);
        const auto answer = client_->send(call);
        if (!answer) return base::fail(answer.error().message);
        // A body that is not JSON becomes a value without fields; the status says enough.
        return JsonAnswer{.status = answer->status,
                          .body = base::JsonValue::parse(answer->body).value_or(base::JsonValue())};
    }

  private:
    std::unique_ptr<net::HttpClient> client_;
    std::string token_;
};

// /v1/locks, with leases and fencing numbers.
class LockserverClient final : public LockClient {
  public:
    LockserverClient(JsonConnection server, std::string owner, std::chrono::milliseconds ttl)
        : server_(std::move(server)), owner_(std::move(owner)), ttl_(ttl) {}

    base::Result<void> greet() override {
        TRY(const auto answer, server_.ask("GET", "/v1/locks/hello"));
        if (answer.status != 200) return unexpected_answer(answer);
        return {};
    }

    base::Result<Acquisition> acquire(const std::string& lock) override {
        std::string body;
        base::JsonWriter(body)
            .begin_object()
            .field("owner_id", owner_)
            .field("ttl_ms", ttl_.count())
            .end_object();
        TRY(const auto answer,
            server_.ask("POST", "/v1/locks/" + net::percent_encode(lock) + "/acquire", body));
        if (answer.status == 409) {
            const auto retry_ms = answer.body["recommended_retry_ms"].natural();
            if (!retry_ms) return Refusal{};
            return Refusal{.retry_after = std::chrono::milliseconds(*retry_ms)};
        }
        const std::uint64_t number = answer.body["fencing_token"].natural().value_or(0);
        if (answer.status != 200 || !answer.body["acquired"].is_true() || number == 0) {
            return unexpected_answer(answer);
        }
        return Grant{.lease = std::string(answer.body["lease_id"].text()),
                     .fencing_number = number,
                     .ttl = ttl_};
    }

    base::Result<bool> release(const std::string& lock, const Grant& grant) override {
        std::string body;
        base::JsonWriter(body)
            .begin_object()
            .field("owner_id", owner_)
            .field("lease_id", grant.lease)
            .field("fencing_token", grant.fencing_number)
            .end_object();
        TRY(const auto answer,
            server_.ask("POST", "/v1/locks/" + net::percent_encode(lock) + "/release", body));
        if (answer.status != 200) return unexpected_answer(answer);
        return answer.body["released"].is_true();
    }

  private:
    const JsonConnection server_;
    const std::string owner_;
    const std::chrono::milliseconds ttl_;
};

// /lock: a client proves itself only by its name, and grants have no number.
class HomelabClient final : public LockClient {
  public:
    HomelabClient(JsonConnection server, std::string owner, std::chrono::milliseconds ttl)
        : server_(std::move(server)), owner_(std::move(owner)), ttl_(ttl) {}

    base::Result<void> greet() override {
        TRY(const auto answer, server_.ask("GET", "/lock"));
        if (answer.status != 200) return unexpected_answer(answer);
        return {};
    }

    base::Result<Acquisition> acquire(const std::string& lock) override {
        TRY(const auto answer,
            server_.ask("POST", target(lock) + "&ttl=" + base::format_duration(ttl_)));
        if (answer.status == 409) return Refusal{};
        if (answer.status != 200) return unexpected_answer(answer);
        return Grant{.ttl = ttl_};
    }

    base::Result<bool> release(const std::string& lock, const Grant&) override {
        TRY(const auto answer, server_.ask("DELETE", target(lock)));
        if (answer.status != 200 && answer.status != 403) return unexpected_answer(answer);
        return answer.status == 200;
    }

  private:
    [[nodiscard]] std::string target(const std::string& lock) const {
        return "/lock?client=" + net::percent_encode(owner_) + "&job=" + net::percent_encode(lock);
    }

    const JsonConnection server_;
    const std::string owner_;
    const std::chrono::milliseconds ttl_;
};

}  // namespace

base::Result<std::unique_ptr<LockClient>> open_http_client(const LoadOptions& options,
                                                           ClientIdentity identity) {
    // HOLDFAST_SERVER may name several addresses; the load goes to the first.
    const std::string url = options.url.substr(0, options.url.find(','));
    TRY(auto address, net::HttpAddress::parse_server(url));
    TRY(auto client, net::HttpClient::open(std::move(address), {.ca_file = options.ca_file}));
    JsonConnection server(std::move(client), std::move(identity.token));
    if (options.door == Door::homelab) {
        return std::make_unique<HomelabClient>(std::move(server), std::move(identity.owner),
                                               options.ttl);
    }
    return std::make_unique<LockserverClient>(std::move(server), std::move(identity.owner),
                                              options.ttl);
}

}  // namespace holdfast::load

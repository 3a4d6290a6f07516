#include "load/http_door.h"

namespace holdfast::load {

tl::unexpected<base::Error> unexpected_answer(const JsonAnswer& answer) {
    const std::string_view error = answer.body["error"].text();
    return base::fail("the server answered " + std::to_string(answer.status) +
                      (error.empty() ? "" : ": " + std::string(error)));
}

// NOLINTNEXTLINE(bugprone-easily-swappable-parameters): named alike in the options
base::Result<HttpDoor> HttpDoor::open(const std::string& url, const std::string& ca_file,
                                      const std::string& token) {
    TRY(auto address, net::HttpAddress::parse_server(url));
    HttpDoor door;
    TRY(door.client_, net::HttpClient::open(std::move(address), {.ca_file = ca_file}));
    door.token_ = token;
    return door;
}

base::Result<JsonAnswer> HttpDoor::ask(const std::string& method, const std::string& target,
                                       const std::string& body) const {
    net::HttpCall call{.method = method, .target = target, .body = body};
    if (!token_.empty()) call.headers.emplace_back("Authorization", "Bearer " + token_);
    const auto answer = client_->send(call);
    if (!answer) return base::fail(answer.error().message);
    // What is no JSON has no fields, and its status says enough.
    return JsonAnswer{.status = answer->status,
                      .body = base::JsonValue::parse(answer->body).value_or(base::JsonValue())};
}

}  // namespace holdfast::load

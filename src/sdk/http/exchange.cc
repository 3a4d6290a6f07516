#include "sdk/http/exchange.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/token_file.h"
#include "sdk/lease_json.h"

namespace holdfast::sdk {

namespace {

using Kind = net::HttpFailure::Kind;

NoAnswer to_no_answer(const net::HttpFailure& failure) {
    if (failure.kind == Kind::cancelled) {
        return {.error = LockCancelled{}, .is_final = true, .may_have_effect = true};
    }
    const bool had_no_effect =
        failure.kind == Kind::unreachable || failure.kind == Kind::certificate;
    return {.error = ServerUnavailable{.message = failure.message},
            .is_final = failure.kind == Kind::certificate,
            .may_have_effect = !had_no_effect,
            .is_unreachable = failure.kind == Kind::unreachable};
}

Answer to_answer(net::HttpAnswer&& answer) {
    auto json = base::JsonValue::parse(answer.body);
    return {.status = answer.status,
            .text = std::move(answer.body),
            .json = json ? *std::move(json) : base::JsonValue(),
            .is_repeated = answer.is_repeated};
}

// With 503 the server itself has done nothing; a gateway may have passed the request on.
NoAnswer to_no_answer(Answer&& answer) {
    NoAnswer none{.error = answer.to_error(), .may_have_effect = answer.status != 503};
    none.answer = std::move(answer);
    return none;
}

LockError invalid(std::string message) {
    return InvalidLockRequest{.message = std::move(message)};
}

}  // namespace

// The two HTTP doors of the server have different names for the code.
std::string_view Answer::reason() const {
    const std::string_view reason = json["reason"].text();
    return reason.empty() ? json["error"].text() : reason;
}

std::string Answer::message() const {
    for (const char* const field : {"message", "error"}) {
        if (const auto said = json[field].text(); !said.empty()) return std::string(said);
    }
    return "status " + std::to_string(status);
}

bool Answer::is_temporary() const {
    return status == 502 || status == 503 || status == 504;
}

// What Holdfast does not know, it says in JSON, and of a thing it has a code.
bool Answer::is_foreign() const {
    if (!json.is_object()) return true;
    const std::string_view code = reason();
    return code == "NotFound" || code.starts_with("no such path");
}

LockError Answer::to_error() const {
    const std::string_view code = reason();
    if (is_foreign() && status != 401 && status < 500) {
        return ServerUnavailable{
            .message = fmt::format("{} is no Holdfast server: it answers with status {}; is the "
                                   "address right, and its path?",
                                   server, status)};
    }
    if (code == "LockHeld") return read_held(json);
    if (code == "Deadlock") return read_deadlock(json);
    if (code == "LockExpired" || code == "RequestEnded") return LockExpired{};
    if (code == "LockNotFound") return LockNotFound{};
    if (code == "LimitReached") return LockLimitReached{.message = message()};
    if (code == "StaleFence") {
        return StaleFence{.resource = std::string(json["resource"].text()),
                          .fencing_token = json["fencing_token"].natural().value_or(0),
                          .highest = json["highest"].natural().value_or(0)};
    }
    if (status == 401 || status == 403) return NotPermitted{.message = message()};
    if (status >= 500) return ServerUnavailable{.message = message()};
    return InvalidLockRequest{.message = message()};
}

std::vector<std::string> split_by_commas(std::string_view text) {
    std::vector<std::string> parts;
    while (!text.empty()) {
        const auto comma = text.find(',');
        if (comma != 0) parts.emplace_back(text.substr(0, comma));
        text.remove_prefix(comma == std::string_view::npos ? text.size() : comma + 1);
    }
    return parts;
}

Exchange::Exchange(const ClientOptions& options,
                   std::vector<std::unique_ptr<net::HttpClient>> servers, std::string token)
    : options_(options), servers_(std::move(servers)), token_(std::move(token)) {}

LockResult<std::unique_ptr<Exchange>> Exchange::open(const ClientOptions& options) {
    std::vector<std::unique_ptr<net::HttpClient>> servers;
    for (const std::string& server : options.servers) {
        auto address = net::HttpAddress::parse_server(server);
        if (!address) return invalid(address.error().message);
        auto client = net::HttpClient::open(
            *std::move(address),
            {.ca_file = options.ca_file,
             .connect_timeout = std::min(options.timeout, std::chrono::milliseconds{5'000})});
        if (!client) return invalid(client.error().message);
        servers.push_back(*std::move(client));
    }
    if (servers.empty()) return invalid("no server is named");
    std::string token = options.token;
    if (token.empty() && !options.token_file.empty()) {
        auto read = base::read_token_file(options.token_file);
        if (!read) return invalid(read.error().message);
        token = *std::move(read);
    }
    return std::unique_ptr<Exchange>(new Exchange(options, std::move(servers), std::move(token)));
}

Answered<Answer> Exchange::ask(const Ask& ask, Patience patience) {
    while (true) {
        auto answer = ask_once(ask);
        if (answer || answer.error().is_final) return answer;
        if (!ask.is_repeatable && answer.error().may_have_effect) return answer;
        if (patience.pause(ask.stop)) continue;
        if (ask.stop.stop_requested()) answer.error().error = LockCancelled{};
        return answer;
    }
}

Answered<Answer> Exchange::ask_once(const Ask& ask) {
    for (std::size_t tried = 1;; ++tried) {
        const std::size_t index = current_;
        auto answer = ask_server(index, ask);
        if (answer) return answer;
        turn_from(index);
        const NoAnswer& failure = answer.error();
        const bool had_no_effect = !failure.may_have_effect || ask.method == "GET";
        const bool may_try_next = had_no_effect && !failure.is_cancelled() && !failure.answer;
        if (tried == servers_.size() || !may_try_next) return answer;
    }
}

Answered<Answer> Exchange::ask_server(std::size_t index, const Ask& ask) {
    auto sent = send(index, ask);
    if (sent && sent->status == 401 && has_new_token()) sent = send(index, ask);
    if (!sent) return tl::unexpected(to_no_answer(sent.error()));
    Answer answer = to_answer(*std::move(sent));
    answer.server = options_.servers[index];
    if (answer.is_temporary()) return tl::unexpected(to_no_answer(std::move(answer)));
    return answer;
}

net::HttpResult<net::HttpAnswer> Exchange::send(std::size_t index, const Ask& ask) {
    return servers_[index]->send(
        {.method = ask.method,
         .target = ask.target,
         .body = ask.body,
         .headers = authorization(),
         .timeout = ask.timeout,
         .repeat = ask.is_repeatable ? net::Repeat::allowed : net::Repeat::never,
         .stop = ask.stop});
}

Answered<void> Exchange::stream(const Stream& stream) {
    for (std::size_t tried = 1;; ++tried) {
        const std::size_t index = current_;
        auto done = stream_from(index, stream);
        if (done) return done;
        const NoAnswer& failure = done.error();
        if (!failure.answer || failure.answer->is_temporary()) turn_from(index);
        if (tried == servers_.size() || !failure.is_unreachable) return done;
    }
}

Answered<void> Exchange::stream_from(std::size_t index, const Stream& stream) {
    net::HttpAnswer refusal;
    const auto on_head = [&](const net::HttpAnswer& head) {
        refusal.status = head.status;
        if (head.status == 200 && stream.on_open) stream.on_open();
        return true;
    };
    const auto on_bytes = [&](std::string_view bytes) {
        if (refusal.status == 200) return stream.on_bytes(bytes);
        refusal.body.append(bytes);
        return true;
    };
    Headers headers = authorization();
    headers.insert(headers.end(), stream.headers.begin(), stream.headers.end());
    const auto done = servers_[index]->stream({.method = "GET",
                                               .target = stream.target,
                                               .headers = std::move(headers),
                                               .timeout = stream.timeout.value_or(options_.timeout),
                                               .stop = stream.stop},
                                              {.on_head = on_head, .on_bytes = on_bytes});
    if (!done) return tl::unexpected(to_no_answer(done.error()));
    if (refusal.status == 200) return {};
    Answer answer = to_answer(std::move(refusal));
    answer.server = options_.servers[index];
    NoAnswer none = to_no_answer(std::move(answer));
    const bool may_help_to_repeat =
        none.answer->is_temporary() || (none.answer->status == 401 && has_new_token());
    none.is_final = !may_help_to_repeat;
    return tl::unexpected(std::move(none));
}

Exchange::Headers Exchange::authorization() const {
    const std::lock_guard guard(mutex_);
    if (token_.empty()) return {};
    return {{"Authorization", "Bearer " + token_}};
}

// Whether the file has another token than the one that was sent: tokens are replaced while a program
// runs.
bool Exchange::has_new_token() {
    if (options_.token_file.empty() || !options_.token.empty()) return false;
    auto token = base::read_token_file(options_.token_file);
    const std::lock_guard guard(mutex_);
    if (!token || *token == token_) return false;
    token_ = *std::move(token);
    return true;
}

// Once, however many requests fail at the same time.
void Exchange::turn_from(std::size_t index) {
    current_.compare_exchange_strong(index, (index + 1) % servers_.size());
}

}  // namespace holdfast::sdk

#include "sdk/http/exchange.h"

#include <algorithm>
#include <utility>

#include "sdk/http/server_access.h"

namespace holdfast::sdk {

namespace {

using Kind = net::HttpFailure::Kind;

NoAnswer to_no_answer(const net::HttpFailure& failure) {
    if (failure.kind == Kind::cancelled) {
        return {.error = LockCancelled{}, .is_final = true, .may_have_effect = true};
    }
    const bool is_known_to_be_nothing =
        failure.kind == Kind::unreachable || failure.kind == Kind::certificate;
    return {.error = ServerUnavailable{.message = failure.message},
            .is_final = failure.kind == Kind::certificate,
            .may_have_effect = !is_known_to_be_nothing};
}

Answer to_answer(net::HttpAnswer&& answer) {
    auto body = base::JsonValue::parse(answer.body);
    return {.status = answer.status,
            .text = std::move(answer.body),
            .body = body ? *std::move(body) : base::JsonValue(),
            .is_repeated = answer.is_repeated};
}

// A gateway may have passed the request on; the server itself has done nothing.
NoAnswer to_no_answer(Answer&& answer) {
    NoAnswer none{.error = answer.to_error(), .may_have_effect = answer.status != 503};
    none.temporary = std::move(answer);
    return none;
}

LockError invalid(std::string message) {
    return InvalidLockRequest{.message = std::move(message)};
}

}  // namespace

Exchange::Exchange(const ClientOptions& options,
                   std::vector<std::unique_ptr<net::HttpClient>> servers, std::string token)
    : options_(options), servers_(std::move(servers)), token_(std::move(token)) {}

LockResult<std::unique_ptr<Exchange>> Exchange::open(const ClientOptions& options) {
    std::vector<std::unique_ptr<net::HttpClient>> servers;
    for (const std::string& url : options.servers) {
        auto address = net::HttpAddress::parse_server(url);
        if (!address) return invalid(address.error().message);
        auto server = net::HttpClient::open(
            *std::move(address),
            {.ca_file = options.ca_file,
             .connect_timeout = std::min(options.timeout, std::chrono::milliseconds{5'000})});
        if (!server) return invalid(server.error().message);
        servers.push_back(*std::move(server));
    }
    if (servers.empty()) return invalid("no server is named");
    std::string token = options.token;
    if (token.empty() && !options.token_file.empty()) {
        auto read = read_token(options.token_file);
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
    std::size_t tried = 0;
    while (true) {
        const std::size_t index = current_;
        auto answer = ask_server(index, ask);
        if (answer) return answer;
        turn_from(index);
        const NoAnswer& failure = answer.error();
        const bool may_try_next = !failure.may_have_effect && !failure.temporary;
        if (++tried == servers_.size() || !may_try_next) return answer;
    }
}

Answered<Answer> Exchange::ask_server(std::size_t index, const Ask& ask) {
    auto sent = send(index, ask);
    if (sent && sent->status == 401 && has_new_token()) sent = send(index, ask);
    if (!sent) return tl::unexpected(to_no_answer(sent.error()));
    Answer answer = to_answer(*std::move(sent));
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
    const std::size_t index = current_;
    net::HttpAnswer refusal;
    Headers headers = authorization();
    headers.insert(headers.end(), stream.headers.begin(), stream.headers.end());
    const auto done = servers_[index]->stream({.method = "GET",
                                               .target = stream.target,
                                               .headers = std::move(headers),
                                               .timeout = options_.timeout,
                                               .stop = stream.stop},
                                              {.on_head =
                                                   [&](const net::HttpAnswer& head) {
                                                       refusal.status = head.status;
                                                       if (head.status == 200) stream.on_head();
                                                       return true;
                                                   },
                                               .on_bytes =
                                                   [&](std::string_view bytes) {
                                                       if (refusal.status == 200)
                                                           return stream.on_bytes(bytes);
                                                       refusal.body.append(bytes);
                                                       return true;
                                                   }});
    if (!done) {
        turn_from(index);
        return tl::unexpected(to_no_answer(done.error()));
    }
    if (refusal.status == 200) return {};
    Answer answer = to_answer(std::move(refusal));
    if (answer.is_temporary()) {
        turn_from(index);
        return tl::unexpected(to_no_answer(std::move(answer)));
    }
    const bool is_hopeful = answer.status == 401 && has_new_token();
    return tl::unexpected(NoAnswer{.error = answer.to_error(), .is_final = !is_hopeful});
}

Exchange::Headers Exchange::authorization() const {
    const std::lock_guard guard(mutex_);
    if (token_.empty()) return {};
    return {{"Authorization", "Bearer " + token_}};
}

// Tokens are exchanged while we run: whether the file has another one than we have shown.
bool Exchange::has_new_token() {
    if (options_.token_file.empty() || !options_.token.empty()) return false;
    auto token = read_token(options_.token_file);
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

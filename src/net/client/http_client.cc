#include "net/client/http_client.h"

#include <algorithm>
#include <utility>

namespace holdfast::net {

namespace {

constexpr std::size_t idle_max = 16;

// Encodes every byte that could end the request line.
void append_target(std::string& out, std::string_view target) {
    static constexpr std::string_view digits = "0123456789ABCDEF";
    for (const char byte : target) {
        if (byte > ' ' && byte < '\x7f') {
            out.push_back(byte);
        } else {
            const auto value = static_cast<unsigned char>(byte);
            out.append({'%', digits[value >> 4], digits[value & 15]});
        }
    }
}

// Replaces every byte that could end the line.
void append_line(std::string& out, std::string_view text) {
    for (const char byte : text) {
        const bool is_control = (byte >= '\0' && byte < ' ' && byte != '\t') || byte == '\x7f';
        out.push_back(is_control ? ' ' : byte);
    }
}

bool is_interim(const HttpAnswer& answer) {
    return answer.status >= 100 && answer.status < 200;
}

}  // namespace

HttpClient::HttpClient(HttpAddress address, HttpClientOptions options,
                       std::shared_ptr<const TlsTrust> trust)
    : address_(std::move(address)), options_(std::move(options)), trust_(std::move(trust)) {}

base::Result<std::unique_ptr<HttpClient>> HttpClient::open(HttpAddress address,
                                                           HttpClientOptions options) {
    std::shared_ptr<const TlsTrust> trust;
    if (address.is_tls) {
        TRY(trust, TlsTrust::load(options.ca_file));
    }
    return std::unique_ptr<HttpClient>(
        new HttpClient(std::move(address), std::move(options), std::move(trust)));
}

HttpResult<HttpAnswer> HttpClient::send(const HttpCall& call) {
    Waiter waiter(call.timeout, call.stop);
    bool is_repeated = false;
    if (call.repeat == Repeat::allowed) {
        if (Connection idle = take_idle()) {
            auto answer = exchange(std::move(idle), call, waiter);
            // Most likely the server had closed the connection while it was idle.
            is_repeated = !answer && answer.error().kind == HttpFailure::Kind::no_answer;
            if (!is_repeated) return answer;
        }
    }
    TRY(Connection connection, connect(waiter));
    auto answer = exchange(std::move(connection), call, waiter);
    if (answer) answer->is_repeated = is_repeated;
    return answer;
}

HttpResult<void> HttpClient::stream(const HttpCall& call, const HttpStream& stream) {
    Waiter waiter(call.timeout, call.stop);
    TRY(const Connection connection, connect(waiter));
    TRY(connection->send(format(call), waiter));
    bool is_wanted = true;
    std::string early;  // the part of the body that arrived together with the header
    bool has_head = false;
    HttpAnswerParser parser({.is_to_head = call.method == "HEAD",
                             .body_bytes_max = {},
                             .on_body = [&](std::string_view bytes) {
                                 if (!has_head) {
                                     early.append(bytes);
                                 } else if (is_wanted) {
                                     is_wanted = stream.on_bytes(bytes);
                                 }
                             }});
    while (is_wanted) {
        TRY(const bool is_complete, connection->read_some(parser, waiter));
        if (parser.has_header() && !std::exchange(has_head, true)) {
            is_wanted = stream.on_head(parser.answer());
            if (is_wanted && !early.empty()) is_wanted = stream.on_bytes(early);
        }
        if (is_complete) break;
        if (has_head) waiter.set_timeout(stream.silence_max);
    }
    return {};
}

HttpResult<HttpClient::Connection> HttpClient::connect(Waiter& waiter) {
    return HttpConnection::open(address_, trust_.get(), options_.connect_timeout, waiter);
}

HttpResult<HttpAnswer> HttpClient::exchange(Connection connection, const HttpCall& call,
                                            Waiter& waiter) {
    TRY(connection->send(format(call), waiter));
    while (true) {
        HttpAnswerParser parser({.is_to_head = call.method == "HEAD",
                                 .body_bytes_max = options_.answer_bytes_max,
                                 .on_body = {}});
        bool is_complete = false;
        while (!is_complete) {
            TRY(is_complete, connection->read_some(parser, waiter));
        }
        if (is_interim(parser.answer())) continue;
        if (parser.keeps_connection()) add_idle(std::move(connection));
        return std::move(parser.answer());
    }
}

std::string HttpClient::format(const HttpCall& call) const {
    std::string out = call.method + " " + address_.prefix;
    append_target(out, call.target);
    out += " HTTP/1.1\r\nHost: " + address_.authority() + "\r\n";
    for (const auto& [name, value] : call.headers) {
        append_line(out, name);
        out += ": ";
        append_line(out, value);
        out += "\r\n";
    }
    if (!call.body.empty()) out += "Content-Type: application/json\r\n";
    if (!call.body.empty() || call.method == "POST" || call.method == "PUT") {
        out += "Content-Length: " + std::to_string(call.body.size()) + "\r\n";
    }
    return out + "\r\n" + call.body;
}

HttpClient::Connection HttpClient::take_idle() {
    const std::lock_guard guard(mutex_);
    while (!idle_.empty()) {
        Connection connection = std::move(idle_.back());
        idle_.pop_back();
        if (connection->is_quiet()) return connection;
    }
    return nullptr;
}

void HttpClient::add_idle(Connection connection) {
    const std::lock_guard guard(mutex_);
    if (idle_.size() < idle_max) idle_.push_back(std::move(connection));
}

}  // namespace holdfast::net

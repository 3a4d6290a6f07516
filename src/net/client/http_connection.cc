#include "net/client/http_connection.h"

#include <poll.h>

#include <array>

#include "base/result.h"

namespace holdfast::net {

namespace {

using Kind = HttpFailure::Kind;

}  // namespace

HttpResult<std::unique_ptr<HttpConnection>> HttpConnection::open(const HttpAddress& address,
                                                                 const TlsTrust* trust,
                                                                 std::chrono::milliseconds timeout,
                                                                 Waiter& waiter) {
    TRY(Transport transport, dial(address, timeout, waiter));
    if (trust) transport.encrypt(*trust, address.host);
    return std::unique_ptr<HttpConnection>(
        new HttpConnection(std::move(transport), address.to_text()));
}

HttpResult<void> HttpConnection::send(std::string_view bytes, Waiter& waiter) {
    while (!bytes.empty()) {
        const IoResult sent = transport_.send(bytes);
        switch (sent.status) {
            case IoStatus::moved: bytes.remove_prefix(sent.bytes); break;
            case IoStatus::would_block: TRY(wait(transport_.send_events(), waiter)); break;
            case IoStatus::ended:
            case IoStatus::failed: return broken("closed the connection");
        }
    }
    return {};
}

HttpResult<bool> HttpConnection::read_some(HttpAnswerParser& parser, Waiter& waiter) {
    if (!input_.empty()) {
        TRY(const bool is_complete, parse_input(parser));
        if (is_complete) return true;
    }
    std::array<char, TlsStream::record_bytes_max> buffer;
    while (true) {
        const IoResult received = transport_.receive(buffer);
        switch (received.status) {
            case IoStatus::moved:
                input_.append(buffer.data(), received.bytes);
                return parse_input(parser);
            case IoStatus::would_block: TRY(wait(transport_.receive_events(), waiter)); break;
            case IoStatus::ended:
                if (parser.end()) return true;
                return broken("closed the connection");
            case IoStatus::failed: return broken("closed the connection");
        }
    }
}

HttpResult<bool> HttpConnection::parse_input(HttpAnswerParser& parser) {
    std::string_view rest = input_;
    const auto outcome = parser.parse(rest);
    input_.erase(0, input_.size() - rest.size());
    if (outcome == HttpAnswerParser::Outcome::refused) return broken("does not speak HTTP");
    return outcome == HttpAnswerParser::Outcome::complete;
}

bool HttpConnection::is_quiet() const {
    pollfd watched{.fd = transport_.descriptor(), .events = POLLIN};
    return input_.empty() && ::poll(&watched, 1, 0) == 0;
}

HttpResult<void> HttpConnection::wait(std::uint32_t events, Waiter& waiter) {
    switch (waiter.wait(transport_.descriptor(), static_cast<short>(events))) {
        case Waiter::Outcome::ready: return {};
        case Waiter::Outcome::timed_out:
            return http_failure(Kind::timed_out, server_ + " does not answer in time");
        case Waiter::Outcome::cancelled: break;
    }
    return http_failure(Kind::cancelled, "cancelled");
}

tl::unexpected<HttpFailure> HttpConnection::broken(const std::string& how) const {
    const std::string fault = transport_.certificate_fault();
    if (!fault.empty()) {
        return http_failure(Kind::certificate,
                            "the certificate of " + server_ + " is not accepted: " + fault);
    }
    return http_failure(Kind::no_answer, server_ + " " + how);
}

}  // namespace holdfast::net

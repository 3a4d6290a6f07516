#include "net/http_protocol.h"

#include <utility>

namespace holdfast::net {

namespace {

constexpr HttpFault too_slow{408, "{\"error\":\"the request did not arrive in time\"}\n"};

}  // namespace

HttpProtocol::HttpProtocol(Channel& channel, HttpHandler& handler, const HttpLimits& limits)
    : channel_(channel), handler_(handler), limits_(limits), replies_(channel, limits) {}

std::size_t HttpProtocol::on_input(std::string_view input) {
    std::size_t consumed = 0;
    while (consumed < input.size()) {
        if (replies_.closing()) return input.size();
        if (replies_.full() || channel_.congested()) break;
        const std::size_t taken = take_request(input.substr(consumed));
        if (taken == 0) break;
        consumed += taken;
    }
    return consumed;
}

// Handles the request at the front of the input. Returns the bytes it took, 0 while it is
// incomplete.
std::size_t HttpProtocol::take_request(std::string_view input) {
    if (partial_) {
        const auto outcome = partial_->parse(input);
        if (outcome == HttpParser::Outcome::need_more) return await_rest(*partial_), 0;
        return finish(*std::exchange(partial_, nullptr), outcome, input);
    }
    // A line end after a body is a common mistake, which the next request need not suffer for.
    if (input.starts_with("\r\n")) return 2;
    if (input == "\r") return 0;

    HttpParser parser(limits_);
    const auto outcome = parser.parse(input);
    if (outcome == HttpParser::Outcome::need_more) {
        partial_ = std::make_unique<HttpParser>(std::move(parser));
        return await_rest(*partial_), 0;
    }
    return finish(parser, outcome, input);
}

std::size_t HttpProtocol::finish(HttpParser& parser, HttpParser::Outcome outcome,
                                 std::string_view input) {
    if (outcome == HttpParser::Outcome::refused) {
        refuse(parser.fault());
        return input.size();
    }
    auto terms = parser.terms();
    if (channel_.draining() && parser.size() == input.size()) terms.keep_alive = false;
    HttpReply reply(replies_, terms);
    handler_.handle(parser.request(input), reply);
    if (peer_ended_) replies_.abandon();
    if (channel_.draining()) replies_.end_streams();
    return parser.size();
}

void HttpProtocol::await_rest(HttpParser& parser) {
    if (parser.take_expectation()) replies_.interim("HTTP/1.1 100 Continue\r\n\r\n");
}

void HttpProtocol::refuse(const HttpFault& fault) {
    const HttpResponse response{
        .status = fault.status, .content_type = "application/json", .body = fault.json};
    replies_.answer(response, {.keep_alive = false});
}

void HttpProtocol::on_end_of_input() {
    peer_ended_ = true;
    replies_.abandon();
}

void HttpProtocol::on_drain() {
    replies_.end_streams();
}

void HttpProtocol::on_read_timeout() {
    partial_ = nullptr;
    refuse(too_slow);
}

void HttpProtocol::on_closed() {
    replies_.detach();
}

}  // namespace holdfast::net

#include "net/http/http_protocol.h"

#include <utility>

namespace holdfast::net {

namespace {

constexpr HttpFault too_slow{408,
                             "{\"error\":\"the request did not arrive in time\",\"message\":"
                             "\"The rest of the request was waited for in vain\"}\n"};

constexpr HttpFault no_room{
    503,
    "{\"error\":\"the server has no room for this body\",\"message\":\"The bodies of requests that "
    "are arriving fill the memory that the server has for them. Try again\"}\n"};

// A refused body of at most this size is skipped, so that the connection can go on.
constexpr std::uint64_t skipped_bytes_max = 256 * 1024;

// Skips a body that is of no use.
class NoSink final : public BodySink {
    void on_piece(std::string_view /*piece*/) override {}
    void on_whole() override {}
    void on_fault(const HttpFault& /*fault*/) override {}
    [[nodiscard]] bool is_congested() const override { return false; }
};

}  // namespace

// Keeps a header, and the body behind it as it arrives.
class HttpProtocol::Gatherer final : public BodySink {
  public:
    Gatherer(std::string_view header, const HttpLimits& limits) : limits_(limits), header_(header) {
        has_room_ = take(header.size());
    }
    ~Gatherer() override {
        if (limits_.bodies != nullptr) limits_.bodies->give_back(taken_);
    }

    void on_piece(std::string_view piece) override {
        has_room_ = has_room_ && take(piece.size());
        if (has_room_) body_.append(piece);
    }
    void on_whole() override {}
    void on_fault(const HttpFault& /*fault*/) override {}
    [[nodiscard]] bool is_congested() const override { return false; }

    // So many bytes have arrived. Tiny chunks and long extensions may make a small body large.
    void count_raw(std::size_t bytes) { raw_bytes_ += bytes; }

    // Why the body is not gathered any further; null: it is.
    [[nodiscard]] const HttpFault* fault() const {
        if (!has_room_) return &no_room;
        const bool is_blown_up = raw_bytes_ > 2 * limits_.body_bytes_max + limits_.header_bytes_max;
        return is_blown_up ? &faults::body_too_big : nullptr;
    }

    [[nodiscard]] const std::string& header() const { return header_; }
    [[nodiscard]] const std::string& body() const { return body_; }

  private:
    bool take(std::size_t bytes) {
        if (limits_.bodies == nullptr) return true;
        if (!limits_.bodies->take(bytes)) return false;
        taken_ += bytes;
        return true;
    }

    const HttpLimits& limits_;
    const std::string header_;
    std::string body_;
    std::size_t raw_bytes_ = 0;
    std::size_t taken_ = 0;
    bool has_room_ = true;
};

HttpProtocol::HttpProtocol(Channel& channel, HttpHandler& handler, const HttpLimits& limits)
    : channel_(channel),
      handler_(handler),
      unknown_route_(handler.unknown_route()),
      limits_(limits),
      client_(channel),
      replies_(channel, limits) {}

HttpRequest HttpProtocol::request_of(const HttpParser& parser, std::string_view input) const {
    HttpRequest request = parser.request(input);
    request.client = &client_;
    return request;
}

std::size_t HttpProtocol::on_input(std::string_view input) {
    std::size_t consumed = 0;
    replies_.note_input();
    while (consumed < input.size()) {
        if (replies_.closing() && !body_) return input.size();  // a last request may have a body
        if (channel_.should_return()) break;
        if (!body_ && replies_.pause_if_full()) break;
        const std::size_t taken = take_request(input.substr(consumed));
        if (taken == 0) break;
        consumed += taken;
    }
    replies_.note_durations();
    return consumed;
}

// Handles the request at the front of the input. Returns its size; 0 while it is incomplete.
std::size_t HttpProtocol::take_request(std::string_view input) {
    if (body_) return take_body(input);
    if (!partial_) {
        // Some clients send a line end after a body. It is skipped.
        if (input.starts_with("\r\n")) return 2;
        if (input == "\r") return 0;
    }
    std::unique_ptr<HttpParser> begun = std::exchange(partial_, nullptr);
    HttpParser fresh(limits_, &known_fields_);
    HttpParser& parser = begun ? *begun : fresh;
    auto outcome = parser.parse_header(input);
    if (outcome == HttpParser::Outcome::complete) {
        if (handler_.takes_pieces(parser.method(), parser.target()))
            return begin_body(parser, input);
        outcome = parser.parse(input);
        if (outcome == HttpParser::Outcome::need_more) return begin_rest(parser, input);
    }
    if (outcome != HttpParser::Outcome::need_more) return finish(parser, outcome, input);
    partial_ = begun ? std::move(begun) : std::make_unique<HttpParser>(std::move(fresh));
    return 0;
}

std::size_t HttpProtocol::finish(HttpParser& parser, HttpParser::Outcome outcome,
                                 std::string_view input) {
    if (outcome == HttpParser::Outcome::refused) {
        refuse(parser.fault());
        return input.size();
    }
    auto terms = terms_of(parser);
    if (channel_.draining() && parser.size() == input.size()) terms.keep_alive = false;
    HttpReply reply(replies_, std::move(terms));
    handler_.handle(request_of(parser, input), reply);
    if (peer_ended_) replies_.abandon();
    if (channel_.draining()) replies_.end_streams();
    return parser.size();
}

// The header of a request whose body comes in pieces is complete. Returns the header's size.
std::size_t HttpProtocol::begin_body(HttpParser& parser, std::string_view input) {
    const bool is_empty = parser.body_size() == 0;
    const bool is_short = parser.body_size() && *parser.body_size() <= skipped_bytes_max;
    HttpReply reply(replies_, terms_of(parser),
                    is_short && (is_empty || !parser.has_expectation()));
    auto sink = handler_.receive(request_of(parser, input), reply, *this);
    if (!sink) {
        sink = std::make_unique<NoSink>();
    }
    const std::size_t size = parser.header_size();
    if (is_empty) {  // no piece will come, so no `100 Continue` is needed
        sink->on_whole();
        if (peer_ended_) replies_.abandon();
        return size;
    }
    body_ = std::make_unique<Body>(Body{std::move(parser), std::move(sink)});
    body_->pace.run(channel_.now());
    if (body_->parser.has_expectation()) invite_body();
    return size;
}

// The header of a request is complete, and its body is not. Returns the header's size.
std::size_t HttpProtocol::begin_rest(HttpParser& parser, std::string_view input) {
    const std::size_t size = parser.header_size();
    const bool is_short = parser.body_size() && *parser.body_size() <= skipped_bytes_max;
    HttpTerms terms = terms_of(parser);
    // What a client sends that has been answered instead of invited, nobody knows.
    if (!is_short || parser.has_expectation()) terms.keep_alive = false;
    HttpReply reply(replies_, std::move(terms));
    HttpRequest head = request_of(parser, input);
    head.body = {};
    const bool is_wanted = handler_.wants_body(head, reply);
    body_ = std::make_unique<Body>(Body{std::move(parser), nullptr});
    if (is_wanted) {
        auto gatherer = std::make_unique<Gatherer>(input.substr(0, size), limits_);
        body_->gatherer = gatherer.get();
        body_->parser.move_header_to(gatherer->header());
        body_->sink = std::move(gatherer);
        if (body_->parser.take_expectation()) replies_.interim("HTTP/1.1 100 Continue\r\n\r\n");
    } else {
        body_->sink = std::make_unique<NoSink>();
        if (peer_ended_) replies_.abandon();
    }
    body_->pace.run(channel_.now());
    return size;
}

// Answers a client that has asked whether to send its body, or lets it wait for the answer.
void HttpProtocol::invite_body() {
    const bool is_answered = replies_.empty();
    if (is_answered || !body_->sink->is_wanted()) {
        if (!is_answered) replies_.close_after_last();  // the client may send the body or not
    } else if (body_->sink->is_congested()) {
        pause_body();
        return;
    } else {
        replies_.interim_to_last("HTTP/1.1 100 Continue\r\n\r\n");
    }
    static_cast<void>(body_->parser.take_expectation());
}

void HttpProtocol::pause_body() {
    is_body_paused_ = true;
    body_->pace.pause(channel_.now());
    channel_.pause();
}

// Gives the sink the part of its body that is there. Returns the size of that part.
std::size_t HttpProtocol::take_body(std::string_view input) {
    if (body_->sink->is_congested()) return pause_body(), 0;
    std::string_view rest = input;
    Gatherer* const gatherer = body_->gatherer;
    const auto outcome = gatherer != nullptr
                             ? body_->parser.parse_piece(rest, *gatherer, limits_.body_bytes_max)
                             : body_->parser.parse_piece(rest, *body_->sink);
    const std::size_t taken = input.size() - rest.size();
    body_->pace.count(taken);
    if (gatherer != nullptr) gatherer->count_raw(taken);
    if (outcome == HttpParser::Outcome::refused) {
        fail_body(body_->parser.fault());
    } else if (gatherer != nullptr && gatherer->fault() != nullptr) {
        fail_body(*gatherer->fault());
    } else if (outcome == HttpParser::Outcome::complete) {
        end_body(rest.empty());
    } else if (is_too_slow(*body_)) {
        fail_body(too_slow);
    }
    return taken;
}

bool HttpProtocol::is_too_slow(const Body& body) const {
    BodyPaceLimits limits = limits_.body_pace;
    if (body.gatherer != nullptr) limits.bytes_per_second_min = UINT64_MAX;
    return body.pace.is_too_slow(limits, channel_.now());
}

// The body is whole. With `is_last`, no other request has arrived behind it.
void HttpProtocol::end_body(bool is_last) {
    const auto body = std::exchange(body_, nullptr);
    if (const Gatherer* const gatherer = body->gatherer) {
        HttpRequest request = request_of(body->parser, gatherer->header());
        request.body = gatherer->body();
        HttpTerms terms = terms_of(body->parser);
        if (channel_.draining() && is_last) terms.keep_alive = false;
        HttpReply reply(replies_, std::move(terms));
        handler_.handle(request, reply);
    } else {
        body->sink->on_whole();
    }
    if (peer_ended_) replies_.abandon();
    if (body->gatherer != nullptr && channel_.draining()) replies_.end_streams();
}

// The body will never be whole, although the connection lives.
void HttpProtocol::fail_body(const HttpFault& fault) {
    const auto body = std::exchange(body_, nullptr);
    is_body_paused_ = false;
    if (body->gatherer != nullptr) return refuse(fault);
    if (!replies_.empty()) replies_.close_after_last();
    replies_.refuse_more();  // nobody knows where the next request would begin
    body->sink->on_fault(fault);
    if (replies_.empty()) channel_.close_after_flush();  // it was answered before
}

void HttpProtocol::resume() {
    if (!std::exchange(is_body_paused_, false)) return;
    channel_.resume();
    if (!body_) return;
    body_->pace.run(channel_.now());
    if (body_->parser.has_expectation()) invite_body();
}

void HttpProtocol::refuse(const HttpFault& fault) {
    const HttpResponse response{
        .status = fault.status, .content_type = "application/json", .body = fault.json};
    replies_.answer(response,
                    {.keep_alive = false, .counts = unknown_route_, .begun = channel_.now()});
}

// Until a handler says otherwise, the request has no route.
HttpTerms HttpProtocol::terms_of(const HttpParser& parser) const {
    HttpTerms terms = parser.terms();
    terms.counts = unknown_route_;
    terms.begun = channel_.now();
    return terms;
}

void HttpProtocol::on_end_of_input() {
    peer_ended_ = true;
    if (!body_ || body_->gatherer != nullptr) replies_.abandon();
}

void HttpProtocol::on_end_of_data() {
    if (!body_) return;
    body_.reset();
    replies_.abandon();
}

void HttpProtocol::on_drain() {
    replies_.end_streams();
}

void HttpProtocol::on_read_timeout() {
    if (body_) {
        fail_body(too_slow);
    } else {
        partial_ = nullptr;
        refuse(too_slow);
    }
    replies_.note_durations();
}

void HttpProtocol::on_closed() {
    body_.reset();
    replies_.detach();
}

}  // namespace holdfast::net

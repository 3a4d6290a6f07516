#pragma once

// What http_fuzzer puts behind an HTTP connection: a handler that answers in every way there is,
// and remembers what it has answered.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/check.h"
#include "net/http/http_protocol.h"
#include "net/loop/test_channel.h"

namespace holdfast::net {

inline constexpr HttpLimits small_limits{.header_bytes_max = 600,
                                         .body_bytes_max = 300,
                                         .pending_max = 6,
                                         .waiting_bytes_max = 500,
                                         .unknown_answer_bytes = 100};

// A request that was handled, and what its answer must be.
struct Exchange {
    std::string method, target;
    std::optional<std::string> request_body;  // if it came to be whole
    std::string number;                       // in the answer's X-N
    std::string body;                         // of the answer, as far as it was sent
    bool is_dropped = false;                  // the reply was destroyed: the answer is a 500
    DeferredReply deferred;
    StreamedReply stream;
    std::uint64_t bytes_to_come = 0;  // of those that a stream has announced
};

// Answers by the first letter of the path: n at once, e at once without a body, f never, s with a
// stream, d whenever the script says. PUT and PATCH are taken in pieces; r refuses those at once.
class FuzzHandler final : public HttpHandler {
  public:
    FuzzHandler(TestChannel& channel, bool is_prompt) : channel_(channel), is_prompt_(is_prompt) {}
    ~FuzzHandler() { CHECK(sinks == 0); }

    void handle(const HttpRequest& request, HttpReply& reply) override {
        Exchange& exchange = begin(request);
        exchange.request_body = request.body;
        switch (kind_of(request)) {
            case 'f': exchange.is_dropped = true; return;
            case 'e': return reply.send(204, "", "", {{"X-N", exchange.number}});
            case 's': return stream(exchange, reply);
            case 'd': return defer(exchange, reply);
            default: exchange.body = body_of(exchange);
        }
        reply.send(200, "text/plain", exchange.body, {{"X-N", exchange.number}});
    }

    bool takes_pieces(std::string_view method, std::string_view /*target*/) const override {
        return method == "PUT" || method == "PATCH";
    }

    std::unique_ptr<BodySink> receive(const HttpRequest& request, HttpReply& reply,
                                      BodySource& source) override {
        Exchange& exchange = begin(request);
        if (kind_of(request) == 'r') {
            exchange.body = "refused";
            reply.send(423, "", exchange.body, {{"X-N", exchange.number}});
            return nullptr;
        }
        exchange.deferred = reply.defer(on_abandoned(exchange));
        return std::make_unique<Sink>(*this, exchange, source);
    }

    class Sink final : public BodySink {
      public:
        Sink(FuzzHandler& handler, Exchange& exchange, BodySource& source)
            : handler_(handler), exchange_(exchange), source_(source) {
            handler_.sink = this;
            ++handler_.sinks;
        }
        ~Sink() override {
            if (handler_.sink == this) handler_.sink = nullptr;
            --handler_.sinks;
        }
        void on_piece(std::string_view piece) override {
            CHECK(!piece.empty() && !is_congested());
            received_.append(piece);
        }
        void on_whole() override {
            exchange_.request_body = received_;
            if (handler_.is_prompt_) handler_.answer(exchange_);
        }
        void on_fault(const HttpFault& fault) override {
            if (!exchange_.deferred) return;
            exchange_.body = fault.json;
            exchange_.deferred.send(fault.status, "application/json", fault.json,
                                    {{"X-N", exchange_.number}});
        }
        bool is_congested() const override { return handler_.is_congested && !is_over_; }
        bool is_wanted() const override { return !is_over_; }

        void resume() { source_.resume(); }
        // Answers before the body is whole.
        void conclude(bool closes) {
            if (!exchange_.deferred) return;
            is_over_ = true;
            source_.resume();
            if (closes) exchange_.deferred.close_after();
            handler_.answer(exchange_);
        }

      private:
        FuzzHandler& handler_;
        Exchange& exchange_;
        BodySource& source_;
        std::string received_;
        bool is_over_ = false;
    };

    void answer(Exchange& exchange) {
        if (!exchange.deferred) return;
        exchange.body = body_of(exchange);
        exchange.deferred.send(200, "text/plain", exchange.body, {{"X-N", exchange.number}});
    }

    void drop(Exchange& exchange) {
        if (!exchange.deferred) return;
        exchange.is_dropped = true;
        exchange.deferred = {};
    }

    // Turns a deferred reply into a stream, which announces its length or not.
    void begin_stream(Exchange& exchange, bool has_length) {
        if (!exchange.deferred) return;
        const HttpHeader headers[] = {{"X-N", exchange.number}};
        const std::uint64_t length = body_of(exchange).size();
        StreamOptions options{.on_abandoned = on_abandoned(exchange)};
        if (has_length) options.length = length;
        exchange.stream = exchange.deferred.stream(200, "text/plain", headers, std::move(options));
        if (has_length && exchange.stream) exchange.bytes_to_come = length;
    }

    void send_piece(Exchange& exchange, std::size_t bytes) {
        if (!exchange.stream) return;
        if (exchange.bytes_to_come > 0) {
            bytes = std::min<std::size_t>(bytes, exchange.bytes_to_come);
            exchange.bytes_to_come -= bytes;
        }
        const std::string piece(bytes, 'p');
        exchange.body += piece;
        static_cast<void>(exchange.stream.is_congested());
        exchange.stream.send(piece);
    }

    void send_piece_when_there_is_room(Exchange& exchange) {
        if (!exchange.stream) return;
        exchange.stream.call_when_sent([this, &exchange] { send_piece(exchange, 7); });
    }

    // `cuts`: even if fewer bytes were sent than were announced.
    void end_stream(Exchange& exchange, bool cuts) {
        if (!exchange.stream) return;
        if (!cuts) send_piece(exchange, exchange.bytes_to_come);
        exchange.stream.end();
    }

    void answer_everything() {
        for (const auto& exchange : exchanges) {
            answer(*exchange);
            end_stream(*exchange, false);
        }
    }

    std::vector<std::unique_ptr<Exchange>> exchanges;
    Sink* sink = nullptr;  // of the body that is being taken
    int sinks = 0;
    bool is_congested = false;

  private:
    static char kind_of(const HttpRequest& request) {
        return request.path.size() > 1 ? request.path[1] : 'n';
    }

    // Long enough that a few of them are too many bytes to wait.
    static std::string body_of(const Exchange& exchange) {
        const std::size_t bytes = exchange.number.back() % 2 == 0 ? 150 : 3;
        return exchange.number + std::string(bytes, 'x');
    }

    Exchange& begin(const HttpRequest& request) {
        const bool is_waiting =
            std::any_of(exchanges.begin(), exchanges.end(),
                        [](const auto& one) { return one->deferred || one->stream; });
        if (is_waiting) {
            CHECK(channel_.has_room);
            CHECK(channel_.waiting_bytes <=
                  static_cast<std::ptrdiff_t>(small_limits.waiting_bytes_max));
        }
        exchanges.push_back(std::make_unique<Exchange>());
        Exchange& exchange = *exchanges.back();
        exchange.method = request.method;
        exchange.target = request.target;
        exchange.number = std::to_string(exchanges.size());
        CHECK(!request.path.empty());
        return exchange;
    }

    void defer(Exchange& exchange, HttpReply& reply) {
        exchange.deferred = reply.defer(on_abandoned(exchange));
        if (is_prompt_) answer(exchange);
    }

    void stream(Exchange& exchange, HttpReply& reply) {
        exchange.stream =
            reply.stream(200, "text/plain", {{"X-N", exchange.number}}, on_abandoned(exchange));
        if (is_prompt_) exchange.stream.end();
    }

    // Some answer, or let go of their reply, when nobody waits for it.
    std::function<void()> on_abandoned(Exchange& exchange) {
        return [this, &exchange] {
            switch (exchange.number.back() % 4) {
                case 0: answer(exchange); return;
                case 1: drop(exchange); return;
                case 2: end_stream(exchange, true); return;
                default: return;
            }
        };
    }

    TestChannel& channel_;
    const bool is_prompt_;
};

}  // namespace holdfast::net

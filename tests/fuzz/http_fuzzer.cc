// http_fuzzer: any bytes on an HTTP connection, cut anywhere, answered in any order.
//
// An input is a script and a stream: the first byte says how many bytes of script follow, the rest
// is what the peer sends. The script cuts the stream into pieces and says what happens between
// them: replies are given, dropped or streamed, the peer stops reading, a body's sink is congested,
// the server drains, the peer goes away. Whatever happens, every request that was handled has one
// well-formed answer, in the order of the requests, until the connection closes; the requests are
// those that a stream in one piece has; nothing is counted as waiting when nothing waits; and
// Boost.Beast understands the same requests, except for those that are refused on purpose.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "base/check.h"
#include "http_fuzz_handler.h"
#include "net/http/http_answer.h"
#include "net/http/http_protocol.h"
#include "net/loop/test_channel.h"
#include "net/syntax/beast_request.h"

namespace holdfast::net {
namespace {

constexpr std::string_view interim = "HTTP/1.1 100 Continue\r\n\r\n";

// A connection between the handler and a peer that remembers what it was sent.
class Run {
  public:
    explicit Run(bool is_prompt) : handler_(channel_, is_prompt) {}

    [[nodiscard]] const FuzzHandler& handler() const { return handler_; }

    void feed(std::string_view bytes) {
        if (is_ended_ || channel_.closed) return;
        channel_.feed(*protocol_, bytes);
        check();
    }

    // Does what a byte of the script says to the exchange that it names. Returns how many bytes of
    // the stream arrive then.
    std::size_t step(std::uint8_t byte) {
        const std::size_t argument = byte >> 4U;
        switch (byte & 15U) {
            case 0: return argument + 1;
            case 1: return 16 * (argument + 1);
            case 2: with_exchange(argument, [&](Exchange& one) { handler_.answer(one); }); break;
            case 3: with_exchange(argument, [&](Exchange& one) { handler_.drop(one); }); break;
            case 4:
                with_exchange(argument / 2, [&](Exchange& one) {
                    handler_.begin_stream(one, argument % 2 == 0);
                });
                break;
            case 5:
                with_exchange(argument, [&](Exchange& one) { handler_.send_piece(one, byte); });
                break;
            case 6:
                with_exchange(argument / 2,
                              [&](Exchange& one) { handler_.end_stream(one, argument % 2 == 0); });
                break;
            case 7:
                with_exchange(argument,
                              [&](Exchange& one) { handler_.send_piece_when_there_is_room(one); });
                break;
            case 8: set_congestion(argument); break;
            case 9: change_peer(argument); break;
            case 10:
                if (handler_.sink != nullptr) handler_.sink->conclude(argument % 2 == 0);
                break;
            default: offer(); break;
        }
        check();
        return 0;
    }

    // Everything is answered, and everything is read; then the peer goes.
    void finish() {
        set_congestion(0);
        answer_everything();
        if (!channel_.closed) {
            CHECK(channel_.waiting_bytes == 0);
            end_input();
            answer_everything();
            if (!channel_.closed) protocol_->on_end_of_data();
            answer_everything();
            CHECK(channel_.closed || protocol_->idle());
        }
        is_finished_ = true;
        close();
    }

    // The connection is gone; the replies may outlive it.
    void close() {
        protocol_->on_closed();
        CHECK(channel_.waiting_bytes == 0);
        received_ += std::exchange(channel_.sent, {});
        channel_.closed = true;
        handler_.answer_everything();
        CHECK(channel_.sent.empty());
        protocol_.reset();
        check_answers();
    }

  private:
    void check_answers() {
        std::string_view rest = received_;
        std::size_t answered = 0;
        bool is_closed = false;
        while (!rest.empty()) {
            while (rest.starts_with(interim)) rest.remove_prefix(interim.size());
            if (rest.empty()) break;
            CHECK(!is_closed);
            Exchange* const one =
                answered < handler_.exchanges.size() ? handler_.exchanges[answered].get() : nullptr;
            is_closed = !check_answer(rest, one);
            ++answered;
        }
        CHECK(is_closed || !is_finished_ || answered >= handler_.exchanges.size());
    }

    // Until nothing moves any more.
    void answer_everything() {
        std::size_t held = SIZE_MAX, received = 0;
        while (held != channel_.held.size() || received != received_.size()) {
            held = channel_.held.size();
            received = received_.size();
            handler_.answer_everything();
            channel_.resume();  // as when there is room for waiting answers again
            offer();
        }
    }

    template <class Function>
    void with_exchange(std::size_t index, Function function) {
        if (index < handler_.exchanges.size()) function(*handler_.exchanges[index]);
    }

    void set_congestion(std::size_t flags) {
        channel_.is_congested = (flags & 1U) != 0;
        channel_.has_room = (flags & 2U) == 0;
        channel_.requests_per_turn = (flags & 4U) != 0 ? 1 : -1;
        const bool was_congested = handler_.is_congested;
        handler_.is_congested = (flags & 8U) != 0;
        if (was_congested && !handler_.is_congested && handler_.sink != nullptr)
            handler_.sink->resume();
    }

    void change_peer(std::size_t what) {
        if (channel_.closed) return;
        switch (what % 4) {
            case 0: end_input(); break;
            case 1:
                if (std::exchange(channel_.is_draining, true)) break;
                protocol_->on_drain();
                break;
            case 2: time_out(); break;
            default: take_output(); break;
        }
    }

    void end_input() {
        if (std::exchange(is_ended_, true)) return;
        protocol_->on_end_of_input();
    }

    // A connection does this once for the same bytes, and not while it holds the input back.
    void time_out() {
        const bool is_partial = !channel_.held.empty() && !channel_.paused &&
                                !channel_.is_congested && channel_.requests_per_turn < 0;
        if (is_ended_ || std::exchange(is_timed_out_, true)) return;
        if (is_partial || protocol_->awaits_input()) protocol_->on_read_timeout();
    }

    void offer() {
        take_output();
        channel_.offer(*protocol_);
        take_output();
    }

    // The peer reads everything there is.
    void take_output() {
        do {
            received_ += std::exchange(channel_.sent, {});
        } while (protocol_ && !channel_.closed && protocol_->on_output_sent());
        received_ += std::exchange(channel_.sent, {});
    }

    void check() const {
        CHECK(channel_.waiting_bytes >= 0);
        CHECK(!protocol_->idle() || channel_.waiting_bytes == 0);
    }

    // Checks the answer at the front, and takes it off. Returns whether others may follow. Without
    // an exchange it must be the protocol's own refusal.
    bool check_answer(std::string_view& rest, Exchange* one) {
        HttpAnswerParser parser({.is_to_head = one != nullptr && one->method == "HEAD",
                                 .body_bytes_max = {},
                                 .on_body = {}});
        const auto outcome = parser.parse(rest);
        CHECK(outcome != HttpAnswerParser::Outcome::refused);
        const HttpAnswer& answer = parser.answer();
        const bool is_whole = outcome == HttpAnswerParser::Outcome::complete || parser.end();
        if (!is_whole) {
            CHECK(one != nullptr && (one->bytes_to_come > 0 || !is_finished_));
            rest = {};
            return false;
        }
        const auto number = answer.header("X-N");
        const bool closes = answer.header("Connection").value_or("") == "close";
        if (!number && one != nullptr && one->is_dropped) {
            CHECK(answer.status == 500);
        } else if (!number) {
            CHECK(answer.status >= 400 && closes);
            CHECK(one == nullptr);
        } else {
            CHECK(one != nullptr && *number == one->number);
            CHECK(one->method == "HEAD" || answer.body == one->body);
        }
        CHECK(!closes || rest.empty());
        return !closes;
    }

    TestChannel channel_;
    FuzzHandler handler_;
    const HttpLimits limits_ = small_limits;
    std::unique_ptr<HttpProtocol> protocol_ =
        std::make_unique<HttpProtocol>(channel_, handler_, limits_);
    std::string received_;
    bool is_ended_ = false;
    bool is_timed_out_ = false;
    bool is_finished_ = false;
};

// Every request that the cut stream has is a request of the whole one.
void compare(const FuzzHandler& cut, const FuzzHandler& whole) {
    CHECK(cut.exchanges.size() <= whole.exchanges.size());
    for (std::size_t i = 0; i < cut.exchanges.size(); ++i) {
        const Exchange& one = *cut.exchanges[i];
        const Exchange& other = *whole.exchanges[i];
        CHECK(one.method == other.method && one.target == other.target);
        CHECK(!one.request_body || one.request_body == other.request_body);
    }
}

// Beast understands every request of the stream alike.
void compare_parsers(std::string_view stream) {
    const HttpLimits limits{.header_bytes_max = 60'000, .body_bytes_max = 60'000};
    if (stream.size() >= limits.header_bytes_max) return;
    while (!stream.empty()) {
        CHECK(!compare_with_beast(stream, limits));
        HttpParser parser(limits);
        if (parser.parse(stream) != HttpParser::Outcome::complete) return;
        stream.remove_prefix(parser.size());
    }
}

void run(std::string_view input) {
    if (input.empty()) return;
    const std::size_t script_bytes = static_cast<unsigned char>(input.front());
    input.remove_prefix(1);
    const std::string_view script = input.substr(0, script_bytes);
    const std::string_view stream = input.substr(script.size());
    compare_parsers(stream);
    Run whole(true);
    whole.feed(stream);
    whole.finish();
    Run cut(false);
    std::string_view rest = stream;
    for (const char byte : script) {
        const std::size_t bytes = cut.step(static_cast<std::uint8_t>(byte));
        cut.feed(rest.substr(0, bytes));
        rest.remove_prefix(std::min(bytes, rest.size()));
    }
    cut.feed(rest);
    // The peer may be gone at any moment.
    script.ends_with('\xff') ? cut.close() : cut.finish();
    compare(cut.handler(), whole.handler());
}

}  // namespace
}  // namespace holdfast::net

// The name is libFuzzer's. NOLINTNEXTLINE(readability-identifier-naming)
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    holdfast::net::run({reinterpret_cast<const char*>(data), size});
    return 0;
}

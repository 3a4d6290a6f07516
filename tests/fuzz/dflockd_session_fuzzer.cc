// dflockd_session_fuzzer: several connections at a dflockd door, with the real protocol and the
// real service, in virtual time; every answer is compared with that of a naive model.
//
// The input is a script. Its first byte chooses the server; then each step is a byte that says what
// happens on which connection, and the bytes that step needs (see Script). Requests are made from
// choices, so that most of them make sense, or are any bytes; they arrive whole or in pieces.
//
// Checked after every piece: each connection has been told exactly what the model says, line by
// line; tokens are well-formed, never given twice, and grow in the order of the grants; the server
// closes the connections that the model says. In the end all connections close, and nothing is
// left.

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/check.h"
#include "dflockd_model.h"
#include "doors/dflockd/dflockd_protocol.h"
#include "net/loop/test_channel.h"
#include "service/lock_service.h"
#include "service/ports/test_executor.h"
#include "service/test_store.h"

namespace holdfast::fuzz {
namespace {

using doors::dflockd::DflockdContext;
using doors::dflockd::DflockdDoor;
using doors::dflockd::DflockdProtocol;

constexpr int connections_max = 3;
constexpr std::string_view the_secret = "open sesame";

// The input, byte by byte; zeros when it is used up.
class Script {
  public:
    explicit Script(std::string_view input) : rest_(input) {}

    [[nodiscard]] bool empty() const { return rest_.empty(); }
    std::size_t byte() {
        if (rest_.empty()) return 0;
        const auto value = static_cast<unsigned char>(rest_.front());
        rest_.remove_prefix(1);
        return value;
    }
    std::string_view bytes(std::size_t count) {
        const std::string_view taken = rest_.substr(0, count);
        rest_.remove_prefix(taken.size());
        return taken;
    }

  private:
    std::string_view rest_;
};

// Not to be guessed from the tokens before.
std::uint64_t next_secret(std::uint64_t& state) {
    state += 0x9e3779b97f4a7c15;
    std::uint64_t mixed = state;
    mixed = (mixed ^ (mixed >> 30)) * 0xbf58476d1ce4e5b9;
    mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111eb;
    return mixed ^ (mixed >> 31);
}

// A connection without a socket.
struct Line {
    int life = 0;  // how many connections came before it in its place
    net::TestChannel channel = {};
    std::unique_ptr<DflockdProtocol> protocol = nullptr;
    std::size_t piece = 0;  // bytes that arrive together; 0: all
    bool has_stopped_sending = false;
};

class Session {
  public:
    Session(std::string secret, std::size_t waiters_max)
        : gate_({.auth = secret}),
          door_({.refusal_delay = std::chrono::milliseconds{0},
                 .auth_timeout = std::chrono::hours{24}},
                gate_),
          service_({.limits = {.waiters_per_lock_max = waiters_max}},
                   {.clock = clock_,
                    .store = store_,
                    .executor = executor_,
                    .random = [this] { return next_secret(random_); },
                    .on_changes = {}}),
          model_({.secret = std::move(secret), .waiters_max = waiters_max}) {
        service_.recover(
            [](const service::StoreResult<service::Recovered>& result) { CHECK(result); });
        for (int i = 0; i < connections_max; ++i) connect(i);
    }
    ~Session() {
        for (int i = 0; i < connections_max; ++i) disconnect(i);
        settle();
        const core::TableCounts counts = service_.counts();
        CHECK(counts.sessions + counts.leases + counts.waiters + counts.locks == 0);
    }
    Session(const Session&) = delete;
    Session& operator=(const Session&) = delete;

    void set_piece(int number, std::size_t piece) { line(number).piece = piece; }

    void send(int number, std::string_view bytes) {
        const std::size_t piece = line(number).piece == 0 ? bytes.size() : line(number).piece;
        const int life = line(number).life;
        while (!bytes.empty() && life == line(number).life && !line(number).has_stopped_sending) {
            const std::string_view part = bytes.substr(0, piece);
            bytes.remove_prefix(part.size());
            line(number).channel.feed(*line(number).protocol, part);
            model_.send(number, part);
            compare_all();
        }
    }

    void stop_sending(int number) {
        if (std::exchange(line(number).has_stopped_sending, true)) return;
        line(number).protocol->on_end_of_input();
        model_.stop_sending(number);
        compare_all();
    }

    void reconnect(int number) {
        disconnect(number);
        connect(number);
        compare_all();
    }

    void pass(std::size_t seconds) {
        for (; seconds > 0; --seconds) {
            clock_.advance(std::chrono::seconds{1});
            executor_.ring();
            model_.pass_second();
            compare_all();
        }
    }

    // One of the tokens that were told, or none of them.
    [[nodiscard]] std::string choose_token(std::size_t choice) const {
        if (tokens_.empty() || choice % 8 == 7) return std::string(32, '0');
        return tokens_[choice % tokens_.size()];
    }

  private:
    Line& line(int number) { return lines_[static_cast<std::size_t>(number)]; }

    void connect(int number) {
        line(number) = {.life = line(number).life + 1};
        line(number).protocol = std::make_unique<DflockdProtocol>(
            line(number).channel, DflockdContext{door_, service_, loop()});
        model_.connect(number);
    }

    void disconnect(int number) {
        line(number).protocol->on_closed();
        line(number).protocol.reset();
        model_.close(number);
    }

    // Its timers fire when they are looked at; nothing here waits for them.
    static net::EventLoop& loop() {
        static net::EventLoop only;
        return only;
    }

    // Lets everything be told that is known, and everything be done that was held back.
    void settle() {
        for (bool has_moved = true; has_moved;) {
            has_moved = false;
            executor_.settle();
            if (!gate_.current()->is_open()) loop().context().poll();
            for (Line& each : lines_) {
                if (!each.protocol) continue;
                const std::size_t held = each.channel.held.size(), sent = each.channel.sent.size();
                each.channel.offer(*each.protocol);
                has_moved |= held != each.channel.held.size() || sent != each.channel.sent.size();
            }
        }
        model_.settle();
    }

    // Compares, and replaces the connections that have closed, until none has: what one held goes
    // to others, who go on.
    void compare_all() {
        for (bool has_closed = true; has_closed;) {
            has_closed = false;
            settle();
            for (int i = 0; i < connections_max; ++i) compare(i);
            for (int i = 0; i < connections_max; ++i) {
                CHECK(line(i).channel.closed == model_.is_closed(i));
                if (!line(i).channel.closed) continue;
                has_closed = true;
                disconnect(i);
                connect(i);
            }
        }
    }

    void compare(int number) {
        std::string_view sent = line(number).channel.sent;
        for (const Answer& expected : model_.take_answers(number)) {
            const auto end = sent.find('\n');
            CHECK(end != std::string_view::npos);
            compare(expected, sent.substr(0, end));
            sent.remove_prefix(end + 1);
        }
        CHECK(sent.empty());
        line(number).channel.sent.clear();
    }

    void compare(const Answer& expected, std::string_view told) {
        switch (expected.kind) {
            case Answer::Kind::line: CHECK(told == expected.text); return;
            case Answer::Kind::stats:
                CHECK(told.starts_with("ok {\"connections\":" + std::to_string(expected.number) +
                                       ","));
                CHECK(told.ends_with("}"));
                return;
            case Answer::Kind::grant: break;
        }
        const std::string word = expected.text + " ";
        const std::string lease = " " + std::to_string(expected.number);
        CHECK(told.size() == word.size() + 32 + lease.size());
        CHECK(told.starts_with(word) && told.ends_with(lease));
        hear_token(expected.grant, std::string(told.substr(word.size(), 32)));
    }

    void hear_token(std::size_t number, const std::string& token) {
        CHECK(token.find_first_not_of("0123456789abcdef") == std::string::npos);
        const Grant& grant = model_.grants()[number];
        if (!grant.token.empty()) {  // `w` repeats what `e` told
            CHECK(grant.token == token);
            return;
        }
        model_.learn(number, token);
        tokens_.push_back(token);
        for (std::size_t i = 0; i < model_.grants().size(); ++i) {
            const Grant& other = model_.grants()[i];
            if (i == number || other.token.empty()) continue;
            CHECK(other.token.substr(0, 16) != token.substr(0, 16));
            if (other.step == grant.step && other.key != grant.key) continue;
            CHECK((i < number) == (other.token.substr(0, 16) < token.substr(0, 16)));
        }
    }

    service::ManualClock clock_{service::WallTime{std::chrono::hours{24 * 365 * 54}}};
    service::testing::TestStore store_{true};
    service::testing::ManualExecutor executor_;
    std::uint64_t random_ = 0;
    const rights::TokenSource gate_;
    DflockdDoor door_;
    service::LockService service_;
    DflockdModel model_;
    std::array<Line, connections_max> lines_;
    std::vector<std::string> tokens_;
};

// A request that mostly makes sense.
std::string choose_request(Script& script, const Session& session) {
    static constexpr std::array<std::string_view, 13> verbs{
        "l", "l", "e", "w", "r", "n", "sl", "se", "sw", "sr", "sn", "ping", "stats"};
    static constexpr std::array<std::string_view, 4> line_ends{"\n", "\n", "\r\n", "\r\r\n"};
    const std::size_t verb_choice = script.byte(), key_choice = script.byte();
    const std::size_t style = script.byte(), value = script.byte();
    const std::string verb(verbs[verb_choice % verbs.size()]);
    const std::string blank = (style & 4) != 0 ? " \t" : " ";
    const std::string plus = (style & 8) != 0 ? "+" : "";
    const std::string lease = (style & 16) != 0 ? blank + plus + std::to_string(value / 16) : "";
    std::string argument;
    const char last = verb.back();
    if (verb.size() <= 2 && (last == 'l' || last == 'w')) argument = std::to_string(value % 8);
    if (verb == "sl" || verb == "se") argument += blank + std::to_string((value / 8) % 4);
    if (verb.size() <= 2 && (last == 'r' || last == 'n')) argument = session.choose_token(value);
    if (verb.size() <= 2 && (last == 'l' || last == 'e' || last == 'n')) argument += lease;
    const std::string_view end = line_ends[style % line_ends.size()];
    const std::string key(1, static_cast<char>('a' + key_choice % 2));
    return std::string(verb).append(end).append(key).append(end).append(argument).append(end);
}

void take_step(Script& script, Session& session) {
    const std::size_t choice = script.byte();
    const int number = static_cast<int>(choice % connections_max);
    switch (choice / connections_max % 16) {
        case 8: return session.send(number, script.bytes(script.byte() % 64));
        case 9: return session.send(number, std::string(240 + script.byte() % 32, 'x'));
        case 10: return session.set_piece(number, script.byte() % 16);
        case 11:
        case 12: return session.pass(1 + script.byte() % 40);
        case 13: return session.reconnect(number);
        case 14: return session.stop_sending(number);
        case 15: return session.send(number, "auth\n_\n " + std::string(the_secret) + "\r\n");
        default: return session.send(number, choose_request(script, session));
    }
}

void run(std::string_view input) {
    Script script(input);
    const std::size_t server = script.byte();
    Session session((server & 1) != 0 ? std::string(the_secret) : "", (server & 2) != 0 ? 1 : 1000);
    while (!script.empty()) take_step(script, session);
}

}  // namespace
}  // namespace holdfast::fuzz

// The name is libFuzzer's. NOLINTNEXTLINE(readability-identifier-naming)
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    holdfast::fuzz::run({reinterpret_cast<const char*>(data), size});
    return 0;
}

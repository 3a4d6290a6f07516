#include "dialects/dflockd/dflockd_request.h"

#include <array>
#include <cstring>

#include "base/hex.h"
#include "base/number.h"

namespace holdfast::dialects::dflockd {

namespace {

constexpr bool is_blank(char c) {
    return c == ' ' || c == '\t';
}

// Where the first blank is; the size of the text if there is none. Looks at eight characters at a
// time, of which most have no blank or anything else that small among them.
std::size_t find_blank(std::string_view text) {
    constexpr std::uint64_t ones = 0x0101010101010101, tops = 0x8080808080808080;
    std::size_t at = 0;
    for (std::uint64_t word = 0; text.size() - at >= sizeof word; at += sizeof word) {
        std::memcpy(&word, text.data() + at, sizeof word);
        if (((word - ones * 0x21) & ~word & tops) != 0) break;
    }
    while (at < text.size() && !is_blank(text[at])) ++at;
    return at;
}

// A line at the front of `rest`, which it is taken from.
Frame::State take_line(std::string_view& rest, std::size_t bytes_max, std::string_view& line) {
    // One byte more than allowed tells all there is to know, so nothing is looked for beyond it.
    const auto end = rest.substr(0, bytes_max + 1).find('\n');
    if (end == std::string_view::npos) {
        return rest.size() > bytes_max ? Frame::State::too_long : Frame::State::incomplete;
    }
    line = rest.substr(0, end);
    if (line.ends_with('\r')) line.remove_suffix(1);
    rest.remove_prefix(end + 1);
    return Frame::State::whole;
}

// The fields of an argument: what stands between blanks.
struct Fields {
    static constexpr std::size_t count_max = 3;

    explicit Fields(std::string_view argument) {
        while (true) {
            while (!argument.empty() && is_blank(argument.front())) argument.remove_prefix(1);
            if (argument.empty()) return;
            const auto field = argument.substr(0, find_blank(argument));
            argument.remove_prefix(field.size());
            if (count < count_max) texts[count] = field;
            ++count;
        }
    }

    std::size_t count = 0;  // perhaps more than are kept
    std::array<std::string_view, count_max> texts;
};

// A number of seconds; what the engine's time cannot hold is as good as for ever.
std::optional<core::Duration> parse_seconds(std::string_view text) {
    const auto seconds = base::parse_decimal<std::uint64_t>(text);
    if (!seconds) return std::nullopt;
    constexpr auto seconds_max = static_cast<std::uint64_t>(
        std::chrono::floor<std::chrono::seconds>(core::Duration::max()).count());
    if (*seconds > seconds_max) return core::Duration::max();
    return std::chrono::seconds{static_cast<std::int64_t>(*seconds)};
}

std::optional<core::Token> parse_token(std::string_view text) {
    constexpr std::size_t digits = 16;
    if (text.size() != 2 * digits) return std::nullopt;
    const auto fence = base::parse_hex(text.substr(0, digits));
    const auto secret = base::parse_hex(text.substr(digits));
    if (!fence || !secret) return std::nullopt;
    return core::Token{.fence = core::Fence{*fence}, .secret = core::Secret{*secret}};
}

// Reads the fields of one argument in order. After the last, done() tells whether all went well.
class FieldReader {
  public:
    explicit FieldReader(std::string_view argument) : fields_(argument) {}

    void timeout(core::Duration& value) { required(parse_seconds, value); }
    void token(core::Token& value) { required(parse_token, value); }
    void limit(std::uint32_t& value) {
        required(base::parse_decimal<std::uint32_t>, value);
        is_good_ = is_good_ && value > 0;
    }
    void lease(std::optional<core::Duration>& value) {
        if (next_ == fields_.count) return;
        required(parse_seconds, value.emplace());
        is_good_ = is_good_ && *value > core::Duration::zero();
    }
    [[nodiscard]] bool done() const { return is_good_ && next_ == fields_.count; }

  private:
    template <class Parse, class Value>
    void required(Parse parse, Value& value) {
        is_good_ = is_good_ && next_ < fields_.count && next_ < Fields::count_max;
        if (!is_good_) return;
        const auto parsed = parse(fields_.texts[next_++]);
        is_good_ = parsed.has_value();
        if (parsed) value = *parsed;
    }

    const Fields fields_;
    std::size_t next_ = 0;
    bool is_good_ = true;
};

std::optional<Verb> verb_of(char letter) {
    switch (letter) {
        case 'l': return Verb::lock;
        case 'r': return Verb::release;
        case 'n': return Verb::renew;
        case 'e': return Verb::enqueue;
        case 'w': return Verb::wait;
        default: return std::nullopt;
    }
}

bool is_key(std::string_view text) {
    return !text.empty() && find_blank(text) == text.size();
}

}  // namespace

Frame read_frame(std::string_view input) {
    Frame frame;
    std::string_view rest = input;
    frame.state = take_line(rest, line_bytes_max, frame.command);
    if (frame.state != Frame::State::whole) return frame;
    frame.state = take_line(rest, line_bytes_max, frame.key);
    if (frame.state != Frame::State::whole) return frame;
    const bool is_secret = frame.command == "auth";
    frame.state = take_line(rest, is_secret ? secret_bytes_max : line_bytes_max, frame.argument);
    frame.size = input.size() - rest.size();
    return frame;
}

std::optional<DflockdRequest> parse_request(const Frame& frame) {
    std::string_view command = frame.command;
    if (command == "ping") return DflockdRequest{.verb = Verb::ping};
    if (command == "stats") return DflockdRequest{.verb = Verb::stats};
    if (command == "auth") return DflockdRequest{.verb = Verb::auth, .secret = frame.argument};

    const bool is_semaphore = command.size() == 2 && command.starts_with('s');
    if (is_semaphore) command.remove_prefix(1);
    if (command.size() != 1 || !is_key(frame.key)) return std::nullopt;
    const auto verb = verb_of(command.front());
    if (!verb) return std::nullopt;

    DflockdRequest request{
        .verb = *verb,
        .scope = is_semaphore ? core::Scope::semaphore(frame.key) : core::Scope::named(frame.key)};
    FieldReader reader(frame.argument);
    switch (*verb) {
        case Verb::lock:
            reader.timeout(request.timeout);
            if (is_semaphore) reader.limit(request.limit);
            reader.lease(request.lease);
            break;
        case Verb::enqueue:
            if (is_semaphore) reader.limit(request.limit);
            reader.lease(request.lease);
            break;
        case Verb::wait: reader.timeout(request.timeout); break;
        case Verb::release: reader.token(request.token); break;
        case Verb::renew:
            reader.token(request.token);
            reader.lease(request.lease);
            break;
        case Verb::stats:
        case Verb::ping:
        case Verb::auth: break;
    }
    if (!reader.done()) return std::nullopt;
    return request;
}

}  // namespace holdfast::dialects::dflockd

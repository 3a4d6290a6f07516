#include "doors/dflockd/dflockd_request.h"

#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include <algorithm>
#include <bit>
#include <charconv>
#include <cstring>
#include <system_error>
#include <utility>

#include "base/text/hex.h"

namespace holdfast::doors::dflockd {

namespace {

// What separates fields, and may stand around a secret.
constexpr bool is_blank(char c) {
    return c == ' ' || (c >= '\t' && c <= '\r');
}

// What a key must not contain.
constexpr bool splits_key(char c) {
    return c == ' ' || c == '\t' || c == '\r';
}

// Visible ASCII: what a command is made of.
constexpr bool is_visible(char c) {
    return c > ' ' && c < '\x7f';
}

std::string_view without_line_end(std::string_view line) {
    while (line.ends_with('\r')) line.remove_suffix(1);
    return line;
}

std::string_view trim(std::string_view text) {
    while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
    while (!text.empty() && is_blank(text.back())) text.remove_suffix(1);
    return text;
}

// Where the first character is that cannot be in a word: a blank, the end of a line or another that
// small; `end` if there is none. Looks at sixteen characters at a time, or at eight.
inline const char* end_of_word(const char* at, const char* end) {
#ifdef __SSE2__
    for (const __m128i blanks = _mm_set1_epi8(' '); end - at >= 16; at += 16) {
        const __m128i characters = _mm_loadu_si128(reinterpret_cast<const __m128i*>(at));
        const __m128i small = _mm_cmpeq_epi8(_mm_min_epu8(characters, blanks), characters);
        const auto places = static_cast<unsigned>(_mm_movemask_epi8(small));
        if (places != 0) return at + std::countr_zero(places);
    }
#endif
    constexpr std::uint64_t ones = 0x0101010101010101, tops = 0x8080808080808080;
    for (std::uint64_t word = 0; end - at >= std::ptrdiff_t{sizeof word}; at += sizeof word) {
        std::memcpy(&word, at, sizeof word);
        // Exact for the first that is small: only some after it are taken for such by mistake.
        const std::uint64_t small = (word - ones * (' ' + 1)) & ~word & tops;
        if (small != 0) return at + std::countr_zero(small) / 8;
    }
    while (at != end && static_cast<unsigned char>(*at) > ' ') ++at;
    return at;
}

// Takes lines from the front of some input.
class LineReader {
  public:
    explicit LineReader(std::string_view input) : at_(input.data()), end_(at_ + input.size()) {}

    // Also tells whether the line is a word; if it does not say so, it may still be one.
    Frame::State take(std::size_t bytes_max, std::string_view& line, bool& is_word) {
        // One byte more than allowed tells all there is to know: nothing is looked for beyond it.
        const std::size_t size = static_cast<std::size_t>(end_ - at_);
        const char* const limit = at_ + std::min(size, bytes_max + 1);
        const char* end = end_of_word(at_, limit);  // for most lines are words
        is_word = end != limit && end != at_ && *end == '\n';
        if (end != limit && *end != '\n') end = std::find(end, limit, '\n');
        if (end == limit) {
            return size > bytes_max ? Frame::State::too_long : Frame::State::incomplete;
        }
        line = without_line_end({at_, end});
        at_ = end + 1;
        return Frame::State::whole;
    }

    // What there is of a line that has not ended.
    [[nodiscard]] std::string_view rest(std::size_t bytes_max) const {
        return std::string_view(at_, end_).substr(0, bytes_max);
    }

    // Takes the line only if it is a letter, as commands mostly are.
    bool take_letter(std::string_view& line) {
        if (end_ - at_ < 2 || at_[1] != '\n' || !is_visible(at_[0])) return false;
        line = {at_, 1};
        at_ += 2;
        return true;
    }

    [[nodiscard]] const char* at() const { return at_; }

  private:
    const char* at_;
    const char* const end_;
};

// Reads the fields of one argument, what stands between blanks, in order. After the last, done()
// tells whether all went well.
class FieldReader {
  public:
    explicit FieldReader(std::string_view argument)
        : at_(argument.data()), end_(at_ + argument.size()) {
        skip_blanks();
    }

    // A number of seconds; what the engine's time cannot hold is as good as for ever.
    core::Duration seconds() {
        constexpr auto seconds_max = static_cast<std::uint64_t>(
            std::chrono::floor<std::chrono::seconds>(core::Duration::max()).count());
        const std::uint64_t count = number(UINT64_MAX);
        if (count > seconds_max) return core::Duration::max();
        return std::chrono::seconds{static_cast<std::int64_t>(count)};
    }

    std::uint32_t limit() {
        const auto permits = static_cast<std::uint32_t>(number(UINT32_MAX));
        is_good_ = is_good_ && permits > 0;
        return permits;
    }

    // If there is a field left.
    std::optional<core::Duration> lease() {
        if (at_ == end_) return std::nullopt;
        const core::Duration lease = seconds();
        is_good_ = is_good_ && lease > core::Duration::zero();
        return lease;
    }

    core::Token token() {
        const auto fence = hex(), secret = hex();
        end_field(fence && secret);
        return {.fence = core::Fence{fence.value_or(0)},
                .secret = core::Secret{secret.value_or(0)}};
    }

    [[nodiscard]] bool done() const { return is_good_ && at_ == end_; }

  private:
    // A decimal number, with a sign or without. Malformed if it is less than zero or larger than
    // `number_max`.
    std::uint64_t number(std::uint64_t number_max) {
        const char sign = at_ == end_ ? '\0' : *at_;
        if (sign == '+' || sign == '-') ++at_;
        std::uint64_t value = 0;
        const auto [stopped_at, error] = std::from_chars(at_, end_, value);
        at_ = stopped_at;
        end_field(error == std::errc{} && value <= (sign == '-' ? 0 : number_max));
        return value;
    }

    // Half a token.
    std::optional<std::uint64_t> hex() {
        if (end_ - at_ < std::ptrdiff_t{base::hex_digits}) return std::nullopt;
        return base::parse_hex({std::exchange(at_, at_ + base::hex_digits), base::hex_digits});
    }

    void end_field(bool is_good) {
        is_good_ = is_good_ && is_good && (at_ == end_ || is_blank(*at_));
        skip_blanks();
    }
    void skip_blanks() {
        while (at_ != end_ && is_blank(*at_)) ++at_;
    }

    const char* at_;
    const char* const end_;
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

bool is_key(const Frame& frame) {
    return frame.is_key_word ||
           (!frame.key.empty() && std::none_of(frame.key.begin(), frame.key.end(), splits_key));
}

// Puts what a frame asks for into `request`. False if it is malformed.
bool read_request(const Frame& frame, DflockdRequest& request) {
    std::string_view command = frame.command;
    const bool is_semaphore = command.size() == 2 && command.starts_with('s');
    if (is_semaphore) command.remove_prefix(1);
    if (command.size() != 1 || !is_key(frame)) return false;
    const auto verb = verb_of(command.front());
    if (!verb) return false;
    request.verb = *verb;
    request.scope.kind = is_semaphore ? core::ScopeKind::semaphore : core::ScopeKind::named;
    request.scope.name = frame.key;

    FieldReader fields(frame.argument);
    if (*verb == Verb::lock || *verb == Verb::wait) request.timeout = fields.seconds();
    if (*verb == Verb::release || *verb == Verb::renew) request.token = fields.token();
    const bool is_for_lease = *verb == Verb::lock || *verb == Verb::enqueue;
    if (is_for_lease && is_semaphore) request.limit = fields.limit();
    if (is_for_lease || *verb == Verb::renew) request.lease = fields.lease();
    return fields.done();
}

}  // namespace

Frame read_frame(std::string_view input) {
    Frame frame;
    LineReader reader(input);
    bool is_word = false;
    if (!reader.take_letter(frame.command)) {
        frame.state = reader.take(line_bytes_max, frame.command, is_word);
        const bool is_whole = frame.state == Frame::State::whole;
        const std::string_view seen =
            is_whole ? frame.command : without_line_end(reader.rest(line_bytes_max));
        if (!std::all_of(seen.begin(), seen.end(), is_visible)) frame.state = Frame::State::foreign;
        if (frame.state != Frame::State::whole) return frame;
    }
    frame.state = reader.take(line_bytes_max, frame.key, frame.is_key_word);
    if (frame.state != Frame::State::whole) return frame;
    const bool is_secret = frame.command == "auth";
    const std::size_t bytes_max = is_secret ? secret_bytes_max : line_bytes_max;
    frame.state = reader.take(bytes_max, frame.argument, is_word);
    frame.size = static_cast<std::size_t>(reader.at() - input.data());
    return frame;
}

std::optional<DflockdRequest> parse_request(const Frame& frame) {
    std::optional<DflockdRequest> request(std::in_place);
    if (frame.command == "ping") {
        request->verb = Verb::ping;
    } else if (frame.command == "stats") {
        request->verb = Verb::stats;
    } else if (frame.command == "auth") {
        request->verb = Verb::auth;
        request->secret = trim(frame.argument);
    } else if (!read_request(frame, *request)) {
        request.reset();
    }
    return request;
}

}  // namespace holdfast::doors::dflockd

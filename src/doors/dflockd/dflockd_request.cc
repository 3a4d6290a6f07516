#include "doors/dflockd/dflockd_request.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <system_error>
#include <utility>

#include "base/text/hex.h"
#include "core/values/request.h"

namespace holdfast::doors::dflockd {

namespace {

// The characters that separate fields, and that are removed around a secret.
constexpr bool is_blank(char c) {
    return c == ' ' || (c >= '\t' && c <= '\r');
}

// The characters that a key must not contain.
constexpr bool splits_key(char c) {
    return c == ' ' || c == '\t' || c == '\r';
}

// Visible ASCII: the characters of a command.
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

// Reads lines from the front of some input.
class LineReader {
  public:
    explicit LineReader(std::string_view input) : at_(input.data()), end_(at_ + input.size()) {}

    Frame::State read_line(std::size_t bytes_max, std::string_view& line) {
        const std::size_t size = size_to_search(bytes_max);
        const void* const end = size == 0 ? nullptr : std::memchr(at_, '\n', size);
        if (end == nullptr) {
            return size > bytes_max ? Frame::State::too_long : Frame::State::incomplete;
        }
        line = without_line_end({at_, static_cast<const char*>(end)});
        at_ = static_cast<const char*>(end) + 1;
        return Frame::State::whole;
    }

    // Reads the line only if it is a word: if nothing in it is a blank or a control character, and
    // it is not empty. Most keys are words, and a word need not be searched a second time for the
    // characters that a key must not contain.
    bool read_word(std::string_view& line) {
        const char* const limit = at_ + size_to_search(line_bytes_max);
        const char* const end =
            std::find_if(at_, limit, [](char c) { return static_cast<unsigned char>(c) <= ' '; });
        if (end == limit || end == at_ || *end != '\n') return false;
        line = {at_, end};
        at_ = end + 1;
        return true;
    }

    // Reads the line only if it is a single visible character, as most commands are.
    bool read_letter(std::string_view& line) {
        if (end_ - at_ < 2 || at_[1] != '\n' || !is_visible(at_[0])) return false;
        line = {at_, 1};
        at_ += 2;
        return true;
    }

    // The beginning of a line that has not ended yet.
    [[nodiscard]] std::string_view rest(std::size_t bytes_max) const {
        return std::string_view(at_, end_).substr(0, bytes_max);
    }

    [[nodiscard]] const char* at() const { return at_; }

  private:
    // One byte more than a line may have: if the line feed is not among these, the line is too
    // long.
    [[nodiscard]] std::size_t size_to_search(std::size_t bytes_max) const {
        return std::min(static_cast<std::size_t>(end_ - at_), bytes_max + 1);
    }

    const char* at_;
    const char* const end_;
};

// Reads the fields of one argument in order; blanks separate them. After the last field, done()
// tells whether all of them were well-formed.
class FieldReader {
  public:
    explicit FieldReader(std::string_view argument)
        : at_(argument.data()), end_(at_ + argument.size()) {
        skip_blanks();
    }

    // A number of seconds. More than the engine's time can hold means for ever.
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

    // Nothing if there is no field left.
    std::optional<core::Duration> lease() {
        if (at_ == end_) return std::nullopt;
        const core::Duration lease = std::min(seconds(), core::ttl_below_endless);
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
    // A decimal number, with or without a sign. Malformed if it is less than zero or larger than
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

    // One half of a token.
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

// Reads a command about a lock into `request`. False if the frame is malformed.
bool read_lock_request(const Frame& frame, DflockdRequest& request) {
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
    if (!reader.read_letter(frame.command)) {
        frame.state = reader.read_line(line_bytes_max, frame.command);
        const bool is_whole = frame.state == Frame::State::whole;
        const std::string_view seen =
            is_whole ? frame.command : without_line_end(reader.rest(line_bytes_max));
        if (!std::all_of(seen.begin(), seen.end(), is_visible)) frame.state = Frame::State::foreign;
        if (frame.state != Frame::State::whole) return frame;
    }
    frame.is_key_word = reader.read_word(frame.key);
    if (!frame.is_key_word) {
        frame.state = reader.read_line(line_bytes_max, frame.key);
        if (frame.state != Frame::State::whole) return frame;
    }
    const bool is_secret = frame.command == "auth";
    const std::size_t bytes_max = is_secret ? secret_bytes_max : line_bytes_max;
    frame.state = reader.read_line(bytes_max, frame.argument);
    frame.size = static_cast<std::size_t>(reader.at() - input.data());
    return frame;
}

std::optional<DflockdRequest> parse_request(const Frame& frame) {
    std::optional<DflockdRequest> request(std::in_place);
    // The commands about a lock have one or two letters.
    if (frame.command.size() <= 2) {
        if (!read_lock_request(frame, *request)) request.reset();
    } else if (frame.command == "ping") {
        request->verb = Verb::ping;
    } else if (frame.command == "stats") {
        request->verb = Verb::stats;
    } else if (frame.command == "auth") {
        request->verb = Verb::auth;
        request->secret = trim(frame.argument);
    } else {
        request.reset();
    }
    return request;
}

}  // namespace holdfast::doors::dflockd

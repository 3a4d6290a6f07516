#include "net/syntax/request_head.h"

#include <algorithm>

#include "base/text/number.h"
#include "net/syntax/characters.h"
#include "net/syntax/field_line.h"
#include "net/syntax/known_fields.h"

namespace holdfast::net {

namespace {

// Reads one head from its first byte to its last. Each step takes its part off the front of rest_
// and returns true; or it returns false because more is needed or, with a fault_, because the
// request is refused.
class HeadReader {
  public:
    HeadReader(std::string_view message, RequestHead& head, KnownFields* known)
        : message_(message), rest_(message), head_(head), known_(known) {}

    [[nodiscard]] HeadOutcome read(const HttpFault*& fault) {
        if (take_first_line() && (take_known_fields() || take_fields())) {
            head_.bytes = message_.size() - rest_.size();
            return HeadOutcome::complete;
        }
        fault = fault_;
        return fault_ == nullptr ? HeadOutcome::need_more : HeadOutcome::refused;
    }

  private:
    // What a step returns if the head goes on behind the message.
    static bool await_more() { return false; }
    bool refuse(const HttpFault& fault) { return fault_ = &fault, false; }

    bool take_first_line() {
        return take_word(token_size(rest_), head_.method) &&
               take_word(target_size(rest_), head_.target) && take_version();
    }

    // A word of that size, and the space behind it.
    bool take_word(std::size_t size, TextPlace& word) {
        if (size == rest_.size()) return await_more();
        if (size == 0 || rest_[size] != ' ') return refuse(faults::malformed);
        word = place_of(message_.data(), rest_.substr(0, size));
        rest_.remove_prefix(size + 1);
        return true;
    }

    bool take_version() {
        constexpr std::string_view version_1_1 = "HTTP/1.1\r\n", version_1_0 = "HTTP/1.0\r\n";
        if (rest_.starts_with(version_1_1)) {
            rest_.remove_prefix(version_1_1.size());
            return true;
        }
        if (rest_.size() < version_1_1.size()) {
            const bool has_ended = rest_.find('\n') != rest_.npos;
            return has_ended ? refuse(faults::malformed) : await_more();
        }
        head_.is_http_1_0 = rest_.starts_with(version_1_0);
        if (!head_.is_http_1_0) return refuse_version();
        rest_.remove_prefix(version_1_0.size());
        return true;
    }

    bool refuse_version() {
        const bool is_of_http =
            rest_.starts_with("HTTP/") && rest_[6] == '.' && rest_.substr(8, 2) == "\r\n";
        return refuse(is_of_http ? faults::not_http_1 : faults::malformed);
    }

    bool take_known_fields() {
        head_.fields.begin_at(message_.size() - rest_.size());
        return known_ != nullptr && !head_.is_http_1_0 && known_->take(rest_, head_);
    }

    bool take_fields() {
        const std::string_view fields = rest_;
        while (rest_.size() >= 2 && rest_.front() != '\r') {
            HttpHeader field;
            const auto outcome = take_field(rest_, field);
            if (outcome == FieldOutcome::malformed) return refuse(faults::malformed);
            if (outcome == FieldOutcome::need_more || rest_.empty()) return await_more();
            if (is_blank(rest_.front())) return refuse(faults::folded);
            if (!head_.fields.add(message_.data(), field)) {
                return refuse(faults::header_too_big);
            }
            if (!obey(framing_field(field.name), field.value)) return false;
        }
        if (rest_.size() < 2) return await_more();
        if (rest_[1] != '\n') return refuse(faults::malformed);
        rest_.remove_prefix(2);
        if (known_ != nullptr && !head_.is_http_1_0) {
            known_->note(fields.substr(0, fields.size() - rest_.size()), head_);
        }
        return true;
    }

    bool obey(FramingField field, std::string_view value) {
        switch (field) {
            case FramingField::none: return true;
            case FramingField::host: return take_host();
            case FramingField::connection: return take_options(value);
            case FramingField::content_length: return take_length(value);
            case FramingField::transfer_encoding: return take_coding(value);
            case FramingField::expect: return take_expectation(value);
        }
        return true;
    }

    bool take_host() {
        if (head_.has_host) return refuse(faults::several_hosts);
        head_.has_host = true;
        return true;
    }

    // The options of a Connection: words with commas between them.
    bool take_options(std::string_view value) {
        while (!value.empty()) {
            const std::size_t comma = std::min(value.find(','), value.size());
            const std::string_view option = trim_blanks(value.substr(0, comma));
            value.remove_prefix(std::min(comma + 1, value.size()));
            if (token_size(option) != option.size()) return refuse(faults::malformed);
            head_.asks_to_close |= is_same_word(option, "close");
            head_.asks_to_stay |= is_same_word(option, "keep-alive");
        }
        return true;
    }

    bool take_length(std::string_view value) {
        const bool is_second = head_.content_length || head_.is_chunked;
        head_.content_length = base::parse_decimal<std::uint64_t>(value);
        if (is_second || !head_.content_length) return refuse(faults::bad_length);
        return true;
    }

    bool take_coding(std::string_view value) {
        if (head_.content_length || head_.is_chunked) return refuse(faults::bad_length);
        if (!is_same_word(value, "chunked")) return refuse(faults::unknown_coding);
        if (head_.is_http_1_0) return refuse(faults::chunked_1_0);
        head_.is_chunked = true;
        return true;
    }

    bool take_expectation(std::string_view value) {
        if (!is_same_word(value, "100-continue")) return refuse(faults::unknown_expectation);
        head_.expects_continue = true;
        return true;
    }

    const std::string_view message_;
    std::string_view rest_;
    RequestHead& head_;
    KnownFields* const known_;
    const HttpFault* fault_ = nullptr;
};

}  // namespace

HeadOutcome read_head(std::string_view message, RequestHead& head, const HttpFault*& fault,
                      KnownFields* known) {
    return HeadReader(message, head, known).read(fault);
}

}  // namespace holdfast::net

#include "net/client/url.h"

#include <algorithm>
#include <boost/url/src.hpp>  // the library's own code: it is compiled here and nowhere else

#include "base/text/percent.h"
#include "net/syntax/query_parameters.h"

namespace holdfast::net {

namespace {

namespace urls = boost::urls;

// Whether decoding leaves the text as it is, as it does nearly always.
bool is_plain(std::string_view text) {
    return std::none_of(text.begin(), text.end(), [](char c) { return c == '%' || c == '+'; });
}

base::Result<std::string> decode(std::string_view text, urls::encoding_opts options) {
    if (is_plain(text)) return std::string(text);
    const auto encoded = urls::make_pct_string_view({text.data(), text.size()});
    if (!encoded) return base::fail("a % is not followed by two hexadecimal digits");
    return encoded->decode(options);
}

}  // namespace

base::Result<std::string> percent_decode(std::string_view text) {
    return decode(text, {});
}

base::Result<std::string> form_decode(std::string_view text) {
    return decode(text, urls::encoding_opts(true));
}

std::string percent_encode(std::string_view text) {
    return base::percent_encode(text);
}

std::string percent_encode_path(std::string_view path) {
    return urls::encode({path.data(), path.size()}, urls::pchars + '/');
}

namespace {

// What may stand in a path, and every byte of a character beyond ASCII.
struct ReadableChars {
    bool operator()(char c) const {
        const auto byte = static_cast<unsigned char>(c);
        return byte >= 0x80 || c == '/' || urls::pchars(byte);
    }
};

}  // namespace

std::string percent_encode_readably(std::string_view path) {
    return urls::encode({path.data(), path.size()}, ReadableChars{});
}

std::string_view host_of(std::string_view authority) {
    const std::size_t bracket = authority.rfind(']');
    const std::size_t colon = authority.rfind(':');
    const bool has_port =
        colon != std::string_view::npos && (bracket == std::string_view::npos || colon > bracket);
    return has_port ? authority.substr(0, colon) : authority;
}

// It reads as a phrase: the query's parameter so-and-so.
// NOLINTNEXTLINE(bugprone-easily-swappable-parameters)
base::Result<std::optional<std::string>> query_parameter(std::string_view query,
                                                         std::string_view name) {
    QueryParameter wanted(name);
    find_parameters(query, {&wanted, 1});
    std::string memory;
    TRY(const auto value, wanted.decode(memory));
    if (!wanted.is_there()) return std::nullopt;
    return std::string(value);
}

}  // namespace holdfast::net

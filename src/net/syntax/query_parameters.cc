#include "net/syntax/query_parameters.h"

#include <algorithm>
#include <array>
#include <utility>

#include "net/client/url.h"

namespace holdfast::net {

namespace {

constexpr auto has_meaning = [] {
    std::array<bool, 256> table{};
    for (const char c : std::string_view("&=%+")) table[static_cast<unsigned char>(c)] = true;
    return table;
}();

// One `name=value` of a query, as it was sent.
struct Pair {
    std::string_view name, value;
    bool is_plain = true;  // nothing is to be decoded
};

// Takes the pair at the front off the query, and the `&` behind it.
Pair take_pair(std::string_view& query) {
    Pair pair;
    std::size_t at = 0, name_end = query.npos;
    for (; at < query.size(); ++at) {
        const char c = query[at];
        if (!has_meaning[static_cast<unsigned char>(c)]) continue;
        if (c == '&') break;
        if (c != '=') {
            pair.is_plain = false;
        } else if (name_end == query.npos) {
            name_end = at;
        }
    }
    pair.name = query.substr(0, std::min(name_end, at));
    if (name_end < at) pair.value = query.substr(name_end + 1, at - name_end - 1);
    query.remove_prefix(std::min(at + 1, query.size()));
    return pair;
}

}  // namespace

void find_parameters(std::string_view query, std::span<QueryParameter> wanted) {
    using State = QueryParameter::State;
    std::size_t missing = wanted.size();
    const auto note = [&](std::string_view name, const Pair& pair) {
        for (QueryParameter& one : wanted) {
            if (one.state_ != State::absent || one.name_ != name) continue;
            one.value_ = pair.value;
            one.state_ = pair.is_plain ? State::plain : State::coded;
            --missing;
            return;
        }
    };
    while (!query.empty() && missing > 0) {
        const Pair pair = take_pair(query);
        if (pair.is_plain) {
            note(pair.name, pair);
        } else if (const auto name = form_decode(pair.name)) {
            note(*name, pair);
        } else {
            for (QueryParameter& one : wanted) {
                if (one.state_ != State::absent) continue;
                one.state_ = State::hidden;
                one.value_ = pair.name;
            }
            return;
        }
    }
}

base::Result<std::string_view> QueryParameter::decode_coded(std::string& memory) const {
    TRY(memory, form_decode(value_));
    return memory;
}

}  // namespace holdfast::net

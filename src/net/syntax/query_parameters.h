#pragma once

// QueryParameter: a parameter that is looked for in a query such as `client=a&ttl=5`; and
// find_parameters(), which finds several of them in one pass over the query.
//
//     std::array wanted = {QueryParameter("client"), QueryParameter("ttl")};
//     find_parameters(query, wanted);
//     TRY(const auto client, wanted[0].decode(memory));

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"

namespace holdfast::net {

class QueryParameter {
  public:
    explicit QueryParameter(std::string_view name) : name_(name) {}

    // Whether the query has such a parameter, though its value may be malformed.
    [[nodiscard]] bool is_there() const { return state_ == State::plain || state_ == State::coded; }

    // The decoded value of the first parameter of this name, in the query or, if it was not plain,
    // in `memory`. Empty if there is none, or if it has no `=`. Fails if its value is malformed, or
    // a name before it.
    [[nodiscard]] base::Result<std::string_view> decode(std::string& memory) const {
        if (state_ > State::plain) return decode_coded(memory);
        return value_;
    }

  private:
    enum class State : std::uint8_t {
        absent,
        plain,   // there, with nothing to decode
        coded,   // there, with `%` or `+`
        hidden,  // not there before a name that is malformed, which is the value here
    };

    friend void find_parameters(std::string_view query, std::span<QueryParameter> wanted);

    [[nodiscard]] base::Result<std::string_view> decode_coded(std::string& memory) const;

    std::string_view name_;   // decoded
    std::string_view value_;  // as it was sent
    State state_ = State::absent;
};

// REQUIRES: no two have the same name. The query outlives the parameters.
void find_parameters(std::string_view query, std::span<QueryParameter> wanted);

}  // namespace holdfast::net

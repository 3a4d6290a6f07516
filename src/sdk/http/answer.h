#pragma once

// Answer: what the server said; NoAnswer: that it said nothing of use.

#include <optional>
#include <string>
#include <string_view>
#include <tl/expected.hpp>

#include "base/json/json_value.h"
#include "holdfast/lock_error.h"

namespace holdfast::sdk {

struct Answer {
    int status = 0;
    std::string text;
    base::JsonValue body;      // null if the text is no JSON
    bool is_repeated = false;  // the request may have had its effect before

    // The code of a refusal: `LockHeld`.
    [[nodiscard]] std::string_view reason() const { return body["error"].text(); }
    // The sentence that explains it.
    [[nodiscard]] std::string message() const;
    // Whether it says no more than "later".
    [[nodiscard]] bool is_temporary() const;

    // What it means to a program, if it is no success.
    [[nodiscard]] LockError to_error() const;
};

struct NoAnswer {
    LockError error;
    bool is_final = false;         // asking again would not help
    bool may_have_effect = false;  // the request may have been done nevertheless
    std::optional<Answer> temporary = {};

    [[nodiscard]] bool is_cancelled() const { return std::holds_alternative<LockCancelled>(error); }
};

template <class T>
using Answered = tl::expected<T, NoAnswer>;

}  // namespace holdfast::sdk

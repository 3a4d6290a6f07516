#pragma once

// Result<T>: a value, or the reason why there is none.
//
// For failures of the world (files, sockets, other people's input). Being refused a lock is an
// answer and therefore data; a broken promise of our own is a CHECK.

#include <string>
#include <tl/expected.hpp>
#include <utility>

namespace holdfast::base {

// Why something failed, in a sentence a person can act on.
struct Error {
    std::string message;
};

template <class T>
using Result = tl::expected<T, Error>;

// The failing side of any Result<T>: `return fail("cannot open " + path);`
[[nodiscard]] inline tl::unexpected<Error> fail(std::string message) {
    return tl::unexpected<Error>(Error{std::move(message)});
}

}  // namespace holdfast::base

#define HOLDFAST_JOIN_(a, b) a##b
#define HOLDFAST_JOIN(a, b) HOLDFAST_JOIN_(a, b)

// TRY(auto x, expression); declares x from the value of a Result, or returns its error.
// TRY(expression); goes on if the Result has no error, or returns that.
#define TRY(...) \
    HOLDFAST_TRY_CHOOSE_(__VA_ARGS__, HOLDFAST_TRY_VALUE_, HOLDFAST_TRY_DONE_, )(__VA_ARGS__)
#define HOLDFAST_TRY_CHOOSE_(first, second, chosen, ...) chosen
#define HOLDFAST_TRY_VALUE_(declaration, expression) \
    HOLDFAST_TRY_NAMED_(declaration, expression, HOLDFAST_JOIN(try_result_, __LINE__))
// A declaration cannot stand in parentheses. NOLINTBEGIN(bugprone-macro-parentheses)
#define HOLDFAST_TRY_NAMED_(declaration, expression, name)     \
    auto name = (expression);                                  \
    if (!name) return tl::unexpected(std::move(name).error()); \
    declaration = std::move(*name)
// NOLINTEND(bugprone-macro-parentheses)
#define HOLDFAST_TRY_DONE_(expression)               \
    if (auto try_result = (expression); !try_result) \
    return tl::unexpected(std::move(try_result).error())

#pragma once

// LockResult<T>: a value, or the reason why there is none.
//
//     const auto lease = manager.try_acquire(request);
//     if (!lease) return complain(to_text(lease.error()));
//     write_with(lease->token);
//
// The library throws nothing. Reading the value of a failure, or the error of a success, is a bug
// in the program, and ends it.

#include <optional>
#include <utility>
#include <variant>

#include "holdfast/export.h"
#include "holdfast/lock_error.h"

namespace holdfast {

// Says what was read that is not there, and ends the program.
[[noreturn]] HOLDFAST_API void bad_lock_result_access(const LockError* error);

template <class T>
class [[nodiscard]] LockResult {
  public:
    LockResult(T value) : result_(std::in_place_index<0>, std::move(value)) {}
    LockResult(LockError error) : result_(std::in_place_index<1>, std::move(error)) {}

    [[nodiscard]] bool has_value() const { return result_.index() == 0; }
    explicit operator bool() const { return has_value(); }

    // REQUIRES: there is a value.
    [[nodiscard]] T& value() & { return checked(result_); }
    [[nodiscard]] const T& value() const& { return checked(result_); }
    [[nodiscard]] T&& value() && { return std::move(checked(result_)); }
    [[nodiscard]] T& operator*() & { return value(); }
    [[nodiscard]] const T& operator*() const& { return value(); }
    [[nodiscard]] T&& operator*() && { return std::move(*this).value(); }
    [[nodiscard]] T* operator->() { return &value(); }
    [[nodiscard]] const T* operator->() const { return &value(); }

    // REQUIRES: there is none.
    [[nodiscard]] const LockError& error() const {
        if (has_value()) bad_lock_result_access(nullptr);
        return *std::get_if<1>(&result_);
    }

  private:
    template <class Result>
    static auto& checked(Result& result) {
        auto* const value = std::get_if<0>(&result);
        if (value == nullptr) bad_lock_result_access(std::get_if<1>(&result));
        return *value;
    }

    std::variant<T, LockError> result_;
};

// Done, or the reason why not.
template <>
class [[nodiscard]] LockResult<void> {
  public:
    LockResult() = default;
    LockResult(LockError error) : error_(std::move(error)) {}

    [[nodiscard]] bool has_value() const { return !error_; }
    explicit operator bool() const { return has_value(); }

    // REQUIRES: it was not done.
    [[nodiscard]] const LockError& error() const {
        if (!error_) bad_lock_result_access(nullptr);
        return *error_;
    }

  private:
    std::optional<LockError> error_;
};

}  // namespace holdfast

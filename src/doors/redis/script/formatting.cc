#include "doors/redis/script/formatting.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <limits>
#include <optional>
#include <utility>

#include "doors/redis/script/run.h"

namespace holdfast::doors::redis {

namespace {

// What follows a `%`: `%-08.3f` has the flags `-0`, the width 8, the precision 3 and the letter `f`.
struct Directive {
    std::string form;  // up to the letter, with the `%`
    std::optional<std::size_t> precision;
    std::size_t width = 0;
    bool is_to_the_left = false;
    char letter = 0;
};

// A number with 99 digits behind the point has at most 309 before it.
constexpr std::size_t number_bytes = 512;

class Pattern {
  public:
    explicit Pattern(std::string_view text) : rest_(text) {}

    // The text before the next `%`.
    std::string_view plain() { return take(std::min(rest_.find('%'), rest_.size())); }
    [[nodiscard]] bool is_over() const { return rest_.empty(); }

    // REQUIRES: a `%` is at hand.
    base::Result<Directive> directive() {
        const std::string_view all = rest_;
        Directive read;
        rest_.remove_prefix(1);
        const std::string_view flags =
            take(std::min(rest_.find_first_not_of("-+ #0"), rest_.size()));
        read.is_to_the_left = flags.find('-') != std::string_view::npos;
        read.width = number();
        if (rest_.starts_with('.')) {
            rest_.remove_prefix(1);
            read.precision = number();
        }
        const std::size_t size = all.size() - rest_.size();
        if (rest_.empty() || flags.size() > flags_max) {
            return script_error(fmt::format("string.format does not understand '{}'",
                                            all.substr(0, std::min<std::size_t>(size, 8))));
        }
        read.form = all.substr(0, size);
        read.letter = take(1).front();
        return read;
    }

  private:
    static constexpr std::size_t flags_max = 5;

    std::string_view take(std::size_t size) {
        const std::string_view taken = rest_.substr(0, size);
        rest_.remove_prefix(size);
        return taken;
    }
    // At most two digits; the letter that follows a third one is none.
    std::size_t number() {
        std::size_t read = 0;
        for (int digits = 0;
             digits < 2 && !rest_.empty() && rest_.front() >= '0' && rest_.front() <= '9';
             ++digits) {
            read = read * 10 + static_cast<std::size_t>(take(1).front() - '0');
        }
        return read;
    }

    std::string_view rest_;
};

// As the C compilers of Lua's machines convert it: what is too large becomes the smallest number.
std::int64_t to_whole(double number) {
    constexpr double limit = 9223372036854775808.0;
    if (!(number >= -limit && number < limit)) return std::numeric_limits<std::int64_t>::min();
    return static_cast<std::int64_t>(number);
}

std::string format_number(const Directive& directive, double number) {
    char place[number_bytes];
    int size = 0;
    const char letter = directive.letter;
    if (std::string_view("eEfgG").find(letter) != std::string_view::npos) {
        const std::string form = directive.form + letter;
        size = std::snprintf(place, sizeof place, form.c_str(), number);
    } else {
        const std::string form = directive.form + "ll" + letter;
        const auto whole = static_cast<long long>(to_whole(number));
        size = std::snprintf(place, sizeof place, form.c_str(), whole);
    }
    return {place, static_cast<std::size_t>(std::max(size, 0))};
}

std::string format_string(const Directive& directive, std::string text) {
    if (directive.precision) text.resize(std::min(text.size(), *directive.precision));
    if (text.size() >= directive.width) return text;
    const std::string blanks(directive.width - text.size(), ' ');
    return directive.is_to_the_left ? text + blanks : blanks + text;
}

base::Result<std::string> format_value(const Directive& directive, const ScriptValue& value,
                                       StepBudget& budget) {
    if (directive.letter == 's') {
        TRY(const auto argument, TextArgument::of(value));
        TRY(budget.take_bytes(argument.text().size() + directive.width));
        return format_string(directive, std::string(argument.text()));
    }
    if (std::string_view("diouxXceEfgG").find(directive.letter) == std::string_view::npos) {
        return script_error(fmt::format("string.format does not understand '{}{}'", directive.form,
                                        directive.letter));
    }
    const auto number = to_number(value);
    if (!number) return script_error(fmt::format("number expected, got {}", type_name(value)));
    TRY(budget.take_bytes(number_bytes));
    if (directive.letter == 'c') {
        return format_string(directive, std::string(1, static_cast<char>(to_whole(*number))));
    }
    return format_number(directive, *number);
}

}  // namespace

base::Result<ScriptValue> format_text(std::string_view pattern, std::span<const ScriptValue> values,
                                      StepBudget& budget) {
    std::string text;
    const auto add = [&](std::string_view part) -> base::Result<void> {
        TRY(budget.take_bytes(part.size()));
        text += part;
        return {};
    };
    for (Pattern rest(pattern);;) {
        TRY(add(rest.plain()));
        if (rest.is_over()) break;
        TRY(budget.take_step());
        TRY(const Directive directive, rest.directive());
        if (directive.letter == '%' && directive.form == "%") {
            TRY(add("%"));
            continue;
        }
        if (values.empty()) return script_error("string.format has too few values");
        TRY(const std::string part, format_value(directive, values.front(), budget));
        TRY(add(part));
        values = values.subspan(1);
    }
    TRY(budget.take_bytes(text_cost));
    return ScriptValue{std::make_shared<const std::string>(std::move(text))};
}

}  // namespace holdfast::doors::redis

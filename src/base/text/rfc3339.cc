#include "base/text/rfc3339.h"

#include <cstddef>
#include <cstring>

#include "base/check.h"

namespace holdfast::base {
namespace {

using std::chrono::floor;

// 00 to 99.
constexpr auto digit_pairs = [] {
    std::array<std::array<char, 2>, 100> pairs{};
    for (std::size_t i = 0; i < pairs.size(); ++i) {
        pairs[i] = {static_cast<char>('0' + i / 10), static_cast<char>('0' + i % 10)};
    }
    return pairs;
}();

// Writes two digits. REQUIRES: value < 100.
void put_pair(char* text, auto value) {
    std::memcpy(text, digit_pairs[static_cast<std::size_t>(value)].data(), 2);
}

}  // namespace

Rfc3339Text::Rfc3339Text(std::chrono::sys_seconds time) {
    const auto day = floor<std::chrono::days>(time);
    const std::chrono::year_month_day date(day);
    const std::chrono::hh_mm_ss clock(time - day);
    const int year = static_cast<int>(date.year());
    CHECK(year >= 0 && year <= 9999);

    char* const text = text_.data();
    std::memcpy(text, "yyyy-mm-ddThh:mm:ssZ", text_.size());
    put_pair(text, year / 100);
    put_pair(text + 2, year % 100);
    put_pair(text + 5, static_cast<unsigned>(date.month()));
    put_pair(text + 8, static_cast<unsigned>(date.day()));
    put_pair(text + 11, clock.hours().count());
    put_pair(text + 14, clock.minutes().count());
    put_pair(text + 17, clock.seconds().count());
}

void append_rfc3339(std::string& out, std::chrono::sys_seconds time) {
    out += Rfc3339Text(time).view();
}

void append_rfc3339(std::string& out, std::chrono::sys_time<std::chrono::milliseconds> time) {
    const auto second = floor<std::chrono::seconds>(time);
    const auto thousandths = (time - second).count();
    append_rfc3339(out, second);
    char text[] = ".mmmZ";
    text[1] = static_cast<char>('0' + thousandths / 100);
    put_pair(text + 2, thousandths % 100);
    out.replace(out.size() - 1, 1, text);
}

std::optional<std::chrono::sys_time<std::chrono::milliseconds>> parse_rfc3339(
    std::string_view text) {
    using namespace std::chrono;
    static constexpr std::string_view form = "dddd-dd-ddTdd:dd:dd.dddZ";
    const bool has_milliseconds = text.size() == form.size();
    if (!has_milliseconds && text.size() != form.size() - 4) return std::nullopt;
    std::string whole(text);
    if (!has_milliseconds) whole.insert(19, ".000");
    for (std::size_t at = 0; at < form.size(); ++at) {
        const bool is_digit = whole[at] >= '0' && whole[at] <= '9';
        if (form[at] == 'd' ? !is_digit : whole[at] != form[at]) return std::nullopt;
    }
    const auto number = [&](std::size_t at, std::size_t width) {
        unsigned value = 0;
        for (const char digit : whole.substr(at, width)) {
            value = value * 10 + static_cast<unsigned>(digit - '0');
        }
        return value;
    };
    const year_month_day date{year{static_cast<int>(number(0, 4))}, month{number(5, 2)},
                              day{number(8, 2)}};
    if (!date.ok() || number(11, 2) > 23 || number(14, 2) > 59 || number(17, 2) > 59) {
        return std::nullopt;
    }
    return sys_days{date} + hours{number(11, 2)} + minutes{number(14, 2)} + seconds{number(17, 2)} +
           milliseconds{number(20, 3)};
}

}  // namespace holdfast::base

#include "base/text/rfc3339.h"

#include <cstddef>

#include "base/check.h"

namespace holdfast::base {
namespace {

using std::chrono::floor;

// Writes the last `width` decimal digits of `value`, zeros in front.
template <std::size_t width>
void put_digits(char* text, unsigned value) {
    for (std::size_t at = width; at-- > 0; value /= 10) {
        text[at] = static_cast<char>('0' + value % 10);
    }
}

template <std::size_t width>
void put_count(char* text, auto duration) {
    put_digits<width>(text, static_cast<unsigned>(duration.count()));
}

// Appends `2024-01-15T10:30:00`.
void append_date_and_time(std::string& out, std::chrono::sys_seconds time) {
    const auto day = floor<std::chrono::days>(time);
    const std::chrono::year_month_day date(day);
    const std::chrono::hh_mm_ss clock(time - day);
    const int year = static_cast<int>(date.year());
    CHECK(year >= 0 && year <= 9999);

    char text[] = "yyyy-mm-ddThh:mm:ss";
    put_digits<4>(text, static_cast<unsigned>(year));
    put_digits<2>(text + 5, static_cast<unsigned>(date.month()));
    put_digits<2>(text + 8, static_cast<unsigned>(date.day()));
    put_count<2>(text + 11, clock.hours());
    put_count<2>(text + 14, clock.minutes());
    put_count<2>(text + 17, clock.seconds());
    out.append(text, sizeof text - 1);
}

}  // namespace

void append_rfc3339(std::string& out, std::chrono::sys_seconds time) {
    append_date_and_time(out, time);
    out += 'Z';
}

void append_rfc3339(std::string& out, std::chrono::sys_time<std::chrono::milliseconds> time) {
    const auto second = floor<std::chrono::seconds>(time);
    append_date_and_time(out, second);
    char text[] = ".mmmZ";
    put_count<3>(text + 1, time - second);
    out.append(text, sizeof text - 1);
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

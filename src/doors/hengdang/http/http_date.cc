#include "doors/hengdang/http/http_date.h"

#include <fmt/format.h>

#include <array>
#include <ctime>

namespace holdfast::doors::hengdang {

namespace {

constexpr std::array<const char*, 7> days{"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
constexpr std::array<const char*, 12> months{"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                             "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
constexpr std::size_t text_bytes = 29;

}  // namespace

std::string to_http_date(std::chrono::sys_seconds time) {
    const std::time_t seconds = time.time_since_epoch().count();
    std::tm parts{};
    if (gmtime_r(&seconds, &parts) == nullptr) return {};
    return fmt::format("{}, {:02} {} {:04} {:02}:{:02}:{:02} GMT",
                       days[static_cast<std::size_t>(parts.tm_wday)], parts.tm_mday,
                       months[static_cast<std::size_t>(parts.tm_mon)], parts.tm_year + 1900,
                       parts.tm_hour, parts.tm_min, parts.tm_sec);
}

std::optional<std::chrono::sys_seconds> parse_http_date(std::string_view text) {
    if (text.size() != text_bytes) return std::nullopt;
    const std::string copy(text);
    std::tm parts{};
    const char* const end = strptime(copy.c_str(), "%a, %d %b %Y %H:%M:%S GMT", &parts);
    if (end == nullptr || *end != '\0') return std::nullopt;
    const std::chrono::sys_seconds time{std::chrono::seconds{timegm(&parts)}};
    // strptime takes what comes near it: another weekday, a thirtieth of February.
    if (to_http_date(time) != text) return std::nullopt;
    return time;
}

}  // namespace holdfast::doors::hengdang

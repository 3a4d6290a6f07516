#include "doors/hengdang/http/conditions.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <ctime>

namespace holdfast::doors::hengdang {

namespace {

constexpr std::array<const char*, 7> days{"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
constexpr std::array<const char*, 12> months{"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                             "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
constexpr std::size_t date_bytes = 29;

std::string_view trim(std::string_view text) {
    const std::string_view blanks = " \t";
    const std::size_t first = text.find_first_not_of(blanks);
    if (first == std::string_view::npos) return {};
    return text.substr(first, text.find_last_not_of(blanks) - first + 1);
}

tl::unexpected<FileAnswer> refuse_header(std::string_view name, std::string_view form) {
    return tl::unexpected(refuse(400, "Invalid " + std::string(name) + " header format",
                                 std::string(name) + " must be " + std::string(form)));
}

Parsed<std::optional<std::chrono::sys_seconds>> read_date(const net::HttpRequest& request,
                                                          std::string_view name) {
    const auto value = request.header(name);
    if (!value) return std::nullopt;
    const auto date = parse_http_date(*value);
    if (!date) return refuse_header(name, "a date such as Sun, 06 Nov 1994 08:49:37 GMT");
    return date;
}

Parsed<std::optional<std::string>> read_tags(const net::HttpRequest& request,
                                             std::string_view name) {
    const auto value = request.header(name);
    if (!value) return std::nullopt;
    if (!is_tag_list(*value)) return refuse_header(name, "*, or ETags in double quotes");
    return std::string(*value);
}

}  // namespace

Parsed<Conditions> read_conditions(const net::HttpRequest& request) {
    Conditions conditions;
    TRY(conditions.if_match, read_tags(request, "If-Match"));
    TRY(conditions.if_none_match, read_tags(request, "If-None-Match"));
    TRY(conditions.if_unmodified_since, read_date(request, "If-Unmodified-Since"));
    TRY(conditions.if_modified_since, read_date(request, "If-Modified-Since"));
    return conditions;
}

bool is_tag_list(std::string_view text) {
    if (trim(text) == "*") return true;
    while (true) {
        text = trim(text);
        if (text.starts_with("W/")) text.remove_prefix(2);
        if (!text.starts_with('"')) return false;
        const std::size_t end = text.find('"', 1);
        if (end == std::string_view::npos) return false;
        text = trim(text.substr(end + 1));
        if (text.empty()) return true;
        if (!text.starts_with(',')) return false;
        text.remove_prefix(1);
    }
}

// Our tags contain neither commas nor quotes, so a list may be split at each comma.
// NOLINTNEXTLINE(bugprone-easily-swappable-parameters): the header, then ours
bool names_tag(std::string_view list, std::string_view tag, TagComparison comparison) {
    if (trim(list) == "*") return true;
    while (!list.empty()) {
        const std::size_t end = std::min(list.find(','), list.size());
        std::string_view item = trim(list.substr(0, end));
        list.remove_prefix(std::min(end + 1, list.size()));
        if (item.starts_with("W/")) {
            if (comparison == TagComparison::strong) continue;
            item.remove_prefix(2);
        }
        if (item == tag) return true;
    }
    return false;
}

std::chrono::sys_seconds modified_at(const files::FileInfo& info) {
    const std::chrono::sys_time<std::chrono::milliseconds> time{
        std::chrono::milliseconds{info.timestamp_ms}};
    return std::chrono::floor<std::chrono::seconds>(time);
}

std::optional<std::string_view> find_broken(const Conditions& conditions,
                                            const files::FileInfo* current) {
    if (conditions.if_match) {
        if (current == nullptr) return "The file does not exist";
        if (!names_tag(*conditions.if_match, current->etag(), TagComparison::strong)) {
            return "The file was modified: its ETag does not match";
        }
    } else if (conditions.if_unmodified_since && current != nullptr &&
               modified_at(*current) > *conditions.if_unmodified_since) {
        return "The file was modified since then";
    }
    if (conditions.if_none_match && current != nullptr &&
        names_tag(*conditions.if_none_match, current->etag(), TagComparison::weak)) {
        return "The file exists already";
    }
    return std::nullopt;
}

ReadVerdict judge_read(const Conditions& conditions, const files::FileInfo& current) {
    Conditions first = conditions;
    first.if_none_match.reset();
    if (find_broken(first, &current)) return ReadVerdict::precondition_failed;
    if (conditions.if_none_match) {
        const bool is_known =
            names_tag(*conditions.if_none_match, current.etag(), TagComparison::weak);
        return is_known ? ReadVerdict::not_modified : ReadVerdict::send;
    }
    const bool is_old =
        conditions.if_modified_since && modified_at(current) <= *conditions.if_modified_since;
    return is_old ? ReadVerdict::not_modified : ReadVerdict::send;
}

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
    if (text.size() != date_bytes) return std::nullopt;
    const std::string copy(text);
    std::tm parts{};
    const char* const end = strptime(copy.c_str(), "%a, %d %b %Y %H:%M:%S GMT", &parts);
    if (end == nullptr || *end != '\0') return std::nullopt;
    const std::chrono::sys_seconds time{std::chrono::seconds{timegm(&parts)}};
    // strptime is lenient: it accepts a wrong weekday and a thirtieth of February.
    if (to_http_date(time) != text) return std::nullopt;
    return time;
}

}  // namespace holdfast::doors::hengdang

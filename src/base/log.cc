#include "base/log.h"

#include <fmt/format.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <chrono>
#include <iterator>
#include <memory>
#include <string>

#include "base/json.h"
#include "base/rfc3339.h"

namespace holdfast::base {

namespace {

// Set once, before threads start.
struct Log {
    LogFormat format = LogFormat::text;
    LogLevel least = LogLevel::off;
    std::shared_ptr<spdlog::logger> lines;
};

Log& the_log() {
    static Log log;
    return log;
}

std::string_view to_text(LogLevel level) {
    switch (level) {
        case LogLevel::debug: return "debug";
        case LogLevel::info: return "info";
        case LogLevel::warning: return "warning";
        case LogLevel::error: return "error";
        case LogLevel::off: break;
    }
    return "off";
}

bool is_plain(std::string_view text) {
    for (const char c : text) {
        if (c <= ' ' || c == '"' || c == '=' || c > '~') return false;
    }
    return !text.empty();
}

void append_value(std::string& out, LogFormat format, const LogField& field) {
    if (const auto* text = std::get_if<std::string_view>(&field.value)) {
        if (format == LogFormat::text && is_plain(*text)) {
            out.append(*text);
        } else {
            append_json_string(out, *text);
        }
        return;
    }
    std::visit(
        [&out](const auto& number) {
            if constexpr (std::is_arithmetic_v<std::decay_t<decltype(number)>>) {
                fmt::format_to(std::back_inserter(out), "{}", number);
            }
        },
        field.value);
}

}  // namespace

void append_log_line(std::string& out, LogFormat format, LogLevel level, std::int64_t unix_ms,
                     std::string_view message, std::initializer_list<LogField> fields) {
    const std::chrono::sys_time<std::chrono::milliseconds> time{std::chrono::milliseconds{unix_ms}};
    if (format == LogFormat::text) {
        append_rfc3339(out, time);
        fmt::format_to(std::back_inserter(out), " {:<7} {}", to_text(level), message);
        for (const LogField& field : fields) {
            out.append(" ").append(field.key).append("=");
            append_value(out, format, field);
        }
        return;
    }
    out.append(R"({"time":")");
    append_rfc3339(out, time);
    out.append(R"(","level":")").append(to_text(level)).append(R"(","message":)");
    append_json_string(out, message);
    for (const LogField& field : fields) {
        out.append(",");
        append_json_string(out, field.key);
        out.append(":");
        append_value(out, format, field);
    }
    out.append("}");
}

void set_up_log(LogFormat format, LogLevel least) {
    Log& log = the_log();
    log.format = format;
    log.least = least;
    log.lines = std::make_shared<spdlog::logger>("holdfast",
                                                 std::make_shared<spdlog::sinks::stderr_sink_mt>());
    log.lines->set_pattern("%v");
    log.lines->set_level(spdlog::level::trace);
    log.lines->flush_on(spdlog::level::trace);
}

bool is_logged(LogLevel level) {
    const Log& log = the_log();
    return log.lines && level >= log.least;
}

void log(LogLevel level, std::string_view message, std::initializer_list<LogField> fields) {
    if (!is_logged(level)) return;
    const auto now = std::chrono::system_clock::now().time_since_epoch();
    const auto unix_ms = std::chrono::duration_cast<std::chrono::milliseconds>(now).count();
    thread_local std::string line;
    line.clear();
    append_log_line(line, the_log().format, level, unix_ms, message, fields);
    the_log().lines->log(spdlog::level::info, spdlog::string_view_t(line.data(), line.size()));
}

}  // namespace holdfast::base

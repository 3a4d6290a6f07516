#include "base/log/log.h"

#include <fmt/format.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <iterator>
#include <memory>
#include <string>

#include "base/json/json.h"
#include "base/log/log_writer.h"
#include "base/text/rfc3339.h"
#include "base/text/utf8.h"

namespace holdfast::base {

namespace {

// How long the end of the program waits for the reader of the log.
constexpr std::chrono::seconds exit_patience{1};

struct Log {
    std::atomic<LogFormat> format = LogFormat::text;
    std::atomic<LogLevel> least = LogLevel::off;
    std::unique_ptr<LogWriter> writer;  // made once, before threads start, and kept for ever
};

// Is never destroyed: threads may log while the program exits.
Log& the_log() {
    static Log& log = *new Log;
    return log;
}

std::int64_t unix_now_ms() {
    const auto now = std::chrono::system_clock::now().time_since_epoch();
    return std::chrono::duration_cast<std::chrono::milliseconds>(now).count();
}

void append_loss(std::string& out, std::uint64_t count) {
    append_log_line(out, the_log().format, LogLevel::warning, unix_now_ms(), "log lines lost",
                    {{"count", count}});
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

// A JSON string in which also the letters are escaped that JSON leaves as they are and a terminal obeys.
void append_quoted(std::string& out, std::string_view text) {
    const JsonText json(text);
    std::string_view rest = json.view();
    out += '"';
    while (!rest.empty()) {
        const Letter letter = first_letter(rest);
        if (is_obeyed_by_terminals(letter.code)) {
            fmt::format_to(std::back_inserter(out), "\\u{:04x}",
                           static_cast<std::uint32_t>(letter.code));
        } else {
            out += rest.substr(0, letter.bytes);
        }
        rest.remove_prefix(letter.bytes);
    }
    out += '"';
}

void append_value(std::string& out, LogFormat format, const LogField& field) {
    if (const auto* text = std::get_if<std::string_view>(&field.value)) {
        if (format == LogFormat::text && is_plain(*text)) {
            out.append(*text);
        } else {
            append_quoted(out, *text);
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
                     std::string_view message, std::span<const LogField> fields) {
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
    if (log.writer) return;
    log.writer = std::make_unique<LogWriter>(
        LogWriter::Options{.descriptor = STDERR_FILENO, .append_loss = append_loss});
    std::atexit([] { the_log().writer->stop(exit_patience); });
}

bool flush_log(std::chrono::milliseconds patience) {
    return !the_log().writer || the_log().writer->flush(patience);
}

bool is_logged(LogLevel level) {
    const Log& log = the_log();
    return log.writer && level >= log.least;
}

void log(LogLevel level, std::string_view message, std::span<const LogField> fields) {
    if (!is_logged(level)) return;
    thread_local std::string line;
    line.clear();
    append_log_line(line, the_log().format, level, unix_now_ms(), message, fields);
    the_log().writer->write(line);
}

}  // namespace holdfast::base

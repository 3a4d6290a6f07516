#pragma once

// The program's log: one line an event, for people or for machines.
//
//     log(LogLevel::info, "lock granted", {{"lock", name}, {"owner", owner}, {"fence", 7}});
//
//     text   2026-01-15 10:30:00.123 info  lock granted lock=backup owner=laptop1 fence=7
//     json   {"time":"2026-01-15T10:30:00.123Z","level":"info","message":"lock
//     granted","lock":"backup",...}
//
// Lines go to standard error, from a thread of their own (log_writer.h): log() never waits for
// whoever reads the log. When the reader does not keep up, lines are lost, and a line
// `log lines lost count=N` takes their place. What came over the network is escaped in both forms,
// so nobody can forge a line or control the terminal that shows it. Secrets do not belong here:
// callers pass a prefix at most.
//
// Thread safety: log() and flush_log() may be called from any thread after set_up_log().

#include <chrono>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <variant>

namespace holdfast::base {

enum class LogFormat : std::uint8_t { text, json };
enum class LogLevel : std::uint8_t { debug, info, warning, error, off };

// One named value of a log line.
struct LogField {
    std::string_view key;
    std::variant<std::string_view, std::int64_t, std::uint64_t, double> value;
};

// Chooses form and least level. Before this, nothing is written. What is queued when the program
// exits is written then, if the reader takes it within a second.
void set_up_log(LogFormat format, LogLevel least);

// Waits until everything logged before is written, `patience` at most. Returns whether it is.
bool flush_log(std::chrono::milliseconds patience = std::chrono::seconds{1});

[[nodiscard]] bool is_logged(LogLevel level);

void log(LogLevel level, std::string_view message, std::span<const LogField> fields);
inline void log(LogLevel level, std::string_view message,
                std::initializer_list<LogField> fields = {}) {
    log(level, message, std::span(fields.begin(), fields.size()));
}

// One line without its end, as log() would write it; `unix_ms` is when.
void append_log_line(std::string& out, LogFormat format, LogLevel level, std::int64_t unix_ms,
                     std::string_view message, std::span<const LogField> fields);
inline void append_log_line(std::string& out, LogFormat format, LogLevel level,
                            std::int64_t unix_ms, std::string_view message,
                            std::initializer_list<LogField> fields) {
    append_log_line(out, format, level, unix_ms, message, std::span(fields.begin(), fields.size()));
}

}  // namespace holdfast::base

#include "app/dflockd/dflockd_settings.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <charconv>
#include <cmath>
#include <cstdlib>

#include "base/text/number.h"
#include "net/sockets/endpoint.h"
#include "options/options.h"

namespace holdfast::app {

namespace {

using SettingPlace = DflockdSetting::Place;

const DflockdSetting settings_of_dflockd[] = {
    {.option = "--dflockd-default-lease",
     .flag = "--default-lease-ttl",
     .variables = {"DFLOCKD_DEFAULT_LEASE_TTL_S"},
     .help = "TTL of a dflockd request without one",
     .flag_help = "TTL of a request without one",
     .place = [](ServeOptions& options) -> SettingPlace { return &options.dflockd.default_lease; },
     .is_above_zero = true},
    {.option = "--dflockd-auto-release-on-disconnect",
     .flag = "--auto-release-on-disconnect",
     .variables = {"DFLOCKD_AUTO_RELEASE_ON_DISCONNECT"},
     .help = "release the locks of a dflockd connection when it closes",
     .flag_help = "release the locks of a connection when it closes (the default)",
     .place = [](ServeOptions& options) -> SettingPlace {
         return &options.dflockd.releases_on_disconnect;
     }},
    {.option = "--dflockd-max-locks",
     .flag = "--max-locks",
     .variables = {"DFLOCKD_MAX_LOCKS"},
     .help = "largest number of keys that clients of dflockd hold or wait for; 0 means no limit",
     .flag_help = "largest number of keys in use; 0 means no limit",
     .place = [](ServeOptions& options) -> SettingPlace {
         return &options.dflockd_limits.locks_max;
     }},
    {.option = "--dflockd-max-waiters",
     .flag = "--max-waiters",
     .variables = {"DFLOCKD_MAX_WAITERS"},
     .help = "largest number of clients of dflockd that wait for one key; 0 means no limit",
     .flag_help = "largest number of waiters for one key; 0 means no limit",
     .place = [](ServeOptions& options) -> SettingPlace {
         return &options.dflockd_limits.waiters_max;
     }},
    {.option = "--dflockd-max-connections",
     .flag = "--max-connections",
     .variables = {"DFLOCKD_MAX_CONNECTIONS"},
     .help = "largest number of open connections of clients of dflockd; 0 means --connections-max",
     .flag_help = "largest number of open connections; 0 means no limit",
     .place = [](ServeOptions& options) -> SettingPlace {
         return &options.dflockd_limits.connections_max;
     }},
    {.option = "--dflockd-gc-max-idle",
     .flag = "--gc-max-idle",
     .variables = {"DFLOCKD_GC_MAX_IDLE_S", "DFLOCKD_GC_MAX_UNUSED_TIME"},
     .help = "how long an idle key of clients of dflockd is remembered",
     .flag_help = "how long an idle key is remembered",
     .place = [](ServeOptions& options) -> SettingPlace {
         return &options.dflockd_limits.idle_max;
     }},
    {.option = "--dflockd-read-timeout",
     .flag = "--read-timeout",
     .variables = {"DFLOCKD_READ_TIMEOUT_S"},
     .help = "longest time from the first byte of a dflockd request to its last",
     .flag_help = "longest time from the first byte of a request to its last",
     .place = [](ServeOptions& options) -> SettingPlace { return &options.dflockd_read_timeout; }},
    {.option = "--dflockd-write-timeout",
     .flag = "--write-timeout",
     .variables = {"DFLOCKD_WRITE_TIMEOUT_S"},
     .help = "longest time that a client of dflockd may leave its answers unread",
     .flag_help = "longest time that a client may leave its answers unread",
     .place = [](ServeOptions& options) -> SettingPlace { return &options.dflockd_write_timeout; }},
    {.option = "--shutdown-timeout",
     .flag = "--shutdown-timeout",
     .variables = {"DFLOCKD_SHUTDOWN_TIMEOUT_S"},
     .flag_help = "longest time for requests in flight after SIGTERM; 0 means no limit",
     .place = [](ServeOptions& options) -> SettingPlace { return &options.shutdown_timeout; },
     .is_of_door = false},
};

constexpr const char* on_time = "nothing: leases end, and idle keys are removed, on time here";
constexpr const char* no_option = "nothing";

const IgnoredSetting without_effect[] = {
    {"--lease-sweep-interval", {"DFLOCKD_LEASE_SWEEP_INTERVAL_S"}, on_time, true},
    {"--gc-interval", {"DFLOCKD_GC_INTERVAL_S", "DFLOCKD_GC_LOOP_SLEEP"}, on_time, true},
    {"--fence-state-file", {"DFLOCKD_FENCE_STATE_FILE"}, "--data"},
    {"--http-cors-allowed-origins", {"DFLOCKD_HTTP_CORS_ALLOWED_ORIGINS"}, no_option},
    {"--http-host", {"DFLOCKD_HTTP_HOST"}, "--http"},
    {"--http-max-connections-per-ip", {"DFLOCKD_HTTP_MAX_CONNECTIONS_PER_IP"}, no_option},
    {"--http-max-sessions", {"DFLOCKD_HTTP_MAX_SESSIONS"}, no_option},
    {"--http-max-sessions-per-ip", {"DFLOCKD_HTTP_MAX_SESSIONS_PER_IP"}, no_option},
    {"--http-port", {"DFLOCKD_HTTP_PORT"}, "--http"},
    {"--http-rate-limit-burst", {"DFLOCKD_HTTP_RATE_LIMIT_BURST"}, no_option},
    {"--http-rate-limit-per-ip", {"DFLOCKD_HTTP_RATE_LIMIT_PER_IP"}, no_option},
    {"--http-session-idle-timeout", {"DFLOCKD_HTTP_SESSION_IDLE_S"}, "--idle-timeout"},
    {"--http-sse-ping-interval", {"DFLOCKD_HTTP_SSE_PING_S"}, no_option},
    {"--max-connections-per-ip", {"DFLOCKD_MAX_CONNECTIONS_PER_IP"}, no_option},
    {"--max-subscriptions", {"DFLOCKD_MAX_SUBSCRIPTIONS"}, no_option},
};

// Declares one setting as an option of `serve`.
class SettingDeclaration {
  public:
    SettingDeclaration(const options::Command& command, const DflockdSetting& setting)
        : command_(command), setting_(setting) {}

    void operator()(core::Duration* value) const { add_duration(*value); }
    void operator()(std::chrono::milliseconds* value) const { add_duration(*value); }
    void operator()(std::size_t* value) const {
        command_.add_option(setting_.option, *value, setting_.help).shows_default();
    }
    void operator()(bool* value) const {
        const std::string opposite = "--no-" + setting_.option.substr(2);
        command_.add_flag(setting_.option + ",!" + opposite, *value, setting_.help)
            .shows_default(*value ? "true" : "false");
    }

  private:
    template <class Duration>
    void add_duration(Duration& value) const {
        command_.add_duration(setting_.option, value, setting_.help);
    }

    const options::Command& command_;
    const DflockdSetting& setting_;
};

}  // namespace

std::span<const DflockdSetting> dflockd_settings() {
    return settings_of_dflockd;
}

std::span<const IgnoredSetting> ignored_settings() {
    return without_effect;
}

void declare_dflockd_door(const options::Command& command, ServeOptions& options) {
    for (const DflockdSetting& setting : settings_of_dflockd) {
        if (setting.is_of_door)
            std::visit(SettingDeclaration(command, setting), setting.place(options));
    }
}

bool parse_seconds(std::string_view text, std::chrono::duration<double>& value) {
    using Seconds = std::chrono::duration<double>;
    if (text.starts_with('+')) text.remove_prefix(1);
    double seconds = 0;
    const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), seconds);
    if (fault != std::errc() || end != text.data() + text.size()) return false;
    if (!std::isfinite(seconds) || seconds < 0) return false;
    value = std::min(Seconds(seconds), Seconds(for_ever));
    return true;
}

bool parse_count(std::string_view text, std::size_t& value) {
    if (text.starts_with('+')) text.remove_prefix(1);
    const auto number = base::parse_decimal<std::uint64_t>(text == "-0" ? "0" : text);
    if (!number) return false;
    value = *number;
    return true;
}

std::string variable_of(const std::string& name) {
    const char* const value = std::getenv(name.c_str());
    return value == nullptr ? "" : value;
}

base::Result<std::string> find_address(std::string host, std::uint16_t port,
                                       const std::string& source) {
    namespace ip = boost::asio::ip;
    if (host.size() > 2 && host.starts_with('[') && host.ends_with(']')) {
        host = host.substr(1, host.size() - 2);
    }
    if (host.empty()) return ":" + std::to_string(port);  // every address there is
    boost::system::error_code error;
    const auto address = ip::make_address(host, error);
    if (!error) return net::to_text(net::Endpoint(address, port));
    boost::asio::io_context context;
    const auto found = ip::tcp::resolver(context).resolve(
        host, std::to_string(port), ip::tcp::resolver::numeric_service, error);
    if (error || found.empty()) {
        return base::fail(source + " " + host + " has no address: " + error.message());
    }
    const auto is_v4 = [](const auto& entry) { return entry.endpoint().address().is_v4(); };
    const auto best = std::find_if(found.begin(), found.end(), is_v4);
    return net::to_text(best == found.end() ? found.begin()->endpoint() : best->endpoint());
}

base::Result<std::string> clean_secret(const std::string& text, std::string_view source) {
    constexpr const char* blanks = " \t\n\v\f\r";
    const auto first = text.find_first_not_of(blanks);
    if (first == std::string::npos) return base::fail(fmt::format("{} is blank", source));
    const std::string secret = text.substr(first, text.find_last_not_of(blanks) + 1 - first);
    if (secret.find_first_of("\r\n") != std::string::npos) {
        return base::fail(fmt::format("{} has more than one line", source));
    }
    return secret;
}

}  // namespace holdfast::app

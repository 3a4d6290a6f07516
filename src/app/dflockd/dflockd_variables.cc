#include "app/dflockd/dflockd_variables.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <string_view>

#include "app/dflockd/dflockd_settings.h"
#include "base/text/duration.h"

namespace holdfast::app {

namespace {

constexpr std::string_view prefix = "DFLOCKD_";

// Those that are no DflockdSetting.
constexpr const char* host_variable = "DFLOCKD_HOST";
constexpr const char* port_variable = "DFLOCKD_PORT";
constexpr const char* token_variable = "DFLOCKD_AUTH_TOKEN";
constexpr const char* token_file_variable = "DFLOCKD_AUTH_TOKEN_FILE";
constexpr const char* certificate_variable = "DFLOCKD_TLS_CERT";
constexpr const char* key_variable = "DFLOCKD_TLS_KEY";
constexpr const char* debug_variable = "DFLOCKD_DEBUG";

base::Result<std::string> no_value(const std::string& variable, const std::string& text,
                                   std::string_view what) {
    return base::fail(fmt::format("{}: '{}' is not {}", variable, text, what));
}

// The value of a variable as the option of `serve` takes it.
base::Result<std::string> to_option_value(const DflockdSetting& setting,
                                          const std::string& variable, const std::string& text) {
    ServeOptions unused;
    const auto place = setting.place(unused);
    if (std::holds_alternative<bool*>(place)) {
        if (options::is_flag_value(text)) return options::to_flag_value(text) ? "true" : "false";
        return no_value(variable, text, "true or false");
    }
    if (std::holds_alternative<std::size_t*>(place)) {
        std::size_t count = 0;
        if (parse_count(text, count)) return std::to_string(count);
        return no_value(variable, text, "a whole number");
    }
    std::chrono::duration<double> seconds{};
    if (!parse_seconds(text, seconds) || (setting.is_above_zero && seconds.count() <= 0)) {
        return no_value(variable, text, "a number of seconds");
    }
    const bool is_endless = setting.option == "--shutdown-timeout" && seconds.count() <= 0;
    return base::format_duration(is_endless ? std::chrono::nanoseconds(for_ever)
                                            : std::chrono::ceil<std::chrono::nanoseconds>(seconds));
}

// The first of the variables that is set; empty: none is.
std::string find_set(const std::vector<std::string>& variables) {
    const auto is_set = [](const std::string& name) { return !variable_of(name).empty(); };
    const auto found = std::find_if(variables.begin(), variables.end(), is_set);
    return found == variables.end() ? "" : *found;
}

// Takes over variables for one server: gives options values that nothing else has given them so far.
class Takeover {
  public:
    Takeover(const options::Command& command, ServeOptions& options)
        : command_(command), options_(options) {}

    base::Result<void> take_settings() {
        for (const DflockdSetting& setting : dflockd_settings()) {
            const std::string variable = find_set(setting.variables);
            if (variable.empty()) continue;
            TRY(const std::string value, to_option_value(setting, variable, variable_of(variable)));
            set(setting.option, value, variable);
        }
        return {};
    }

    // As LOCKSERVER_ADDR does for --http.
    base::Result<void> take_address() {
        const std::string host = variable_of(host_variable), port_text = variable_of(port_variable);
        const bool is_address_of_service = port_text.starts_with("tcp://");
        if (is_address_of_service) {
            options_.unused.push_back(
                {port_variable, "nothing: Kubernetes sets it for a service named dflockd"});
        }
        const bool has_port = !port_text.empty() && !is_address_of_service;
        if ((host.empty() && !has_port) || command_.option("--dflockd").is_given()) return {};
        std::size_t port = dflockd_port_usual;
        if (has_port &&
            (!parse_count(port_text, port) || port > std::numeric_limits<std::uint16_t>::max())) {
            TRY(const std::string none, no_value(port_variable, port_text, "a port"));
        }
        TRY(const std::string address,
            find_address(host.empty() ? "127.0.0.1" : host, static_cast<std::uint16_t>(port),
                         host_variable));
        set("--dflockd", address, host.empty() ? port_variable : host_variable);
        return {};
    }

    // The secret guards all doors, as that of --auth-token-file does.
    base::Result<void> take_secret() {
        const bool has_own = command_.option("--auth-token-file").is_given() ||
                             command_.option("--tokens").is_given();
        if (has_own) return {};
        const std::string secret = variable_of(token_variable);
        const std::string file = variable_of(token_file_variable);
        if (!secret.empty()) {
            TRY(options_.auth_token, clean_secret(secret, token_variable));
            set("--auth-token-file", "", token_variable);  // instead of a file
        } else if (!file.empty()) {
            set("--auth-token-file", file, token_file_variable);
        }
        return {};
    }

    // A certificate and its key are one thing: one of them alone is not completed from elsewhere.
    void take_certificate() {
        const std::string certificate = variable_of(certificate_variable);
        const std::string key = variable_of(key_variable);
        const bool has_own =
            command_.option("--tls-cert").is_given() || command_.option("--tls-key").is_given();
        if (has_own || (certificate.empty() && key.empty())) return;
        set("--tls-cert", certificate, certificate_variable);
        set("--tls-key", key, key_variable);
    }

    base::Result<void> take_debug() {
        const std::string text = variable_of(debug_variable);
        if (text.empty()) return {};
        if (!options::is_flag_value(text)) {
            TRY(const std::string none, no_value(debug_variable, text, "true or false"));
        }
        if (options::to_flag_value(text)) set("--log-level", "debug", debug_variable);
        return {};
    }

    // Names every other variable of dflockd.
    void note_unused() {
        std::vector<std::string> names;
        for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
            const std::string_view text(*entry);
            const auto equals = text.find('=');
            const bool is_set = equals != text.npos && equals + 1 < text.size();
            if (text.starts_with(prefix) && is_set) names.emplace_back(text.substr(0, equals));
        }
        std::sort(names.begin(), names.end());
        for (const std::string& name : names) {
            if (!is_known(name)) options_.unused.push_back({name, instead_of(name)});
        }
    }

  private:
    // NOLINTNEXTLINE(bugprone-easily-swappable-parameters): as it is written in a shell
    void set(const std::string& option, const std::string& value, const std::string& variable) {
        const options::Option target = command_.option(option);
        if (target.is_given()) return;
        target.set(value);
        options_.borrowed[option] = variable;
    }

    static bool is_known(const std::string& name) {
        const char* const others[] = {host_variable,       port_variable,        token_variable,
                                      token_file_variable, certificate_variable, key_variable,
                                      debug_variable};
        const auto has_it = [&](const DflockdSetting& setting) {
            return std::ranges::find(setting.variables, name) != setting.variables.end();
        };
        return std::ranges::find(others, name) != std::end(others) ||
               std::ranges::any_of(dflockd_settings(), has_it);
    }

    static std::string instead_of(const std::string& name) {
        for (const IgnoredSetting& setting : ignored_settings()) {
            const bool is_it =
                std::ranges::find(setting.variables, name) != setting.variables.end();
            if (is_it) return setting.instead;
        }
        return "nothing: no setting of dflockd has this name";
    }

    const options::Command& command_;
    ServeOptions& options_;
};

}  // namespace

base::Result<void> take_dflockd_variables(const options::Command& command, ServeOptions& options) {
    Takeover takeover(command, options);
    TRY(takeover.take_settings());
    TRY(takeover.take_address());
    TRY(takeover.take_secret());
    takeover.take_certificate();
    TRY(takeover.take_debug());
    takeover.note_unused();
    return {};
}

}  // namespace holdfast::app

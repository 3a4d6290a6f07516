#include "app/serve_options.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <vector>

#include "app/dflockd/dflockd_settings.h"
#include "app/dflockd/dflockd_variables.h"
#include "app/doors.h"
#include "app/http/host_names.h"
#include "base/text/duration.h"
#include "files/login/nostr_event.h"
#include "files/path/file_path.h"
#include "options/options.h"

namespace holdfast::app {

namespace {

options::Option declare_address(const options::Command& command, const Door& door,
                                ServeOptions& options) {
    return command.add_option(std::string("--") + door.name, options.*door.address, door.help)
        .takes("ADDRESS");
}

void declare_listeners(const options::Command& command, ServeOptions& options) {
    for (const Door& door : all_doors()) {
        const options::Option option = declare_address(command, door, options);
        if (door.opens_by_default != nullptr) continue;
        options.*door.address = door.default_address;
        option.shows_default();
    }
}

void declare_connections(const options::Command& command, ServeOptions& options) {
    command.add_flag("--insecure", options.is_insecure,
                     "allow an address that other machines can reach without a token");
    const auto fault_of = [](const std::string& name) {
        return is_host_name(name) ? std::string()
                                  : "'" + name + "' is not a host name (write it without a port)";
    };
    command
        .add_option("--host-name", options.host_names,
                    "host name that HTTP requests may use if there is no auth token, besides "
                    "localhost and the name of the machine; repeatable")
        .takes("NAME")
        .checked_by(fault_of)
        .repeatable(',');
    command
        .add_option(
            "--connections-max", options.connections_max,
            "largest number of open connections, for each listener; further ones are refused")
        .above_zero()
        .shows_default();
    command
        .add_option("--body-max", options.http_body_bytes_max,
                    "largest HTTP request body, in bytes")
        .above_zero()
        .shows_default();
    command.add_duration("--request-timeout", options.http_request_timeout,
                         "how long a client may take to send one request");
    command.add_duration("--idle-timeout", options.http_idle_timeout,
                         "how long a connection may stay open without a request");
}

void declare_file_logins(const options::Command& command, ServeOptions& options) {
    const auto take_keys = [&options](const std::vector<std::string>& keys) {
        options.files.owner_keys.clear();
        for (std::string key : keys) {
            std::transform(key.begin(), key.end(), key.begin(),
                           [](unsigned char letter) { return std::tolower(letter); });
            if (!files::is_public_key(key)) return false;
            options.files.owner_keys.push_back(std::move(key));
        }
        return true;
    };
    command
        .add_option(
            "--files-owner", take_keys,
            "Nostr public key that may log in to the files: 64 hexadecimal digits; repeatable")
        .takes("HEX")
        .repeatable();
    const auto take_urls = [&options](const std::vector<std::string>& texts) {
        options.files.urls.clear();
        for (const std::string& text : texts) {
            options.files.urls.push_back(doors::hengdang::read_own_url(text).value());
        }
        return true;
    };
    const auto find_fault = [](const std::string& text) {
        const auto url = doors::hengdang::read_own_url(text);
        return url ? std::string() : url.error().message;
    };
    command
        .add_option("--files-url", take_urls,
                    "URL at which clients reach the files and for which they sign their logins; "
                    "repeatable. The address of --files counts as well")
        .takes("URL")
        .repeatable()
        .checked_by(find_fault);
}

void declare_file_origins(const options::Command& command, ServeOptions& options) {
    const auto take_origins = [&options](const std::vector<std::string>& texts) {
        options.files.origins.clear();
        for (const std::string& text : texts) {
            options.files.origins.push_back(doors::hengdang::read_origin(text).value());
        }
        return true;
    };
    const auto find_fault = [](const std::string& text) {
        const auto origin = doors::hengdang::read_origin(text);
        return origin ? std::string() : origin.error().message;
    };
    command
        .add_option("--files-origin", take_origins,
                    "origin of a web app that may use the files from a browser, such as "
                    "https://drive.example.org; repeatable")
        .takes("ORIGIN")
        .repeatable()
        .checked_by(find_fault);
}

void declare_files(const options::Command& command, ServeOptions& options) {
    command
        .add_option("--files-root", options.files.root,
                    "folder whose files are served; created if it does not exist")
        .takes("DIR");
    declare_file_logins(command, options);
    declare_file_origins(command, options);
    command
        .add_option("--files-quota", options.files.quota_bytes,
                    "largest size of all files together; 0 means no limit")
        .takes("BYTES")
        .shows_default();
    command
        .add_option("--files-size-max", options.files.file_bytes_max,
                    "largest size of one file; 0 means no limit")
        .takes("BYTES")
        .shows_default();
    command
        .add_option("--files-pace-min", options.files_pace_min,
                    "slowest upload, in bytes a second on average, after its first "
                    "--request-timeout; 0 means no limit")
        .takes("BYTES")
        .shows_default();
}

void declare_redis(const options::Command& command, ServeOptions& options) {
    command.add_flag("--redis-strict", options.redis.is_strict,
                     "refuse Redis commands that end or prolong a lock without proving its value");
}

void declare_auth_token(const options::Command& command, ServeOptions& options) {
    command.add_file(
        "--auth-token-file", options.auth_token_file,
        "every request must send the token in the first line of FILE; read again on SIGHUP");
}

void declare_tokens(const options::Command& command, ServeOptions& options) {
    command.add_file(
        "--admin-token-file", options.admin_token_file,
        "file with the admin token, which may also end leases of others; read again on SIGHUP");
    command.add_file("--tokens", options.tokens_file,
                     "many tokens, each with rights of its own (`holdfast token new` makes one); "
                     "read again on SIGHUP");
    command.add_duration("--token-overlap", options.token_overlap,
                         "how long the old secret of a token is still right after SIGHUP has "
                         "brought a new one");
}

void declare_tls(const options::Command& command, ServeOptions& options) {
    command.add_file("--tls-cert", options.tls.certificate_file,
                     "use TLS with this certificate chain, in PEM form; read again on SIGHUP");
    command.add_file("--tls-key", options.tls.key_file, "key of the certificate, in PEM form");
}

void declare_locks(const options::Command& command, ServeOptions& options) {
    command.add_duration("--default-ttl", options.homelab.default_ttl,
                         "TTL of a /lock request without ttl");
    command.add_duration("--grace", options.homelab.grace,
                         "how long an expired /lock is reserved for its last holder");
    command.add_duration("--lease-duration", options.scoped.default_duration,
                         "TTL of a /v1/leases request without ttl_ms");
    command.add_duration("--lease-max", options.scoped.duration_max,
                         "longest TTL of a /v1/leases request");
    command.add_duration(
        "--terraform-hold-max", options.terraform.hold_max,
        "longest time that a lock of Terraform lasts; 0s means until it is released");
    command
        .add_option("--leases-max", options.limits.leases_max,
                    "largest number of leases and waiters, of all doors together")
        .above_zero(false)
        .shows_default();
    command
        .add_option("--fences-max", options.fences_max,
                    "largest number of resources that /v1/fence remembers")
        .shows_default();
}

void declare_store(const options::Command& command, ServeOptions& options) {
    command
        .add_option("--data", options.data_folder,
                    "folder of the database, in which locks survive a restart; created if it does "
                    "not exist. Default: holdfast in $XDG_STATE_HOME or ~/.local/state, but "
                    "./holdfast-data if that has a database")
        .takes("DIR")
        .shows_default(data_folder_shown);
    command.add_flag("--memory", options.is_in_memory, "no database: a restart forgets all locks");
}

void declare_history(const options::Command& command, ServeOptions& options) {
    const auto take_age = [&options](const std::vector<std::string>& texts) {
        const auto age = base::parse_long_duration(texts.back());
        if (!age || *age < age->zero()) return false;
        options.history.age_max = std::chrono::ceil<core::Duration>(*age);
        return true;
    };
    command
        .add_option("--history", take_age,
                    "how long the history remembers who held what, such as 12h or 30d; 0 keeps "
                    "none. `holdfast history` shows it")
        .takes("DURATION")
        .shows_default("7d");
    command
        .add_option("--history-max", options.history.rows_max,
                    "largest number of holds in the history; the oldest go first. With --memory "
                    "10000 at most, in a cluster --cluster-history-max")
        .above_zero()
        .shows_default();
}

void declare_process(const options::Command& command, ServeOptions& options) {
    command
        .add_option("--threads", options.threads,
                    "number of threads that serve connections; with more than 1, one further "
                    "thread owns the locks")
        .between(1, 256)
        .shows_default();
    command.add_duration("--shutdown-timeout", options.shutdown_timeout,
                         "how long requests in flight may take after SIGTERM");
    options.log_format = isatty(STDERR_FILENO) == 1 ? base::LogFormat::text : base::LogFormat::json;
    const std::map<std::string, base::LogFormat> formats{{"text", base::LogFormat::text},
                                                         {"json", base::LogFormat::json}};
    command
        .add_choice("--log-format", options.log_format, formats,
                    "text or json. Default: text on a terminal, json otherwise", false)
        .takes("FORMAT");
    const std::map<std::string, base::LogLevel> levels{{"debug", base::LogLevel::debug},
                                                       {"info", base::LogLevel::info},
                                                       {"warning", base::LogLevel::warning},
                                                       {"error", base::LogLevel::error},
                                                       {"off", base::LogLevel::off}};
    command
        .add_choice("--log-level", options.log_level, levels,
                    "debug, info, warning, error or off; grants and releases are logged at info",
                    false)
        .takes("LEVEL")
        .shows_default("info");
}

// What LockServer's users have set up. Our own variables and flags count for more.
void take_lockserver_variables(const options::Command& command, ServeOptions& options) {
    const auto variable = [](const char* name) {
        const char* const value = std::getenv(name);
        return std::string(value == nullptr ? "" : value);
    };
    const options::Option http = command.option("--http");
    const std::string address = variable("LOCKSERVER_ADDR");
    if (!address.empty() && !http.is_given()) {
        http.set(address);
        options.borrowed["--http"] = "LOCKSERVER_ADDR";
    }
    if (!command.option("--data").is_given()) {
        options.lockserver_database = variable("LOCKSERVER_DB");
        if (!options.lockserver_database.empty()) options.borrowed["--data"] = "LOCKSERVER_DB";
    }
}

void declare_config_file(const options::Command& command, ServeOptions& options) {
    const std::string help = "read options from FILE, one `name = value` on each line";
    const options::Option path =
        command.add_option("--config", help).takes("FILE").existing_file().not_in_files();
    command.on_parsed([command, &options, path] {
        take_lockserver_variables(command, options);
        const auto taken = take_dflockd_variables(command, options);
        if (!taken) options::Command::refuse(taken.error().message);
        if (path.is_given()) command.read_file(path.value());
        const bool is_given = command.option("--data").is_given();
        options.data_folder = or_default_data_folder(is_given ? options.data_folder : "");
    });
}

}  // namespace

void declare_serve_options(const options::Command& command, ServeOptions& options) {
    declare_listeners(command, options);
    declare_connections(command, options);
    declare_dflockd_door(command, options);
    declare_files(command, options);
    declare_redis(command, options);
    declare_auth_token(command, options);
    declare_tokens(command, options);
    declare_tls(command, options);
    declare_locks(command, options);
    declare_store(command, options);
    declare_history(command, options);
    declare_cluster_options(command, options.cluster);
    declare_process(command, options);
    declare_config_file(command, options);
    command.name_variables("HOLDFAST_");
    command.footer(
        "A flag overrides its environment variable (HOLDFAST_HTTP, HOLDFAST_GRACE, ...), and the\n"
        "variable overrides the configuration file. Durations are written 250ms, 30s, 1m30s, 1h.\n"
        "LOCKSERVER_ADDR and LOCKSERVER_DB are further variables of --http and --data, and those "
        "of\n"
        "dflockd (DFLOCKD_MAX_LOCKS, ...) of their options. A HOLDFAST_ variable overrides them.\n"
        "\n"
        "Acquire a lock, look at it, release it:\n"
        "  curl -X POST   'http://127.0.0.1:8080/lock?client=laptop1&ttl=30s'\n"
        "  curl           'http://127.0.0.1:8080/lock'\n"
        "  curl -X DELETE 'http://127.0.0.1:8080/lock?client=laptop1'");
}

void declare_other_doors(const options::Command& command, ServeOptions& options) {
    for (const Door& door : all_doors()) {
        const bool is_other = door.address != &ServeOptions::dflockd_address && door.is_shared;
        if (!is_other) continue;  // the status of a node is for clusters
        declare_address(command, door, options);
    }
    declare_connections(command, options);
    declare_files(command, options);
    declare_redis(command, options);
    declare_tokens(command, options);
    declare_locks(command, options);
    declare_history(command, options);
}

bool has_auth_token(const ServeOptions& options) {
    return !options.auth_token_file.empty() || !options.auth_token.empty() ||
           !options.tokens_file.empty();
}

bool has_database(const ServeOptions& options) {
    return !options.is_in_memory && !options.cluster.is_on();
}

std::string where_locks_are(const ServeOptions& options) {
    if (options.cluster.is_on()) return options.cluster.etcd;
    return options.is_in_memory ? "in memory" : absolute_path(database_file(options));
}

std::string database_file(const ServeOptions& options) {
    if (!options.lockserver_database.empty()) return options.lockserver_database;
    return options.data_folder + "/" + database_name;
}

doors::terraform::StatePlace state_place(const ServeOptions& options) {
    if (options.cluster.is_on()) {
        if (options.files.root.empty() || !options.cluster.has_shared_files) {
            return {.refusal =
                        "in a cluster, the states of Terraform are in the files' folder that "
                        "all nodes share: start every node with --files-root and "
                        "--files-shared"};
        }
        // No path of the file door leads there.
        return {.folder =
                    options.files.root + "/" + std::string(files::own_folder_name) + "/terraform"};
    }
    if (options.is_in_memory) return {.is_temporary = true};
    const std::filesystem::path database = database_file(options);
    return {.folder = (database.parent_path() / "terraform").string()};
}

base::Result<void> check(const ServeOptions& options) {
    TRY(check_doors(options));
    TRY(check_cluster(options.cluster, options.is_insecure));
    if (options.cluster.is_on() && options.is_in_memory) {
        return base::fail(
            "--memory and --cluster cannot be used together: a cluster has its locks in etcd");
    }
    if (options.tls.certificate_file.empty() != options.tls.key_file.empty()) {
        return base::fail("--tls-cert and --tls-key belong together: give both or neither");
    }
    if (options.token_overlap < core::Duration::zero() ||
        options.token_overlap > std::chrono::days{30}) {
        return base::fail("--token-overlap must be at most 30 days");
    }
    if (options.homelab.default_ttl <= core::Duration::zero()) {
        return base::fail("--default-ttl must be longer than zero");
    }
    if (options.scoped.default_duration <= std::chrono::milliseconds::zero() ||
        options.scoped.default_duration > options.scoped.duration_max ||
        options.scoped.duration_max > options.limits.ttl_max) {
        return base::fail(
            "--lease-duration must be longer than zero and at most --lease-max, and --lease-max at "
            "most 366 days");
    }
    const core::Duration hold_max = options.terraform.hold_max;
    if (hold_max < core::Duration::zero() || hold_max > options.limits.ttl_max) {
        return base::fail("--terraform-hold-max must be at most 366 days");
    }
    if (options.dflockd.default_lease < options.limits.ttl_min ||
        options.dflockd.default_lease > options.limits.ttl_max) {
        return base::fail(
            "--dflockd-default-lease (of `holdfast dflockd`: --default-lease-ttl) must be longer "
            "than zero, and at most 366 days");
    }
    return {};
}

}  // namespace holdfast::app

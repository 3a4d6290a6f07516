#pragma once

// What `holdfast serve` can be told, with its defaults.

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "app/cluster/cluster_options.h"
#include "app/commands/data_folder.h"
#include "base/log/log.h"
#include "base/result.h"
#include "core/values/request.h"
#include "doors/dflockd/dflockd_door.h"
#include "doors/hengdang/hengdang_door.h"
#include "doors/homelab/homelab_handler.h"
#include "doors/redis/redis_door.h"
#include "doors/scoped/scoped_request.h"
#include "doors/terraform/terraform_door.h"
#include "net/tls/tls_context.h"
#include "options/options.h"
#include "service/books/fence.h"
#include "service/history/hold.h"

namespace holdfast::app {

// An address that switches its door off.
inline constexpr const char* no_address = "none";

// What the clients of dflockd's door may use. Locks, waiters and connections of other doors do not
// count, and are not refused because of it. Zero means no limit of the door's own.
struct DflockdLimits {
    std::size_t locks_max = 0;
    std::size_t waiters_max = 0;  // for one lock
    std::size_t connections_max = 0;
    const char* connections_option = "--dflockd-max-connections";  // that gave the number
    core::Duration idle_max{0};  // how long a lock is remembered that nobody holds or wants
};

// A variable of the environment that another server honours, and this one does not.
struct UnusedVariable {
    std::string name;
    std::string instead;  // the option to use
};

struct ServeOptions {
    // Where the doors of doors.h listen. Empty: at the door's default address, if the door opens by
    // default. The command line's default of dflockd_address is 127.0.0.1:6388; hosts inside of
    // tests have that door only if they ask for it.
    std::string http_address = "127.0.0.1:8080";
    std::string dflockd_address = no_address;
    std::string redis_address;
    std::string files_address;
    std::string status_address;
    bool is_insecure = false;
    // As at dflockd itself, its door may be open to everybody who can reach it, with a warning.
    bool is_dflockd_unguarded = false;
    std::vector<std::string> host_names;  // that HTTP clients may call this server, beside its own
    std::string auth_token;               // itself, where a script insists; else
    std::string auth_token_file;          // empty: nobody is asked for a token
    std::string admin_token_file;         // empty: with an auth token, nobody is an admin
    std::string tokens_file;              // many tokens, each with its rights; empty: none
    core::Duration token_overlap{0};      // a secret that was replaced is right for so long
    net::TlsFiles tls;                    // both empty: plain
    // The command line's default is default_data_folder().
    std::string data_folder = data_folder_here;
    std::string lockserver_database;  // LOCKSERVER_DB: this file instead
    bool is_in_memory = false;
    service::HistoryLimits history{.age_max = std::chrono::hours{24 * 7}, .removes_old_rows = true};
    ClusterOptions cluster;
    std::size_t threads = 1;
    core::Limits limits;
    std::size_t fences_max = service::FenceLimits{}.resources_max;
    doors::homelab::HomelabOptions homelab;
    doors::scoped::ScopedOptions scoped;
    doors::dflockd::DflockdOptions dflockd;
    DflockdLimits dflockd_limits;
    doors::terraform::TerraformOptions terraform;
    doors::redis::RedisOptions redis;
    doors::hengdang::HengdangOptions files;  // without a root, that door is switched off
    std::chrono::milliseconds dflockd_read_timeout{23'000};
    std::chrono::milliseconds dflockd_write_timeout{5'000};
    std::chrono::milliseconds redis_request_timeout{30'000};
    std::size_t http_body_bytes_max = std::size_t{1024} * 1024;
    std::chrono::milliseconds http_request_timeout{10'000};
    // Of an upload, in bytes a second on average, after the first http_request_timeout; 0: none.
    std::uint64_t files_pace_min = 1024;
    std::chrono::milliseconds http_idle_timeout{75'000};
    // For each listener: 10 000 workers, and half as many again for those that connect anew before
    // their old connections have ended, for tools and for dashboards.
    std::size_t connections_max = 15'000;
    std::chrono::milliseconds shutdown_timeout{10'000};
    base::LogFormat log_format = base::LogFormat::json;
    base::LogLevel log_level = base::LogLevel::info;
    // Which variables of the servers that this one replaces gave options their values, and which
    // have no effect.
    std::map<std::string, std::string> borrowed;  // by option: `--http`
    std::vector<UnusedVariable> unused;
};

// Declares the options of `serve` on its command. Parsing writes to `options`; a value that makes
// no sense is refused by the command line with a sentence that names it.
void declare_serve_options(const options::Command& command, ServeOptions& options);

// Declares the options of `serve` that concern other doors than dflockd's, rights and locks: what
// `holdfast dflockd` takes beside the flags of dflockd. A door opens only if its address is given.
void declare_other_doors(const options::Command& command, ServeOptions& options);

// Whether clients must show a token.
[[nodiscard]] bool has_auth_token(const ServeOptions& options);

// Whether the locks are in a file of this machine, and which.
[[nodiscard]] bool has_database(const ServeOptions& options);
[[nodiscard]] std::string database_file(const ServeOptions& options);
// Where the states of Terraform are: beside the database, or in the folder that all nodes share.
[[nodiscard]] doors::terraform::StatePlace state_place(const ServeOptions& options);
// Where the locks are, for people; a path is absolute.
[[nodiscard]] std::string where_locks_are(const ServeOptions& options);

// Refuses combinations that must not run.
[[nodiscard]] base::Result<void> check(const ServeOptions& options);

}  // namespace holdfast::app

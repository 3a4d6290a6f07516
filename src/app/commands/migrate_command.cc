// `holdfast migrate`: moves locks between a data folder and a cluster, with nothing running.

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>

#include "app/cluster/loop_timers.h"
#include "app/cluster/transfer.h"
#include "app/commands/commands.h"
#include "app/loop_executor.h"
#include "app/serve_options.h"
#include "base/random.h"
#include "base/token_file.h"
#include "cluster/boottime_clock.h"
#include "cluster/cluster_store.h"
#include "etcd/client.h"
#include "etcd/cluster_url.h"
#include "options/options.h"
#include "store/sqlite_store.h"

namespace holdfast::app {

namespace {

struct MigrateCommand {
    std::string from, to;  // each a folder or the URL of an etcd
    ClusterOptions cluster;
};

void declare_migrate_options(const options::Command& command, MigrateCommand& migrate) {
    command
        .add_option("--from", migrate.from,
                    "folder of a server, or the etcd of a cluster: etcd://HOST:PORT,.../PREFIX")
        .takes("PLACE")
        .required();
    command.add_option("--to", migrate.to, "the other one; it must have no locks yet")
        .takes("PLACE")
        .required();
    const auto add_file = [&](const char* flag, std::string& path, const char* help) {
        command.add_option(flag, path, help).takes("FILE");
    };
    add_file("--cluster-ca", migrate.cluster.ca_file, "certificates that etcd's must be signed by");
    add_file("--cluster-cert", migrate.cluster.tls.certificate_file, "certificate to show to etcd");
    add_file("--cluster-key", migrate.cluster.tls.key_file, "the key of that certificate");
    command.add_option("--cluster-user", migrate.cluster.user, "user of etcd").takes("NAME");
    add_file("--cluster-password-file", migrate.cluster.password_file,
             "file with that user's password in its first line");
    command.footer(
        "Nothing may be running on either side: neither the server nor a node. Every lease begins "
        "its\n"
        "time anew when a server starts with it, and fencing tokens go on growing. The source "
        "stays as\n"
        "it is: do not start a server on it any more.\n"
        "\n"
        "  holdfast migrate --from ./holdfast-data --to etcd://10.0.0.1:2379/holdfast\n"
        "  holdfast migrate --from etcd://10.0.0.1:2379/holdfast --to ./holdfast-data");
}

// One side of a migration.
class Place {
  public:
    Place(net::EventLoop& loop, const service::Clock& clock) : loop_(loop), clock_(clock) {}

    base::Result<void> open(const std::string& text, const ClusterOptions& options) {
        if (text.find("://") != std::string::npos) return open_etcd(text, options);
        TRY(store_, store::SqliteStore::open(database_file({.data_folder = text}), clock_));
        return {};
    }

    // Calls `fail` if somebody else uses the place.
    void watch(const std::function<void(const std::string&)>& fail) {
        if (cluster_ == nullptr) return;
        cluster_->view().on_change([this, fail](const cluster::Picture& picture) {
            if (picture.leader.name.empty() || picture.leader.name == picture.node) return;
            fail("node " + picture.leader.name + " leads: stop all nodes first");
        });
    }

    void close(std::function<void()> done) {
        if (cluster_ == nullptr) return done();
        cluster_->stop(std::move(done));
    }

    [[nodiscard]] service::Store& store() { return *store_; }

  private:
    base::Result<void> open_etcd(const std::string& text, const ClusterOptions& options) {
        TRY(auto url, etcd::ClusterUrl::parse(text));
        etcd::ClientSettings settings{.members = std::move(url.members),
                                      .is_tls = url.is_tls || !options.ca_file.empty() ||
                                                !options.tls.certificate_file.empty(),
                                      .ca_file = options.ca_file,
                                      .certificate = options.tls,
                                      .user = options.user};
        if (!options.password_file.empty()) {
            TRY(settings.password, base::read_token_file(options.password_file));
        }
        TRY(etcd_, etcd::Client::open(loop_, std::move(settings)));
        timers_ = std::make_unique<LoopTimers>(loop_, clock_);
        auto opened = std::make_unique<cluster::ClusterStore>(
            cluster::ClusterOptions{.prefix = url.prefix,
                                    .node = "migration",
                                    .peer = "127.0.0.1:1",  // nobody connects to it
                                    .version = HOLDFAST_VERSION},
            cluster::ClusterParts{
                .etcd = *etcd_, .timers = *timers_, .clock = clock_, .random = base::RandomBits()});
        cluster_ = opened.get();
        store_ = std::move(opened);
        return {};
    }

    net::EventLoop& loop_;
    const service::Clock& clock_;
    std::unique_ptr<etcd::Client> etcd_;
    std::unique_ptr<LoopTimers> timers_;
    std::unique_ptr<service::Store> store_;
    cluster::ClusterStore* cluster_ = nullptr;  // null: a folder
};

base::Result<Transferred> migrate(const MigrateCommand& command) {
    net::EventLoop loop;
    LoopExecutor executor(loop);
    const cluster::BoottimeClock clock;
    Place from(loop, clock), to(loop, clock);
    TRY(from.open(command.from, command.cluster));
    TRY(to.open(command.to, command.cluster));
    base::Result<Transferred> result = base::fail("not done");
    bool is_over = false;
    const auto finish = [&](base::Result<Transferred> done) {
        if (std::exchange(is_over, true)) return;
        result = std::move(done);
        loop.post([&] { from.close([&] { to.close([&] { loop.stop(); }); }); });
    };
    for (Place* place : {&from, &to}) {
        place->watch([&](const std::string& why) { finish(base::fail(why)); });
    }
    loop.post([&] { transfer(from.store(), to.store(), clock, executor, finish); });
    loop.run();
    return result;
}

int run_migrate(const MigrateCommand& command) {
    base::set_up_log(base::LogFormat::text, base::LogLevel::error);
    const auto done = migrate(command);
    base::flush_log();
    if (!done) {
        std::fprintf(stderr, "holdfast: %s\n", done.error().message.c_str());
        return EXIT_FAILURE;
    }
    std::printf("moved; leases: %zu, fences: %zu, the next fencing number: %llu or above\n",
                done->leases, done->fences, static_cast<unsigned long long>(done->next_fence));
    return EXIT_SUCCESS;
}

}  // namespace

cli::Command declare_migrate(const options::Command& program) {
    const auto options = std::make_shared<MigrateCommand>();
    const options::Command command =
        program.add_command("migrate", "move locks between a data folder and a cluster");
    declare_migrate_options(command, *options);
    return {command, [options] { return run_migrate(*options); }};
}

}  // namespace holdfast::app

// `holdfast migrate`: moves locks between a data folder and a cluster, with nothing running.

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>

#include "app/cluster/etcd_access.h"
#include "app/cluster/loop_timers.h"
#include "app/cluster/transfer.h"
#include "app/commands/commands.h"
#include "app/loop_executor.h"
#include "app/serve_options.h"
#include "base/crypto.h"
#include "cluster/cluster_store.h"
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
                    "where the locks are: the data folder of a server, or the etcd of a cluster, "
                    "etcd://HOST:PORT,.../PREFIX")
        .takes("PLACE")
        .required();
    command.add_option("--to", migrate.to, "where to move them; there must be no locks yet")
        .takes("PLACE")
        .required();
    declare_etcd_access(command, migrate.cluster);
    command.footer(
        "Stop the server and all nodes first. Every lease gets its full TTL again when a server\n"
        "starts with the moved locks, and fencing numbers keep growing. The source is not "
        "changed:\n"
        "do not start a server on it again.\n"
        "\n"
        "  holdfast migrate --from /var/lib/holdfast --to etcd://10.0.0.1:2379/holdfast\n"
        "  holdfast migrate --from etcd://10.0.0.1:2379/holdfast --to /var/lib/holdfast");
}

// One side of a migration.
class Place {
  public:
    Place(net::EventLoop& loop, const service::Clock& clock) : loop_(loop), clock_(clock) {}

    base::Result<void> open(const std::string& text, const ClusterOptions& options) {
        if (text.find("://") != std::string::npos) return open_cluster(text, options);
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
    base::Result<void> open_cluster(const std::string& text, ClusterOptions options) {
        options.etcd = text;
        TRY(auto etcd, app::open_etcd(options, loop_));
        etcd_ = std::move(etcd.client);
        timers_ = std::make_unique<LoopTimers>(loop_, clock_);
        auto opened = std::make_unique<cluster::ClusterStore>(
            cluster::ClusterOptions{.prefix = etcd.prefix,
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
    const service::BoottimeClock clock;
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

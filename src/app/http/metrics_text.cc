#include "app/http/metrics_text.h"

#include <prometheus/metric_family.h>
#include <prometheus/text_serializer.h>

#include <chrono>
#include <limits>
#include <sstream>
#include <tuple>
#include <utility>
#include <vector>

namespace holdfast::app {

namespace {

using prometheus::ClientMetric;
using prometheus::MetricType;
using Labels = std::vector<ClientMetric::Label>;

// Collects metric families in the order in which the page shows them.
class Page {
  public:
    void begin(MetricType type, const char* name, const char* help) {
        families_.push_back({.name = name, .help = help, .type = type, .metric = {}});
    }

    // Adds a value to the last family.
    void value(double value, Labels labels = {}) {
        ClientMetric& metric = add(std::move(labels));
        metric.counter.value = metric.gauge.value = value;
    }
    void value(std::uint64_t number, Labels labels = {}) {
        value(static_cast<double>(number), std::move(labels));
    }
    void value(const base::Histogram& histogram, Labels labels = {}) {
        ClientMetric::Histogram& shown = add(std::move(labels)).histogram;
        shown.sample_count = histogram.count();
        shown.sample_sum = histogram.sum();
        std::uint64_t so_far = 0;
        for (std::size_t index = 0; index < histogram.counts().size(); ++index) {
            const bool is_last = index + 1 == histogram.counts().size();
            so_far += histogram.counts()[index];
            shown.bucket.push_back({.cumulative_count = so_far,
                                    .upper_bound = is_last ? std::numeric_limits<double>::infinity()
                                                           : histogram.bound(index)});
        }
    }

    // Adds a family that has one value.
    template <class Value>
    void counter(const char* name, const char* help, const Value& number) {
        begin(MetricType::Counter, name, help);
        value(number);
    }
    template <class Value>
    void gauge(const char* name, const char* help, const Value& number) {
        begin(MetricType::Gauge, name, help);
        value(number);
    }
    void histogram(const char* name, const char* help, const base::Histogram& numbers) {
        begin(MetricType::Histogram, name, help);
        value(numbers);
    }

    [[nodiscard]] std::string text() const {
        std::ostringstream out;
        prometheus::TextSerializer().Serialize(out, families_);
        return out.str();
    }

  private:
    ClientMetric& add(Labels labels) {
        ClientMetric& metric = families_.back().metric.emplace_back();
        metric.label = std::move(labels);
        return metric;
    }

    std::vector<prometheus::MetricFamily> families_;
};

void add_operations(Page& page, const service::ServiceFigures& service) {
    const std::pair<const char*, const service::OperationFigures*> operations[] = {
        {"acquire", &service.acquire}, {"renew", &service.renew}, {"release", &service.release}};
    const std::pair<const char*, const char*> totals[] = {
        {"lock_acquire_total", "Leases granted, and requests for a lock that were refused."},
        {"lock_renew_total", "Leases renewed, and requests to renew one that were refused."},
        {"lock_release_total",
         "Leases released by a client, and requests to release one that were refused."}};
    for (std::size_t index = 0; index < std::size(operations); ++index) {
        const service::OperationFigures& operation = *operations[index].second;
        page.begin(MetricType::Counter, totals[index].first, totals[index].second);
        page.value(operation.success, {{"result", "success"}});
        page.value(operation.fail, {{"result", "fail"}});
        page.value(operation.busy, {{"result", "busy"}});
    }
    page.begin(MetricType::Histogram, "lock_op_latency_ms",
               "Milliseconds from the decision to the answer; waiting for a lock is not in it.");
    for (const auto& [name, operation] : operations)
        page.value(operation->latency_ms, {{"op", name}});
    page.begin(
        MetricType::Counter, "lock_db_busy_total",
        "Requests refused because another program had the database locked until the journal was "
        "full.");
    for (const auto& [name, operation] : operations) page.value(operation->busy, {{"op", name}});
}

void add_locks(Page& page, const service::ServiceFigures& service) {
    page.gauge("locks_held", "Leases that have not expired.", std::uint64_t{service.table.leases});
    page.counter("lock_expired_total", "Leases that ended because nobody renewed them.",
                 service.expired);
    page.counter("holdfast_forced_releases_total",
                 "Leases ended by somebody other than their holder.", service.forced);
    page.gauge("holdfast_locks",
               "Locks that are held, waited for, or remembered for their last holder.",
               std::uint64_t{service.table.locks});
    page.gauge("holdfast_waiters", "Requests that wait for a lock.",
               std::uint64_t{service.table.waiters});
    page.gauge("holdfast_sessions", "Connections and logins that own locks.",
               std::uint64_t{service.table.sessions});
    page.begin(MetricType::Counter, "holdfast_waits_total", "Waits for a lock, by how they ended.");
    page.value(service.waits_granted, {{"result", "granted"}});
    page.value(service.waits_timed_out, {{"result", "timed_out"}});
    page.value(service.waits_cancelled, {{"result", "cancelled"}});
    page.counter("holdfast_deadlocks_total",
                 "Requests that closed a circle of clients that wait for each other.",
                 service.deadlocks);
    page.histogram("holdfast_wait_seconds",
                   "How long requests waited before they were granted a lock.",
                   service.wait_seconds);
    page.histogram("holdfast_hold_seconds", "How long locks were held.", service.hold_seconds);
    page.histogram("holdfast_sweep_seconds", "How long it took to end leases that had expired.",
                   service.sweep_seconds);
}

void add_fences(Page& page, const service::ServiceFigures& service) {
    page.gauge("holdfast_fences", "Resources whose largest fencing number is remembered.",
               service.fences);
    page.begin(MetricType::Counter, "holdfast_fence_checks_total",
               "Checks of tokens and of fencing numbers, by result.");
    const service::FenceFigures& checks = service.fence_checks;
    const std::tuple<const char*, const char*, std::uint64_t> results[] = {
        {"token", "accepted", checks.tokens_accepted},
        {"token", "mismatch", checks.tokens_mismatched},
        {"token", "expired", checks.tokens_expired},
        {"token", "unknown", checks.tokens_unknown},
        {"number", "accepted", checks.numbers_accepted},
        {"number", "stale", checks.numbers_stale},
        {"number", "refused", checks.numbers_refused},
        {"any", "failed", checks.failed}};
    for (const auto& [check, result, count] : results) {
        page.value(count, {{"check", check}, {"result", result}});
    }
}

void add_store(Page& page, const service::ServiceFigures& service,
               const service::StoreFigures& store) {
    page.gauge("holdfast_ready", "Whether locks are granted: 0 while the store cannot be written.",
               std::uint64_t{service.failure.empty()});
    page.counter("holdfast_store_commits_total", "Transactions written to disk.", store.commits);
    page.begin(MetricType::Counter, "holdfast_store_commit_failures_total",
               "Transactions that could not be written, by reason.");
    page.value(store.busy_failures, {{"reason", "busy"}});
    page.value(store.commit_failures - store.busy_failures, {{"reason", "error"}});
    page.counter("holdfast_store_changes_total", "Grants, ends and new terms written to disk.",
                 store.changes);
    page.histogram("holdfast_store_commit_seconds",
                   "How long a transaction took, its fsync included.", store.commit_seconds);
    page.histogram("holdfast_store_batch_changes", "How many changes shared a transaction.",
                   store.batch_sizes);
    page.gauge("holdfast_store_size_bytes", "Size of the database on disk.", store.disk_bytes);
    page.gauge("holdfast_history_rows", "Holds in the history.", store.history_rows);
}

void add_files(Page& page, const doors::hengdang::FileFigures& files) {
    page.begin(MetricType::Counter, "holdfast_files_requests_total",
               "Requests to the file door that were answered, by operation and status.");
    for (const auto& [what, count] : files.answers) {
        page.value(count, {{"operation", std::string(doors::hengdang::to_text(what.first))},
                           {"status", std::to_string(what.second)}});
    }
    page.counter("holdfast_files_received_bytes_total", "Bytes of uploads that have arrived.",
                 files.received_bytes);
    page.counter("holdfast_files_sent_bytes_total", "Bytes of files that were sent.",
                 files.sent_bytes);
    page.gauge("holdfast_files_sessions", "Logins that have neither ended nor expired.",
               std::uint64_t{files.sessions});
    if (!files.used_bytes) return;
    page.gauge("holdfast_files_used_bytes", "Size of all files together.", *files.used_bytes);
    page.gauge("holdfast_files_quota_bytes", "Largest size of all files together.",
               files.quota_bytes);
}

void add_cluster(Page& page, const Figures& figures) {
    const cluster::Picture& picture = *figures.cluster;
    page.gauge("holdfast_cluster_leading", "Whether this node leads its cluster.",
               std::uint64_t{picture.is_leading()});
    page.gauge("holdfast_cluster_served",
               "Whether this node serves clients, or can pass them on to the leader.",
               std::uint64_t{picture.is_leading() ||
                             (picture.is_served() && figures.why_not_passed_on.empty())});
    page.counter("holdfast_cluster_elections_total",
                 "How many leaders the cluster has had: the current epoch.", picture.leader.epoch);
    page.gauge("holdfast_cluster_nodes", "Nodes of the cluster that are up.",
               std::uint64_t{picture.nodes.size()});
    page.gauge("holdfast_cluster_relayed_connections",
               "Connections that this node passes on to the leader.", figures.relayed);
    page.gauge("holdfast_cluster_etcd_database_bytes", "Size of the database of etcd.",
               picture.etcd.database_bytes);
    page.gauge("holdfast_cluster_etcd_in_use_bytes", "How much of the database of etcd is in use.",
               picture.etcd.in_use_bytes);
    page.gauge("holdfast_cluster_etcd_quota_bytes", "Largest size of the database of etcd.",
               picture.etcd.quota_bytes);
    page.counter("holdfast_cluster_history_dropped_total",
                 "Holds that are missing from the history because etcd did not take them.",
                 picture.history_dropped);
    page.gauge("holdfast_cluster_etcd_full",
               "Whether new locks are refused because etcd is nearly full.",
               std::uint64_t{!picture.etcd.refuses_growth.empty()});
}

void add_certificates(Page& page, const std::vector<CertificateFigures>& certificates) {
    if (certificates.empty()) return;
    page.begin(MetricType::Gauge, "holdfast_certificate_days_left",
               "Days until a certificate that this server shows ends.");
    for (const CertificateFigures& one : certificates) {
        page.value(one.days_left, {{"shown_to", std::string(one.shown_to)}});
    }
}

// Routes that nobody has used are left out: all of them would be a thousand lines.
void add_requests(Page& page, const std::vector<ListenerRequests>& listeners) {
    const auto for_each_used = [&](const auto& add) {
        for (const ListenerRequests& listener : listeners) {
            for (const net::RequestFigures& route : listener.routes) {
                if (route.statuses.empty()) continue;
                add(route, Labels{{"listener", std::string(listener.listener)},
                                  {"route", route.route},
                                  {"method", route.method}});
            }
        }
    };
    page.begin(MetricType::Counter, "http_requests_total",
               "HTTP requests that were answered, by the pattern of their path.");
    for_each_used([&](const net::RequestFigures& route, const Labels& labels) {
        for (const auto& [status, count] : route.statuses) {
            Labels with_status = labels;
            with_status.push_back({"status", std::to_string(status)});
            page.value(count, std::move(with_status));
        }
    });
    page.begin(
        MetricType::Histogram, "http_request_duration_seconds",
        "From the arrival of an HTTP request to the end of its answer; waiting for a lock is in "
        "it.");
    for_each_used([&](const net::RequestFigures& route, const Labels& labels) {
        page.value(
            base::Histogram(net::RouteCounts::bounds_seconds, route.durations, route.seconds),
            labels);
    });
}

// The names, and the words, of Prometheus' client libraries.
void add_process(Page& page, const ProcessFigures& process) {
    page.counter("process_cpu_seconds_total", "Total user and system CPU time spent in seconds.",
                 process.cpu_seconds);
    page.gauge("process_resident_memory_bytes", "Resident memory size in bytes.",
               process.resident_bytes);
    page.gauge("process_virtual_memory_bytes", "Virtual memory size in bytes.",
               process.virtual_bytes);
    page.gauge("process_open_fds", "Number of open file descriptors.", process.open_descriptors);
    page.gauge("process_max_fds", "Maximum number of open file descriptors.",
               process.descriptors_max);
    page.gauge("process_start_time_seconds",
               "Start time of the process since unix epoch in seconds.", process.start_seconds);
}

void add_connections(Page& page, const Figures& figures) {
    const auto family = [&](MetricType type, const char* name, const char* help, auto number_of) {
        page.begin(type, name, help);
        for (const ListenerFigures& listener : figures.listeners) {
            page.value(std::uint64_t{number_of(listener.counts)},
                       {{"listener", std::string(listener.name)}});
        }
    };
    using Counts = net::ServerCounts;
    family(MetricType::Gauge, "holdfast_connections", "Connections that are open.",
           [](const Counts& counts) { return counts.connections; });
    family(MetricType::Counter, "holdfast_connections_accepted_total",
           "Connections that were accepted.", [](const Counts& counts) { return counts.accepted; });
    family(MetricType::Counter, "holdfast_connections_refused_total",
           "Accepted connections that were closed because there were too many.",
           [](const Counts& counts) { return counts.refused; });
    page.begin(MetricType::Gauge, "holdfast_build_info", "Which version this is.");
    page.value(1.0, {{"version", std::string(figures.version)}});
}

void add_denials(Page& page, const rights::TokenTable& tokens) {
    page.begin(MetricType::Counter, "holdfast_denials_total",
               "Requests that were refused because a token lacks a right, by token and right.");
    for (const auto& token : tokens.tokens()) {
        for (const rights::Right right :
             {rights::Right::read, rights::Right::lock, rights::Right::admin}) {
            page.value(token->denials(right),
                       {{"token", token->name()}, {"right", std::string(rights::to_text(right))}});
        }
    }
}

void add_wrong_secrets(Page& page, const rights::WrongSecrets& wrong) {
    page.begin(MetricType::Counter, "holdfast_wrong_secrets_total",
               "Secrets that clients have shown and no token has, by door.");
    for (const rights::Door door :
         {rights::Door::http, rights::Door::dflockd, rights::Door::redis, rights::Door::files}) {
        page.value(wrong.count(door), {{"door", std::string(rights::to_text(door))}});
    }
}

}  // namespace

void add_certificate(std::vector<CertificateFigures>& all, std::string_view shown_to,
                     const ssl_ctx_st& context) {
    const auto end = net::end_of_certificate(context);
    if (!end) return;
    const std::chrono::duration<double> left = *end - std::chrono::system_clock::now();
    all.push_back({.shown_to = shown_to, .days_left = left / std::chrono::days(1)});
}

std::string metrics_text(const Figures& figures) {
    Page page;
    add_operations(page, figures.service);
    add_locks(page, figures.service);
    add_fences(page, figures.service);
    add_store(page, figures.service, figures.store);
    if (figures.files) add_files(page, *figures.files);
    if (figures.cluster) add_cluster(page, figures);
    add_certificates(page, figures.certificates);
    if (figures.tokens && !figures.tokens->is_empty()) {
        add_denials(page, *figures.tokens);
        add_wrong_secrets(page, figures.tokens->wrong_secrets());
    }
    add_connections(page, figures);
    add_requests(page, figures.requests);
    if (figures.process) add_process(page, *figures.process);
    return page.text();
}

}  // namespace holdfast::app

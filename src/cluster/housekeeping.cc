#include "cluster/housekeeping.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/log/log.h"
#include "cluster/records/records.h"
#include "etcd/probe.h"

namespace holdfast::cluster {

namespace {

constexpr core::Duration look_timeout = std::chrono::seconds{2};
constexpr core::Duration sample_interval = std::chrono::seconds{1};
constexpr double warned_at = 0.60, refused_at = 0.85;

double used_of(const EtcdPicture& etcd) {
    if (etcd.quota_bytes == 0) return 0;
    return static_cast<double>(etcd.database_bytes) / static_cast<double>(etcd.quota_bytes);
}

}  // namespace

void History::add(core::Time now, etcd::Revision revision) {
    ++transactions_;
    if (samples_.empty() || now - samples_.back().at >= sample_interval) {
        samples_.push_back({.at = now, .revision = revision});
    }
}

std::optional<etcd::Revision> History::take_due(core::Time now) {
    if (transactions_ < transactions_between) return std::nullopt;
    etcd::Revision due = compacted_;
    while (!samples_.empty() && now - samples_.front().at >= kept) {
        due = samples_.front().revision;
        samples_.pop_front();
    }
    if (due <= compacted_) return std::nullopt;
    transactions_ = 0;
    compacted_ = due;
    return due;
}

std::string growth_refusal(const EtcdPicture& etcd) {
    const bool is_full = std::ranges::any_of(etcd.alarms, [](const std::string& alarm) {
        return alarm.find("NOSPACE") != std::string::npos;
    });
    if (is_full) {
        return "etcd's database is full: there are no new locks until it is compacted, "
               "defragmented "
               "and its alarm is cleared; releases go on, and no other node can take over";
    }
    if (used_of(etcd) < refused_at) return {};
    return fmt::format(
        "etcd's database has {} of {} MiB: there are no new locks until it is smaller; releases go "
        "on",
        etcd.database_bytes >> 20U, etcd.quota_bytes >> 20U);
}

std::string version_warning(const std::string& version) {
    const auto judged = etcd::judge_version(version);
    return judged && !judged->empty() ? judged->front() : "";
}

Housekeeping::Housekeeping(Options options, Parts parts, std::function<void()> changed)
    : options_(std::move(options)), parts_(parts), changed_(std::move(changed)) {
    etcd_.quota_bytes = options_.quota_bytes;
    etcd_.warnings = options_.warnings;
}

void Housekeeping::start() {
    if (alive_) return;
    alive_ = std::make_shared<int>(0);
    look();
}

void Housekeeping::stop() {
    alive_.reset();
    parts_.slots.clear(TimerSlots::Slot::housekeeping);
}

void Housekeeping::look() {
    const std::weak_ptr<int> alive = alive_;
    parts_.etcd.status(look_timeout, [this, alive](const etcd::Answer<etcd::StatusAnswer>& answer) {
        if (answer && !alive.expired()) on_status(*answer);
    });
    const std::string key = parts_.keys.nodes();
    parts_.etcd.range({.key = key, .range_end = etcd::end_of_prefix(key)}, look_timeout,
                      [this, alive](const etcd::Answer<etcd::RangeAnswer>& answer) {
                          if (answer && !alive.expired()) on_nodes(*answer);
                      });
    parts_.slots.set(TimerSlots::Slot::housekeeping, parts_.slots.now() + options_.look_every,
                     [this] { look(); });
}

void Housekeeping::on_status(const etcd::StatusAnswer& status) {
    const bool is_new_version = etcd_.version != status.version;
    const std::string warning = version_warning(status.version);
    if (is_new_version && !warning.empty()) {
        base::log(base::LogLevel::warning, "old version of etcd", {{"why", warning}});
    }
    etcd_.version = status.version;
    etcd_.warnings = options_.warnings;
    if (!warning.empty()) etcd_.warnings.push_back(warning);
    etcd_.database_bytes =
        static_cast<std::uint64_t>(std::max<std::int64_t>(status.database_bytes, 0));
    etcd_.in_use_bytes =
        static_cast<std::uint64_t>(std::max<std::int64_t>(status.database_bytes_in_use, 0));
    etcd_.alarms = status.errors;
    etcd_.refuses_growth = growth_refusal(etcd_);
    warn(used_of(etcd_));
    changed_();
}

void Housekeeping::warn(double used) {
    const bool must_warn = used >= warned_at;
    if (must_warn && !has_warned_) {
        base::log(base::LogLevel::warning, "etcd's database is getting full",
                  {{"bytes", etcd_.database_bytes}, {"quota_bytes", etcd_.quota_bytes}});
    }
    has_warned_ = must_warn;
}

void Housekeeping::on_nodes(const etcd::RangeAnswer& answer) {
    std::vector<Node> nodes;
    for (const etcd::KeyValue& entry : answer.found) {
        if (auto node = parse_node(entry.value)) nodes.push_back(std::move(*node));
    }
    if (nodes == nodes_) return;
    nodes_ = std::move(nodes);
    changed_();
}

void Housekeeping::on_commit(etcd::Revision revision) {
    const core::Time now = parts_.slots.now();
    history_.add(now, revision);
    if (!options_.compacts) return;
    if (const auto due = history_.take_due(now)) {
        // If it fails, the next one drops more.
        parts_.etcd.compact(*due, look_timeout,
                            [](const etcd::Answer<etcd::Revision>& /*done*/) {});
    }
}

void Housekeeping::on_full(const std::string& why) {
    etcd_.refuses_growth = "etcd's database is full: " + why;
    changed_();
}

}  // namespace holdfast::cluster

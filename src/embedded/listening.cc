#include "embedded/listening.h"

#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "base/check.h"
#include "core/values/cycle.h"
#include "embedded/translate.h"
#include "service/events/election_reader.h"
#include "service/events/event_scopes.h"

namespace holdfast::embedded {

namespace {

// CallerThread: a thread of the program that runs what is posted to it, until it is stopped.
// Thread safety: post() from any thread.
class CallerThread final : public service::Executor {
  public:
    // Who listens has no turns and no timers.
    void bind(std::function<void()>, std::function<void()>) override { CHECK(false); }
    void at_end_of_turn() override { CHECK(false); }
    void wake_after(core::Duration) override { CHECK(false); }

    void post(std::function<void()> task) override {
        const std::lock_guard guard(mutex_);
        if (is_closed_) return;
        tasks_.push_back(std::move(task));
        posted_.notify_one();
    }
    // Forgets what was posted, and whatever will be.
    void close() {
        std::vector<std::function<void()>> dropped;
        const std::lock_guard guard(mutex_);
        is_closed_ = true;
        dropped.swap(tasks_);
    }

    // Until `stop` is requested, or a task has ended it.
    void run(const std::stop_token& stop) {
        while (!is_ended_) {
            std::vector<std::function<void()>> tasks;
            {
                std::unique_lock guard(mutex_);
                posted_.wait(guard, stop, [this] { return !tasks_.empty(); });
                tasks.swap(tasks_);
            }
            for (const auto& task : tasks) {
                if (stop.stop_requested() || is_ended_) return;
                task();
            }
            if (stop.stop_requested()) return;
        }
    }
    // REQUIRES: called by a task.
    void end() { is_ended_ = true; }

  private:
    std::mutex mutex_;
    std::condition_variable_any posted_;
    std::vector<std::function<void()>> tasks_;  // under mutex_
    bool is_closed_ = false;                    // under mutex_
    bool is_ended_ = false;
};

// Events that are read at a time.
constexpr std::size_t events_at_once = 500;

// Whether the event is about a lock whose name begins so. A deadlock is about what its members wait
// for; a refused fence about the name of its resource.
bool begins_with(const core::Event& event, std::string_view prefix) {
    if (prefix.empty()) return true;
    const auto begins_so = [&](const core::Scope& scope) { return scope.name.starts_with(prefix); };
    if (event.kind != core::EventKind::deadlock) {
        return service::is_any_scope(event.lease, begins_so);
    }
    for (const core::CycleMember& member :
         core::parse_cycle(event.cycle).value_or(std::vector<core::CycleMember>())) {
        if (begins_so(member.waits_for)) return true;
    }
    return false;
}

LockEvent to_lock_event(const service::FeedEvent& happened, const service::Clock& clock) {
    LockEvent told{.id = happened.id, .at = clock.wall(happened.event.at)};
    if (const auto& refused = happened.refused_fence) {
        told.kind = "fence_refused";
        told.lock_name = refused->resource;
        told.fencing_token = refused->number;
        return told;
    }
    if (const auto& act = happened.act) {
        told.kind = "audit";
        told.lock_name = act->what;
        return told;
    }
    const core::EventKind kind = happened.event.kind;
    const core::LeaseView& lease = happened.event.lease;
    told.kind = core::to_text(kind);
    if (kind == core::EventKind::deadlock) return told;
    told.holder = lease.owner.name;
    if (kind == core::EventKind::session_opened || kind == core::EventKind::session_ended) {
        return told;
    }
    const std::vector<core::Scope> scopes = service::scopes_of(lease);
    const core::Scope& scope = scopes.front();
    told.lock_name = scope.is_of_inode() ? std::to_string(scope.inode) : std::string(scope.name);
    told.lock_kind = core::to_text(scope.kind);
    told.fencing_token = core::as_number(lease.token.fence);
    told.metadata = lease.notes.metadata;
    return told;
}

std::optional<Leader> to_leader(const service::Election& election) {
    const auto leading = election.leader();
    if (!leading) return std::nullopt;
    return Leader{.candidate = leading->holder,
                  .value = leading->value,
                  .revision = leading->revision,
                  .fencing_token = core::as_number(leading->fence)};
}

// Observation: one call of observe(). The reader of the election lives on the service's thread; each
// state that it tells travels to the program's. When too many are on the way, the reader pauses.
class Observation : public std::enable_shared_from_this<Observation> {
  public:
    using OnChange = std::function<void(const std::optional<Leader>&)>;

    Observation(const Listened& to, const OnChange& on_change) : to_(to), on_change_(on_change) {}

    // On the program's thread. Callbacks may throw: then the reader is closed as well.
    LockResult<void> run(std::string_view election, const std::stop_token& stop) {
        const Closer closer{*this};
        to_.thread.post(
            [self = shared_from_this(), name = std::string(election)] { self->open(name); });
        here_.run(stop);
        if (failure_) return *failure_;
        return {};
    }

  private:
    static constexpr int on_the_way_max = 100;

    struct Closer {
        Observation& observation;
        ~Closer() {
            observation.here_.close();  // its tasks refer to the observation
            observation.to_.thread.post([self = observation.shared_from_this()] {
                self->reader_->close();
                self->reader_.reset();  // which refers to this
            });
        }
    };

    // On the service's thread.
    void open(const std::string& name) {
        const auto on_state = [self = shared_from_this()](const service::Election& election, bool) {
            self->tell(to_leader(election));
        };
        const auto on_failure = [self = shared_from_this()](const service::Response& response) {
            self->here_.post([self, error = to_error(response, self->to_.clock)] {
                self->failure_ = error;
                self->here_.end();
            });
        };
        reader_ = service::ElectionReader::open(
            {.port = to_.service, .feed = to_.feed, .here = to_.thread}, name, std::nullopt,
            {.on_state = on_state, .on_failure = on_failure});
    }

    void tell(std::optional<Leader> leader) {
        if (++on_the_way_ == on_the_way_max) reader_->pause();
        here_.post([self = shared_from_this(), leader = std::move(leader)] {
            self->on_change_(leader);
            self->to_.thread.post([self] { self->arrived(); });
        });
    }

    void arrived() {
        if (--on_the_way_ == 0 && reader_) reader_->resume();
    }

    const Listened to_;
    const OnChange& on_change_;
    // On the service's thread:
    std::shared_ptr<service::ElectionReader> reader_;
    int on_the_way_ = 0;
    // On the program's:
    CallerThread here_;
    std::optional<LockError> failure_;
};

}  // namespace

LockResult<void> watch(const Listened& to, const WatchOptions& options,
                       const std::function<void(const LockEvent&)>& on_event,
                       const std::stop_token& stop) {
    CallerThread here;
    std::shared_ptr<service::EventFeed::Watch> watch;
    const auto read = [&] {
        const auto page = watch->read(events_at_once);
        if (page.has_missed_some) on_event({.kind = "gap"});
        for (const auto& event : page.events) {
            if (stop.stop_requested()) return;
            if (begins_with(event->event, options.prefix)) {
                on_event(to_lock_event(*event, to.clock));
            }
        }
    };
    watch = to.feed.watch(here, options.after, read);
    if (options.on_open) options.on_open();
    here.run(stop);
    return {};
}

LockResult<void> observe(const Listened& to, std::string_view election,
                         const std::function<void(const std::optional<Leader>&)>& on_change,
                         const std::stop_token& stop) {
    if (election.empty()) return LockError{InvalidLockRequest{"the election needs a name"}};
    return std::make_shared<Observation>(to, on_change)->run(election, stop);
}

}  // namespace holdfast::embedded

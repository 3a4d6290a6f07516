#include "sim/server.h"

#include <fmt/chrono.h>

#include <algorithm>

namespace holdfast::sim {

using namespace std::chrono_literals;

namespace {

// A lease is given up after ten starts of the machine; a world has fewer.
constexpr std::uint64_t reboots_max = 5;

}  // namespace

// Sends the response back on the connection its request came by.
class Server::CallAnswer final : public service::OwnAnswer {
  public:
    CallAnswer(Server& server, Submission submission)
        : server_(server), submission_(std::move(submission)) {}

    void on_response(const service::Response& response) override {
        auto& connections = server_.process_->connections;
        const auto found = connections.find(submission_.call.connection);
        if (found != connections.end()) found->second.promises.erase(submission_.id);
        server_.answer(submission_, response);
    }

  private:
    Server& server_;
    const Submission submission_;
};

void Server::start() {
    parts_.world.note("{}: starts", parts_.name);
    paused_until_ = Moment::min();
    process_ = make_process();
    process_->executor->run([this] { recover(); });
}

// As the program does it: a service that was deposed is told of by on_deposed, and by that alone.
void Server::recover() {
    process_->service->recover([this](const auto& recovered) {
        const bool is_deposed =
            !recovered && recovered.error().kind == service::StoreFailure::Kind::deposed;
        if (recovered || is_deposed) return;
        parts_.world.note("{}: cannot read its store", parts_.name);
        restart_later();
    });
}

// A process that cannot serve ends, and a new one is started.
void Server::restart_later() {
    parts_.world.next([this, process = std::weak_ptr(process_)] {
        if (process.expired()) return;
        process_.reset();
        parts_.checker.on_crashed();
        parts_.ways.cut_all();
        parts_.world.after(1s, [this] { come_back(); });
    });
}

void Server::come_back() {
    if (!is_held_down_ && !is_running()) start();
}

void Server::hold_down() {
    is_held_down_ = true;
    crash();
}

void Server::release() {
    is_held_down_ = false;
    come_back();
}

std::shared_ptr<Server::Process> Server::make_process() {
    auto process = std::make_shared<Process>();
    const std::weak_ptr<Process> weak = process;
    World& world = parts_.world;
    const auto later = [this, weak](core::Duration delay, std::function<void()> task) {
        parts_.world.after(delay, [this, weak, task = std::move(task)] {
            if (!weak.expired()) turn(task);
        });
    };
    const auto timer = [this, later](core::Duration delay, std::function<void()> task) {
        const core::Duration lateness =
            parts_.world.random().between(core::Duration::zero(), parts_.faults.timer_lateness_max);
        later(delay + lateness, std::move(task));
    };
    process->executor =
        std::make_unique<SimExecutor>(SimExecutor::Ways{.timer = timer, .post = later});
    process->store = parts_.make_store(make_hooks(weak));
    process->service = std::make_unique<service::LockService>(
        core::TableOptions{.idle_retention = parts_.settings.idle_retention,
                           .hash_seed = world.random().bits(),
                           .visits_max = parts_.settings.visits_max},
        service::ServiceParts{.clock = parts_.machine,
                              .store = *process->store,
                              .executor = *process->executor,
                              .random = [&world] { return world.random().bits(); },
                              .on_changes =
                                  [this](const core::Changes& changes) {
                                      for (const core::Event& event : changes)
                                          parts_.checker.on_event(event);
                                  },
                              .on_deposed =
                                  [this, weak](const service::StoreFailure& /*why*/) {
                                      if (!parts_.recovers_when_deposed) return;
                                      weak.lock()->executor->post([this] { recover(); });
                                  }});
    return process;
}

StoreHooks Server::make_hooks(const std::weak_ptr<Process>& process) {
    return {
        .later =
            [this, process](core::Duration delay, std::function<void()> task) {
                parts_.world.after(delay, [process, task = std::move(task)] {
                    if (!process.expired()) task();
                });
            },
        .in_turn =
            [this, process](core::Duration delay, std::function<void()> task) {
                parts_.world.after(delay, [this, process, task = std::move(task)] {
                    if (!process.expired()) turn(task);
                });
            },
        .enter =
            [this, process](std::function<void()> task) {
                if (!process.expired()) turn(std::move(task));
            },
        .crash =
            [this, process] {
                parts_.world.next([this, process] {
                    if (!process.expired()) crash();
                });
            },
        .on_failure = [this] { parts_.checker.on_store_failed(); },
        .on_deposed =
            [this] {
                const core::Duration delay = parts_.world.random().about(parts_.settings.ttl);
                parts_.world.after(delay, [this, process = std::weak_ptr(process_)] {
                    if (!process.expired()) crash();
                });
            },
        .on_commit = [this](const service::Commit& commit) { parts_.checker.on_commit(commit); },
        .on_recovering = [this] { parts_.checker.on_recovering(); },
        .on_restored =
            [this](const core::RestoreRequest& lease) { parts_.checker.on_restored(lease); },
        .on_recovered = [this] { parts_.checker.on_recovered(); }};
}

void Server::crash() {
    if (!is_running()) return;
    World& world = parts_.world;
    const bool reboots = reboots_ < reboots_max && world.random().chance(parts_.faults.reboot);
    world.note("{}: dies{}", parts_.name, reboots ? " with its machine" : "");
    process_.reset();
    parts_.checker.on_crashed();
    parts_.ways.cut_all();
    const core::Duration downtime = world.random().chance(0.5)
                                        ? world.random().between(1ms, 100ms)
                                        : world.random().about(parts_.settings.ttl / 2);
    reboots_ += reboots ? 1 : 0;
    world.after(downtime, [this, reboots] {
        if (reboots) parts_.machine.reboot();
        come_back();
    });
}

void Server::pause(core::Duration length) {
    if (!is_running()) return;
    parts_.world.note("{}: stands still", parts_.name);
    paused_until_ = std::max(paused_until_, parts_.world.now() + length);
    parts_.world.at(paused_until_, [this, process = std::weak_ptr(process_)] {
        if (!process.expired()) resume();
    });
}

void Server::resume() {
    if (parts_.world.now() < paused_until_) return;
    parts_.world.note("{}: goes on", parts_.name);
    const std::weak_ptr<Process> process = process_;
    for (auto& task : std::exchange(process_->inbox, {})) {
        if (!process.expired()) run_turn(task);
    }
}

void Server::turn(std::function<void()> task) {
    if (parts_.world.now() <= paused_until_) {
        process_->inbox.push_back(std::move(task));
        if (parts_.world.now() == paused_until_) resume();
        return;
    }
    run_turn(task);
}

void Server::run_turn(const std::function<void()>& task) {
    process_->executor->run(task);
    flush();
}

void Server::do_in_turn(std::function<void()> task) {
    if (is_running()) turn(std::move(task));
}

// All answers of a turn leave together, unless the server dies before.
void Server::flush() {
    auto outbox = std::exchange(process_->outbox, {});
    if (outbox.empty()) return;
    if (parts_.world.random().chance(parts_.faults.crash_around_commit)) {
        parts_.world.next([this, process = std::weak_ptr(process_)] {
            if (!process.expired()) crash();
        });
        return;
    }
    for (const auto& [connection, reply] : outbox) parts_.ways.reply(connection, reply);
}

void Server::receive(const Call& call) {
    if (!is_running()) {
        parts_.ways.cut(call.connection);
        return;
    }
    turn([this, call] {
        if (!parts_.admits || parts_.admits(call)) submit(call);
    });
}

void Server::submit(const Call& call) {
    Submission submission{.id = next_submission_++, .call = call, .received = parts_.world.now()};
    sign(submission);
    parts_.world.note("{}: c{}/{} {}", parts_.name, call.client, call.number,
                      to_text(call.request));
    parts_.checker.on_submitted(submission);
    Connection& connection = process_->connections[call.connection];
    service::LockService& service = *process_->service;
    if (const service::Response* response = service.submit(submission.call.request)) {
        const bool is_late = parts_.machine.now() >= process_->store->authority_deadline();
        if (is_late && response->failure.empty()) {
            parts_.world.accuse(11, "an answer from memory without authority");
        }
        answer(submission, *response);
        return;
    }
    connection.promises[submission.id] =
        service.await(std::make_unique<CallAnswer>(*this, submission));
}

// Everything that comes of the request bears its number.
void Server::sign(Submission& submission) {
    const std::string_view number = parts_.world.keep(std::to_string(submission.id));
    if (auto* acquire = std::get_if<core::AcquireRequest>(&submission.call.request)) {
        acquire->notes.metadata = number;
    } else if (auto* enqueue = std::get_if<service::Enqueue>(&submission.call.request)) {
        enqueue->request.notes.metadata = number;
    }
}

void Server::answer(const Submission& submission, const service::Response& response) {
    const Call& call = submission.call;
    const Reply reply = make_reply(call, response, parts_.machine);
    parts_.world.note("{}: c{}/{} is answered: {}", parts_.name, call.client, call.number,
                      to_text(reply));
    if (!reply.is_failure && parts_.is_usurped && parts_.is_usurped()) {
        return withhold(submission, reply);
    }
    parts_.checker.on_answered(submission, reply);
    if (parts_.on_served && !reply.is_failure) parts_.on_served(submission);
    if (process_->service->role() == service::Role::deposed && !reply.is_failure) {
        parts_.world.accuse(11, "a deposed server answers");
    }
    if (reply.session) {
        const auto found = process_->connections.find(call.connection);
        if (found == process_->connections.end()) {
            end_session(reply.session, Gone::client);
        } else {
            found->second.sessions.push_back(reply.session);
        }
    }
    process_->outbox.emplace_back(call.connection, reply);
}

// As if the connection had died just before.
void Server::withhold(const Submission& submission, const Reply& reply) {
    const Call& call = submission.call;
    parts_.world.note("{}: c{}/{} does not get its answer", parts_.name, call.client, call.number);
    parts_.checker.on_withheld(submission, reply);
    parts_.ways.cut(call.connection);
}

std::size_t Server::promises() const {
    std::size_t count = 0;
    for (const auto& [id, connection] : process_->connections) count += connection.promises.size();
    return count;
}

void Server::hang_up(ConnectionId connection, Gone gone) {
    do_in_turn([this, connection, gone] { drop_connection(connection, gone); });
}

void Server::drop_connection(ConnectionId id, Gone gone) {
    const auto found = process_->connections.find(id);
    if (found == process_->connections.end()) return;
    const Connection connection = std::move(found->second);
    process_->connections.erase(found);
    const auto end_sessions = [&] {
        for (const core::SessionId session : connection.sessions) end_session(session, gone);
    };
    const bool sessions_first = parts_.world.random().chance(0.5);
    if (sessions_first) end_sessions();
    for (const auto& [submission, promise] : connection.promises) {
        parts_.checker.on_abandoning(submission);
        process_->service->abandon(promise);
        parts_.checker.on_abandoned(submission);
    }
    if (!sessions_first) end_sessions();
}

// The connection of a session is gone: so is the session, with or without its leases.
void Server::end_session(core::SessionId session, Gone gone) {
    const bool keeps = parts_.world.random().chance(0.2) || gone == Gone::relay;
    const service::EndSession request{.session = session,
                                      .leases = keeps ? core::LockTable::SessionLeases::keep
                                                      : core::LockTable::SessionLeases::release};
    parts_.world.note("{}: {}", parts_.name, to_text(request));
    parts_.checker.on_submitted(
        {.id = next_submission_++, .call = {.request = request}, .received = parts_.world.now()});
    if (process_->service->submit(request) == nullptr) {
        process_->service->await(service::answer_by([](const service::Response&) {}));
    }
}

}  // namespace holdfast::sim

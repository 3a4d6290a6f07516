#include "model/side_by_side.h"

#include <fmt/format.h>

#include <csignal>
#include <cstdio>

namespace holdfast::model {

using namespace core;

namespace {

const std::string* calls_to_print = nullptr;

extern "C" void print_calls(int) {
    if (calls_to_print != nullptr) std::fprintf(stderr, "after\n%s", calls_to_print->c_str());
}

// Empty if both are the same.
std::string compare(std::string_view what, const std::string& engine, const std::string& model) {
    if (engine == model) return {};
    return fmt::format("{}\n engine:\n{}\n model:\n{}\n", what, engine, model);
}

}  // namespace

SideBySide::SideBySide(const Universe& universe)
    : universe_(universe), engine_(universe.options), model_(universe.options), history_(universe) {
    calls_to_print = &calls_;
    std::signal(SIGABRT, print_calls);
}

SideBySide::~SideBySide() {
    std::signal(SIGABRT, SIG_DFL);
    calls_to_print = nullptr;
}

std::string SideBySide::run(const Step& step) {
    const Situation situation{.universe = universe_,
                              .history = history_,
                              .names = engine_names_,
                              .now = model_.now(),
                              .next_deadline = model_.next_due()};
    const Call call = make_call_of(step, situation, ++serial_);
    calls_ += to_text(call) + '\n';
    engine_.clear_changes();
    model_.clear_events();

    const Reply answer = make_call(engine_, engine_names_, call);
    calls_ += "  -> " + to_text(answer, engine_names_) + '\n';
    engine_.check_invariants();
    model_.follow(bear_witness());
    const Reply expected = make_call(model_, model_names_, call);

    std::string difference = find_difference(call, answer, expected);
    if (difference.empty()) difference = ask_auditor();
    history_.note(call, answer, engine_.changes());
    if (difference.empty()) return {};
    return fmt::format("{}\nafter\n{}", difference, calls_);
}

Witness SideBySide::bear_witness() const {
    Witness witness;
    const Changes& changes = engine_.changes();
    for (std::size_t index = 0; index < changes.size(); ++index) {
        const Event event = changes[index];
        if (event.kind == EventKind::expired || event.kind == EventKind::grace_ended) {
            witness.ended.push_back(
                {event.lease.token.fence, event.kind == EventKind::grace_ended});
        }
        const bool is_choice = event.kind == EventKind::renewed ||
                               event.kind == EventKind::released ||
                               event.kind == EventKind::grace_ended;
        if (is_choice) witness.chosen.push_back(event.lease.token.fence);
        if (event.kind != EventKind::granted) continue;
        witness.told.push_back({event.lease.scope, std::string(event.previous_owner)});
        if (event.waiter) witness.granted_waiters.push_back(engine_names_.number_of(event.waiter));
    }
    witness.has_lock = [this](const Scope& scope) { return engine_.inspect(scope).has_value(); };
    return witness;
}

std::string SideBySide::find_difference(const Call& call, const Reply& answer,
                                        const Reply& expected) const {
    std::string difference = find_difference_of_answers(call, answer, expected);
    if (difference.empty()) difference = find_difference_of_deadlocks(call);
    if (difference.empty()) difference = find_difference_of_events();
    if (difference.empty()) difference = find_difference_of_locks();
    if (difference.empty()) difference = find_difference_of_leases();
    if (difference.empty()) difference = find_difference_of_sessions();
    if (difference.empty()) difference = find_difference_of_deadlines();
    if (difference.empty()) {
        difference = compare("counts", to_text(engine_.counts()), to_text(model_.counts()));
    }
    if (difference.empty()) {
        difference = compare("find", to_text(engine_.find(call.token), engine_names_),
                             to_text(model_.find(call.token), model_names_));
    }
    if (difference.empty() && engine_.next_fence() != model_.next_fence()) {
        difference = "the next fencing number";
    }
    return difference;
}

std::string SideBySide::find_difference_of_answers(const Call& call, const Reply& answer,
                                                   const Reply& expected) const {
    // `wait` does not tell the place in the queue: it would have to walk through the queue.
    std::string difference =
        compare("answer", to_text(answer, engine_names_), to_text(expected, model_names_));
    if (!difference.empty() || !answer.outcome) return difference;
    const Outcome& outcome = *answer.outcome;
    if (outcome.refusal != Refusal::held && outcome.refusal != Refusal::in_grace) return {};
    if (outcome.is_behind_waiter) {
        AcquireRequest asked = call.request;
        asked.members = call.members;
        if (outcome.refusal != Refusal::held || as_number(outcome.lease.token.fence) != 0 ||
            !model_.is_waiter_ahead(asked, outcome.lease)) {
            return "refused because of a waiter that is not ahead";
        }
        return {};
    }
    const LeaseState state =
        outcome.refusal == Refusal::held ? LeaseState::held : LeaseState::grace;
    if (outcome.lease.state != state) return "refused as held by a lease in grace, or vice versa";
    AcquireRequest request = call.request;
    request.members = call.members;
    if (!model_.is_in_the_way(request, outcome.lease.token.fence)) {
        return "refused because of a lease that is not in the way";
    }
    return {};
}

// Whether a deadlock is told or refused is compared with the other answers and events. Which one is
// open: it must be one.
std::string SideBySide::find_difference_of_deadlocks(const Call& call) const {
    AcquireRequest request = call.request;
    request.members = call.members;
    for (const Event& event : engine_.changes()) {
        if (event.kind != EventKind::deadlock) continue;
        const auto cycle = parse_cycle(event.cycle);
        const bool is_refused = request.on_deadlock == OnDeadlock::refuse;
        if (!cycle || !model_.is_cycle(*cycle, is_refused ? &request : nullptr)) {
            return "told of a deadlock that is none: " + (cycle ? describe_cycle(*cycle) : "");
        }
    }
    const auto deadlocks = engine_.list_deadlocks().cycles;
    for (const Cycle& deadlock : deadlocks) {
        const auto cycle = parse_cycle(deadlock.text);
        if (!cycle || !model_.is_cycle(*cycle, nullptr)) {
            return "lists a deadlock that is none: " + (cycle ? describe_cycle(*cycle) : "");
        }
    }
    if (deadlocks.empty() && model_.has_deadlock()) return "does not list a deadlock";
    if (!deadlocks.empty() && !model_.has_deadlock()) return "lists a deadlock where there is none";
    return {};
}

std::string SideBySide::find_difference_of_events() const {
    std::vector<std::string> engine, model;
    for (std::size_t index = 0; index < engine_.changes().size(); ++index) {
        engine.push_back(to_text(engine_.changes()[index], engine_names_));
    }
    for (const Event& event : model_.events()) model.push_back(to_text(event, model_names_));
    return compare("events", join_sorted(std::move(engine)), join_sorted(std::move(model)));
}

std::string SideBySide::find_difference_of_locks() const {
    const ListQuery everything{.limit = SIZE_MAX, .waiters_max = SIZE_MAX, .with_idle = true};
    std::vector<std::string> engine, model;
    for (const LockView& lock : engine_.list(everything)) {
        engine.push_back(to_text(lock, engine_names_));
        for (const WaiterView& waiter : lock.waiters) {
            if (!model_.is_waiting_for_its_blocker(waiter)) {
                return fmt::format("w{} does not wait for {}", engine_names_.number_of(waiter.id),
                                   to_text(waiter.blocker));
            }
        }
    }
    for (const LockView& lock : model_.list()) {
        const auto same = engine_.inspect(lock.scope);
        if (!same) return "the engine does not know " + core::to_text(lock.scope);
        model.push_back(to_text(lock, model_names_));
        std::string difference = compare("inspect", to_text(*same, engine_names_), model.back());
        if (!difference.empty()) return difference;
    }
    return compare("list", join_sorted(std::move(engine)), join_sorted(std::move(model)));
}

std::string SideBySide::find_difference_of_leases() const {
    std::string engine, model;
    for (const LeaseView& lease : engine_.list_leases({.limit = SIZE_MAX})) {
        engine += to_text(lease, engine_names_) + '\n';
    }
    for (const LeaseView& lease : model_.list_leases()) {
        model += to_text(lease, model_names_) + '\n';
    }
    return compare("leases", engine, model);
}

std::string SideBySide::find_difference_of_sessions() const {
    std::string engine, model;
    for (const SessionView& session : engine_.list_sessions({.limit = SIZE_MAX})) {
        engine += to_text(session, engine_names_) + '\n';
    }
    for (const SessionView& session : model_.list_sessions()) {
        model += to_text(session, model_names_) + '\n';
    }
    return compare("sessions", engine, model);
}

std::string SideBySide::find_difference_of_deadlines() const {
    const auto promised = engine_.next_deadline(), due = model_.next_due();
    if (!due) {
        // A lease without an end may have had one, and the engine forgets that deadline when it
        // comes.
        const auto leases = engine_.list_leases({.limit = SIZE_MAX});
        const bool has_endless =
            std::any_of(leases.begin(), leases.end(),
                        [](const LeaseView& lease) { return lease.is_endless(); });
        return promised && !has_endless ? "a deadline, but nothing is due" : "";
    }
    if (!promised) return "no deadline, but something is due";
    if (*promised > *due) return "the next deadline is late";
    return {};
}

std::string SideBySide::ask_auditor() {
    for (std::size_t index = 0; index < engine_.changes().size(); ++index) {
        if (auto complaint = auditor_.see(engine_.changes()[index])) return *complaint;
    }
    return auditor_.find_overdue(engine_.now()).value_or("");
}

}  // namespace holdfast::model

#include "model/steps.h"

#include <algorithm>
#include <ostream>

namespace holdfast::model {

using namespace core;
using std::chrono::microseconds;
using std::chrono::milliseconds;

namespace {

constexpr std::uint8_t for_ever = 255;
constexpr std::string_view long_text = "longer than any key or owner may be";

Time move(Pace pace, std::uint8_t ticks, const Situation& situation) {
    const Time now = situation.now;
    switch (pace) {
        case Pace::stand: return now;
        case Pace::tick: return now + milliseconds{ticks};
        case Pace::to_deadline: return situation.next_deadline.value_or(now);
        case Pace::before_deadline:
            return situation.next_deadline ? *situation.next_deadline - microseconds{1} : now;
        case Pace::jump: return now + milliseconds{ticks * 25};
        case Pace::back: return now - milliseconds{ticks};
    }
    return now;
}

// The running number that `back` steps back from the latest means; 0 for none.
std::size_t number_from_latest(std::size_t given_out, std::size_t back) {
    return back < given_out ? given_out - back : 0;
}

void put_flaw(Call& call, Flaw flaw, const Situation& situation) {
    AcquireRequest& request = call.request;
    switch (flaw) {
        case Flaw::none: return;
        case Flaw::secret:
            call.token.secret = Secret{~static_cast<std::uint64_t>(call.token.secret)};
            return;
        case Flaw::fence:
            call.token.fence = Fence{static_cast<std::uint64_t>(call.token.fence) + 3};
            return;
        case Flaw::scope: call.scope = situation.universe.scopes.back(); return;
        case Flaw::owner: call.owner = situation.universe.owners.back(); return;
        case Flaw::empty_key: request.scope = Scope::path(""); return;
        case Flaw::long_key: request.scope = Scope::named(long_text); return;
        case Flaw::empty_range: request.scope = Scope::of_range(7, {10, 10}); return;
        case Flaw::long_owner: request.owner.name = long_text; return;
        case Flaw::long_request_id: request.notes.request_id = long_text; return;
        case Flaw::long_metadata: request.notes.metadata = long_text; return;
        case Flaw::long_waiter: request.notes.waiter = long_text; return;
        case Flaw::long_value: request.value = long_text; return;
        case Flaw::short_ttl:
            request.ttl = microseconds{999};
            call.ttl = request.ttl;
            return;
        case Flaw::long_ttl:
            request.ttl = milliseconds{101};
            call.ttl = request.ttl;
            return;
        case Flaw::no_permits: request.limit = 0; return;
        case Flaw::many_permits: request.limit = 5; return;
        case Flaw::session: call.session = 9999; return;
        case Flaw::many_members:
            call.members.assign(situation.universe.options.limits.set_members_max + 1,
                                {.scope = request.scope});
            return;
        case Flaw::same_members:
            call.members.assign(2, {.scope = request.scope, .limit = request.limit});
            return;
    }
}

rc::Gen<Operation> arbitrary_operation() {
    return rc::gen::weightedElement<Operation>({{24, Operation::acquire},
                                                {6, Operation::release},
                                                {4, Operation::renew},
                                                {3, Operation::set_value},
                                                {4, Operation::cancel},
                                                {6, Operation::enqueue},
                                                {5, Operation::wait},
                                                {2, Operation::release_own},
                                                {1, Operation::force_release},
                                                {3, Operation::open_session},
                                                {1, Operation::end_session},
                                                {1, Operation::advance}});
}

// Mostly slow: locks that are gone before the next one asks for them are in nobody's way.
rc::Gen<Pace> arbitrary_pace() {
    return rc::gen::weightedElement<Pace>({{60, Pace::stand},
                                           {10, Pace::tick},
                                           {10, Pace::to_deadline},
                                           {4, Pace::before_deadline},
                                           {1, Pace::jump},
                                           {2, Pace::back}});
}

rc::Gen<Flaw> arbitrary_flaw() {
    return rc::gen::weightedElement<Flaw>(
        {{90, Flaw::none},           {1, Flaw::secret},        {1, Flaw::fence},
         {1, Flaw::scope},           {1, Flaw::owner},         {1, Flaw::empty_key},
         {1, Flaw::long_key},        {1, Flaw::empty_range},   {1, Flaw::long_owner},
         {1, Flaw::long_request_id}, {1, Flaw::long_metadata}, {1, Flaw::long_waiter},
         {1, Flaw::long_value},      {1, Flaw::short_ttl},     {1, Flaw::long_ttl},
         {1, Flaw::no_permits},      {1, Flaw::many_permits},  {1, Flaw::session},
         {1, Flaw::long_waiter},     {1, Flaw::many_members},  {1, Flaw::same_members}});
}

rc::Gen<Step> arbitrary_step() {
    using rc::gen::element;
    using rc::gen::inRange;
    using rc::gen::set;
    using Small = std::uint8_t;
    return rc::gen::build<Step>(
        set(&Step::operation, arbitrary_operation()), set(&Step::pace, arbitrary_pace()),
        set(&Step::flaw, arbitrary_flaw()), set(&Step::ticks, inRange<Small>(1, 4)),
        set(&Step::scope, inRange<Small>(0, 255)), set(&Step::owner, inRange<Small>(0, 255)),
        set(&Step::mode, element(Mode::exclusive, Mode::shared)),
        set(&Step::limit, element<Small>(2, 2, 2, 1, 3)),
        set(&Step::ttl, rc::gen::weightedElement<Small>(
                            {{6, 1}, {6, 2}, {6, 4}, {6, 8}, {6, 20}, {6, 60}, {1, for_ever}})),
        set(&Step::grace, element<Small>(0, 0, 0, 2, 5)),
        set(&Step::memory, element<Small>(0, 0, 3, 9)),
        set(&Step::wait, element<Small>(0, 0, 1, 2, 5, 15, for_ever, for_ever)),
        set(&Step::session, element<Small>(0, 0, 1, 2, 3)),
        set(&Step::reference, element<Small>(0, 0, 1, 1, 2, 3, 4, 5, 6, 7)),
        set(&Step::flag, element(false, false, true)), set(&Step::again),
        set(&Step::is_transient, element(false, false, false, true)), set(&Step::with_scope),
        set(&Step::with_owner), set(&Step::with_ttl),
        set(&Step::members, element<Small>(0, 0, 0, 0, 2, 2, 3, 4)),
        set(&Step::waiter, element<Small>(0, 0, 1, 2)),
        set(&Step::refuses_deadlock, element(false, false, true)));
}

}  // namespace

void History::note(const Call& call, const Reply& reply, const Changes& changes) {
    const bool is_enqueued =
        call.operation == Operation::enqueue && reply.outcome->kind != Outcome::Kind::refused;
    if (is_enqueued) enqueued_.push_back({.session = call.session, .scope = call.request.scope});
    for (std::size_t index = 0; index < changes.size(); ++index) {
        const Event event = changes[index];
        if (event.kind != EventKind::granted) continue;
        // The universe's own, as the event's views will be gone.
        const auto scope =
            std::find(universe_.scopes.begin(), universe_.scopes.end(), event.lease.scope);
        const auto owner =
            std::find(universe_.owners.begin(), universe_.owners.end(), event.lease.owner);
        RC_ASSERT(scope != universe_.scopes.end());
        RC_ASSERT(owner != universe_.owners.end());
        grants_.push_back({.token = event.lease.token, .scope = *scope, .owner = *owner});
    }
}

namespace {

// A set around the first scope: other scopes of the universe, as many of them as do not overlap.
std::vector<SetMember> make_members(const Step& step, const Call& call, const Universe& universe) {
    const AcquireRequest& request = call.request;
    std::vector<SetMember> members{
        {.scope = request.scope, .mode = request.mode, .limit = request.limit}};
    for (std::size_t number = 1; number < universe.scopes.size() && members.size() < step.members;
         ++number) {
        const std::size_t index =
            (step.scope + number * (step.owner % 3u + 1)) % universe.scopes.size();
        members.push_back({.scope = universe.scopes[index],
                           .mode = (step.owner >> number) % 2 == 0 ? Mode::exclusive : Mode::shared,
                           .limit = request.limit});
        if (find_overlap(members)) members.pop_back();
    }
    if (members.size() < 2) members.clear();
    return members;
}

}  // namespace

Call make_call_of(const Step& step, const Situation& situation, std::uint64_t serial) {
    const Universe& universe = situation.universe;
    Call call{.operation = step.operation, .now = move(step.pace, step.ticks, situation)};
    call.request = {.scope = universe.scopes[step.scope % universe.scopes.size()],
                    .owner = universe.owners[step.owner % universe.owners.size()],
                    .mode = step.mode,
                    .limit = step.limit,
                    .ttl = step.ttl == for_ever ? endless : Duration{milliseconds{step.ttl}},
                    .grace = milliseconds{step.grace},
                    .memory = milliseconds{step.memory},
                    .wait = step.wait == for_ever ? wait_forever : milliseconds{step.wait},
                    .renew_own = step.flag,
                    .is_only_kind = step.again,
                    .is_transient = step.is_transient,
                    .secret = Secret{serial * 0x9e3779b97f4a7c15}};
    if (step.with_ttl) call.request.notes.metadata = "for people";
    if (step.with_scope) call.request.notes.request_id = "again";
    if (step.with_owner) call.request.value = step.ticks > 1 ? "here" : "there";
    if (step.waiter > 0) call.request.notes.waiter = step.waiter == 1 ? "one" : "two";
    if (step.refuses_deadlock) call.request.on_deadlock = OnDeadlock::refuse;
    call.timeout = call.request.wait;
    call.never_shorten = call.keeps_leases = step.flag;
    const bool needs_session = step.operation == Operation::enqueue ||
                               step.operation == Operation::wait ||
                               step.operation == Operation::end_session;
    const std::size_t session = needs_session && step.session == 0 ? 1 : step.session;
    if (session > 0) {
        call.session = number_from_latest(situation.names.sessions.size(), session - 1u);
    }
    call.waiter = number_from_latest(situation.names.waiters.size(), step.reference);
    const auto& grants = situation.history.grants();
    if (const auto number = number_from_latest(grants.size(), step.reference); number > 0) {
        const History::Grant& grant = grants[number - 1];
        call.token = grant.token;
        if (step.with_scope) call.scope = grant.scope;
        if (step.with_owner) call.owner = grant.owner;
    }
    const auto& enqueued = situation.history.enqueued();
    const auto entry = number_from_latest(enqueued.size(), step.reference / 2u);
    const bool is_about_entry =
        step.operation == Operation::wait || (step.operation == Operation::enqueue && step.again);
    if (is_about_entry && entry > 0) {
        call.session = enqueued[entry - 1].session;
        call.request.scope = enqueued[entry - 1].scope;
    }
    if (step.with_ttl) call.ttl = call.request.ttl;
    if (step.operation == Operation::acquire || step.operation == Operation::enqueue) {
        call.members = make_members(step, call, universe);
    }
    const bool is_request =
        step.operation == Operation::acquire || step.operation == Operation::enqueue ||
        step.operation == Operation::renew || step.operation == Operation::release ||
        step.operation == Operation::set_value;
    if (is_request) put_flaw(call, step.flaw, situation);
    // The first member is what the request is about.
    if (!call.members.empty()) call.members.front().scope = call.request.scope;
    return call;
}

rc::Gen<std::vector<Step>> arbitrary_steps() {
    return rc::gen::scale(4.0, rc::gen::container<std::vector<Step>>(arbitrary_step()));
}

std::ostream& operator<<(std::ostream& stream, const Step& step) {
    return stream << static_cast<int>(step.operation) << '/' << static_cast<int>(step.pace);
}

}  // namespace holdfast::model

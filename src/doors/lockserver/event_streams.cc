#include "doors/lockserver/event_streams.h"

#include <fmt/compile.h>
#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <iterator>
#include <utility>

#include "base/json/json_writer.h"
#include "doors/answers/cycle_json.h"
#include "doors/lockserver/lock_json.h"
#include "service/doors.h"

namespace holdfast::doors::lockserver {

namespace {

// Events that are read at a time: the loop has others to serve.
constexpr std::size_t events_at_once = 500;

std::int64_t milliseconds(core::Duration duration) {
    return std::chrono::duration_cast<std::chrono::milliseconds>(duration).count();
}

void append_data(base::JsonWriter& json, const core::Event& event, const service::Clock& clock) {
    using core::EventKind;
    const core::LeaseView& lease = event.lease;
    const bool is_of_session =
        event.kind == EventKind::session_opened || event.kind == EventKind::session_ended;
    json.field("at_ms", unix_ms(event.at, clock));
    if (!is_of_session) {
        json.field("lock_name", shown_name(lease.scope))
            .field("kind", core::to_text(lease.scope.kind))
            .field("mode", core::to_text(lease.mode));
        if (lease.scope.kind == core::ScopeKind::range) {
            json.field("scope", core::to_text(lease.scope));
        }
        if (lease.scope.kind == core::ScopeKind::semaphore) json.field("limit", event.limit);
        answers::append_scope_texts(json, lease.members, nullptr);
    }
    json.field("owner_id", lease.owner.name).field("door", service::to_text(lease.owner.door));
    if (lease.session) json.field("session", lease.session.serial);
    if (is_of_session) return;
    if (const std::uint64_t fence = core::as_number(lease.token.fence); fence > 0) {
        json.field("fencing_token", fence);
        append_end(json, "lease_expiry_ms", lease.expires_at, clock);
        if (lease.grace_until > lease.expires_at) {
            json.field("grace_until_ms", unix_ms(lease.grace_until, clock));
        }
        if (event.kind != EventKind::granted && event.kind != EventKind::renewed) {
            json.field("held_ms", milliseconds(event.at - lease.acquired_at));
        }
    }
    if (event.waiter) json.field("waited_ms", milliseconds(event.at - event.waiting_since));
    if (!event.previous_owner.empty()) json.field("previous_owner_id", event.previous_owner);
    if (event.cause != core::Cause::request) json.field("cause", core::to_text(event.cause));
    if (!lease.notes.metadata.empty()) json.field("metadata", lease.notes.metadata);
    json.field("queue_length", event.queue_length);
}

void append_data(base::JsonWriter& json, const service::FenceRefusal& refusal,
                 const service::Clock& clock) {
    json.field("at_ms", unix_ms(refusal.at, clock))
        .field("resource", refusal.resource)
        .field("fencing_token", refusal.number)
        .field("highest", refusal.highest);
}

// Whether the event is about a scope for which `is_of` is true: one of a set, or one that somebody
// in a deadlock waits for.
bool is_about(const core::Event& event, const std::function<bool(const core::Scope&)>& is_of) {
    if (event.kind == core::EventKind::deadlock) {
        const answers::ShownCycle cycle(event.cycle, nullptr);
        return std::ranges::any_of(cycle.members(), [&](const core::CycleMember& member) {
            return is_of(member.waits_for);
        });
    }
    if (event.lease.members.empty()) return is_of(event.lease.scope);
    const auto members = answers::members_of(event.lease.members);
    return std::ranges::any_of(members,
                               [&](const core::SetMember& member) { return is_of(member.scope); });
}

// The beginning and the end of a session are about no lock: they are for those who may read
// everything. The resource of a fence is a name. A lease on several scopes is for those who may read all
// of them; a deadlock for those who may read a part of it, and only that part.
bool may_hear(const rights::Token* client, const service::FeedEvent& event) {
    constexpr rights::Door door = rights::Door::http;
    if (client == nullptr || client->everywhere(door) >= rights::Right::read) return true;
    const core::EventKind kind = event.event.kind;
    if (event.refused_fence) {
        const core::Scope resource = core::Scope::named(event.refused_fence->resource);
        return client->may(rights::Right::read, door, resource);
    }
    if (kind == core::EventKind::session_opened || kind == core::EventKind::session_ended) {
        return false;
    }
    const auto may_read = [&](const core::Scope& scope) {
        return client->may(rights::Right::read, door, scope);
    };
    if (kind == core::EventKind::deadlock) return is_about(event.event, may_read);
    return !is_about(event.event, [&](const core::Scope& scope) { return !may_read(scope); });
}

}  // namespace

void append_event(std::string& out, const service::FeedEvent& event, const service::Clock& clock,
                  const core::ScopeFilter* readable) {
    fmt::format_to(std::back_inserter(out), FMT_COMPILE("id: {}\nevent: {}\ndata: "), event.id,
                   event.refused_fence ? "fence_refused" : core::to_text(event.event.kind));
    base::JsonWriter json(out);
    json.begin_object();
    if (event.refused_fence) {
        append_data(json, *event.refused_fence, clock);
    } else if (event.event.kind == core::EventKind::deadlock) {
        json.field("at_ms", unix_ms(event.event.at, clock));
        answers::ShownCycle(event.event.cycle, readable).append(json);
    } else {
        append_data(json, event.event, clock);
    }
    json.end_object();
    out += "\n\n";
}

EventStreams::EventStreams(service::EventFeed& feed, service::Executor& here, net::EventLoop& loop,
                           const service::Clock& clock)
    : feed_(feed), here_(here), clock_(clock), streams_(loop, [this] { keep_alive(); }) {}

void EventStreams::open(const WatchEvents& request, const rights::Token* client,
                        net::HttpReply& reply) {
    Streams::Stream* const stream =
        streams_.open({.prefix = request.prefix, .client = rights::keep(client)}, reply);
    if (stream == nullptr) return;
    stream->reply.send(": every transition of a lock, as it happens\n\n");
    stream->reader.watch =
        feed_.watch(here_, request.after, [this, stream] { send_news(*stream); });
}

// A reader that does not keep up gets nothing more until everything sent so far has left. The feed
// remembers the events meanwhile, for a while.
void EventStreams::send_news(Streams::Stream& stream) {
    if (stream.reply.is_congested()) {
        if (std::exchange(stream.reader.awaits_room, true)) return;
        stream.reply.call_when_sent([this, &stream] {
            stream.reader.awaits_room = false;
            send_news(stream);
        });
        return;
    }
    text_.clear();
    const auto page = stream.reader.watch->read(events_at_once);
    if (page.has_missed_some) {
        text_ += "event: gap\ndata: {\"reason\":\"some events are missing\"}\n\n";
    }
    const std::string& prefix = stream.reader.prefix;
    const rights::Token* const client = stream.reader.client.get();
    for (const auto& one : page.events) {
        const bool is_wanted =
            prefix.empty() || is_about(one->event, [&](const core::Scope& scope) {
                return scope.name.starts_with(prefix);
            });
        if (!is_wanted || !may_hear(client, *one)) continue;
        const bool is_deadlock = one->event.kind == core::EventKind::deadlock;
        const auto readable =
            is_deadlock ? rights::readable_by(client, rights::Door::http) : nullptr;
        append_event(text_, *one, clock_, readable.get());
    }
    if (!text_.empty()) stream.reply.send(text_);
}

void EventStreams::keep_alive() {
    streams_.visit_all([this](Streams::Stream& stream) {
        const rights::TokenPtr& client = stream.reader.client;
        const bool is_withdrawn =
            client && !client->may_something(rights::Right::read, rights::Door::http);
        if (is_withdrawn) return false;
        if (stream.reply.is_congested()) return true;
        stream.reply.send(streams::keep_alive_text);
        send_news(stream);
        return true;
    });
}

}  // namespace holdfast::doors::lockserver

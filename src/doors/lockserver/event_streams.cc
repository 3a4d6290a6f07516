#include "doors/lockserver/event_streams.h"

#include <fmt/compile.h>
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/json/json_writer.h"
#include "doors/answers/cycle_json.h"
#include "doors/answers/scope_object.h"
#include "doors/lockserver/lock_json.h"
#include "service/doors.h"
#include "service/events/event_scopes.h"
#include "service/history/hold.h"

namespace holdfast::doors::lockserver {

namespace {

// Events that are read at a time: the loop has others to serve.
constexpr std::size_t events_at_once = 500;

std::int64_t milliseconds(core::Duration duration) {
    return std::chrono::duration_cast<std::chrono::milliseconds>(duration).count();
}

bool may_read(const rights::Token* client, const core::Scope& scope) {
    return client == nullptr || client->may(rights::Right::read, rights::Door::http, scope);
}

// An event as the client may see it: of a lease on several scopes, those that it may read. The first of
// them stands for the lease.
struct Seen {
    Seen(const core::Event& event, const rights::Token* client)
        : lease(event.lease), limit(event.limit) {
        if (lease.members.empty()) return;
        scopes = answers::members_of(lease.members);
        std::erase_if(scopes, [client](const core::SetMember& member) {
            return !may_read(client, member.scope);
        });
        is_visible = !scopes.empty();
        if (!is_visible || scopes.front().scope == lease.scope) return;
        lease.scope = scopes.front().scope;
        lease.mode = scopes.front().mode;
        limit = scopes.front().limit;
        is_of_first = false;
    }

    core::LeaseView lease;
    std::uint32_t limit;
    std::vector<core::SetMember> scopes = {};  // of a lease on one scope: none
    // False: the client may read none of several scopes. It has lost the right to them just now.
    bool is_visible = true;
    // Whether the client sees the first scope. The queue and the owner before are those of that one.
    bool is_of_first = true;
};

void append_data(base::JsonWriter& json, const core::Event& event, const Seen& seen,
                 const service::Clock& clock) {
    using core::EventKind;
    const core::LeaseView& lease = seen.lease;
    const bool is_of_session =
        event.kind == EventKind::session_opened || event.kind == EventKind::session_ended;
    json.field("at_ms", unix_ms(event.at, clock));
    if (!is_of_session) {
        answers::append_name(json, "lock_name", shown_name(lease.scope));
        json.field("kind", core::to_text(lease.scope.kind))
            .field("mode", core::to_text(lease.mode));
        if (lease.scope.kind == core::ScopeKind::range) {
            json.field("scope", core::to_text(lease.scope));
        }
        if (lease.scope.kind == core::ScopeKind::semaphore) json.field("limit", seen.limit);
        if (!seen.scopes.empty()) answers::append_scope_texts(json, seen.scopes);
    }
    json.field("owner_id", lease.owner.name).field("door", service::to_text(lease.owner.door));
    if (lease.session) json.field("session", lease.session.serial);
    if (is_of_session) {
        if (!event.by.empty()) json.field("by", event.by);
        return;
    }
    if (const std::uint64_t fence = core::as_number(lease.token.fence); fence > 0) {
        json.field("fencing_token", fence);
        append_end(json, "lease_expiry_ms", lease.expires_at, clock);
        if (lease.grace_until > lease.expires_at) {
            json.field("grace_until_ms", unix_ms(lease.grace_until, clock));
        }
        const bool goes_on = event.kind == EventKind::granted || event.kind == EventKind::renewed ||
                             event.kind == EventKind::value_set;
        if (!goes_on) {
            json.field("held_ms", milliseconds(service::held_of(event)));
        }
    }
    if (event.waiter) json.field("waited_ms", milliseconds(event.at - event.waiting_since));
    const bool has_previous = seen.is_of_first && !event.previous_owner.empty();
    if (has_previous) json.field("previous_owner_id", event.previous_owner);
    if (event.cause > core::Cause::request) json.field("cause", core::to_text(event.cause));
    if (!event.by.empty()) json.field("by", event.by);
    if (!lease.notes.metadata.empty()) json.field("metadata", lease.notes.metadata);
    if (lease.revision > 0) json.field("value", lease.value).field("revision", lease.revision);
    if (seen.is_of_first) json.field("queue_length", event.queue_length);
}

void append_data(base::JsonWriter& json, const service::FenceRefusal& refusal,
                 const service::Clock& clock) {
    json.field("at_ms", unix_ms(refusal.at, clock));
    answers::append_name(json, "resource", refusal.resource);
    json.field("fencing_token", refusal.number).field("highest", refusal.highest);
}

void append_data(base::JsonWriter& json, const service::AdminAct& act,
                 const service::Clock& clock) {
    json.field("at_ms", unix_ms(act.at, clock)).field("action", service::to_text(act.action));
    answers::append_name(json, "what", act.what);
    if (!act.by.empty()) json.field("by", act.by);
}

std::string_view kind_of(const service::FeedEvent& event) {
    if (event.refused_fence) return "fence_refused";
    return event.act ? "audit" : core::to_text(event.event.kind);
}

// Whether `is_meant` is true of a scope that the event is about and that the client may read: whether
// an event comes must not tell what else it is about. A deadlock is about what its members wait for.
template <class Predicate>
bool is_about(const core::Event& event, const rights::Token* client, Predicate is_meant) {
    const auto is_seen = [&](const core::Scope& scope) {
        return is_meant(scope) && may_read(client, scope);
    };
    if (event.kind != core::EventKind::deadlock) {
        return service::is_any_scope(event.lease, is_seen);
    }
    const answers::ShownCycle cycle(event.cycle, nullptr);
    return std::ranges::any_of(cycle.members(), [&](const core::CycleMember& member) {
        return is_seen(member.waits_for);
    });
}

// The beginning and the end of a session are about no lock, and an act may be about anything: they are
// for those who may read everything. The resource of a fence is a name. A lease on several scopes, and a deadlock, is for those
// who may read a part of it.
bool may_hear(const rights::Token* client, const service::FeedEvent& event) {
    constexpr rights::Door door = rights::Door::http;
    if (client == nullptr || client->everywhere(door) >= rights::Right::read) return true;
    const core::EventKind kind = event.event.kind;
    if (event.refused_fence) {
        return may_read(client, core::Scope::named(event.refused_fence->resource));
    }
    const bool is_of_lock = !event.act && kind != core::EventKind::session_opened &&
                            kind != core::EventKind::session_ended;
    return is_of_lock && is_about(event.event, client, [](const core::Scope&) { return true; });
}

}  // namespace

void append_event(std::string& out, const service::FeedEvent& event, const rights::Token* client,
                  const service::Clock& clock) {
    const Seen seen(event.event, client);
    if (!seen.is_visible) return;
    fmt::format_to(std::back_inserter(out), FMT_COMPILE("id: {}\nevent: {}\ndata: "), event.id,
                   kind_of(event));
    base::JsonWriter json(out);
    json.begin_object();
    if (event.refused_fence) {
        append_data(json, *event.refused_fence, clock);
    } else if (event.act) {
        append_data(json, *event.act, clock);
    } else if (event.event.kind == core::EventKind::deadlock) {
        json.field("at_ms", unix_ms(event.event.at, clock));
        const auto readable = rights::readable_by(client, rights::Door::http);
        answers::ShownCycle(event.event.cycle, readable.get()).append(json);
    } else {
        append_data(json, event.event, seen, clock);
    }
    json.end_object();
    out += "\n\n";
}

EventStreams::EventStreams(service::EventFeed& feed, service::Executor& here, net::EventLoop& loop,
                           const service::Clock& clock)
    : feed_(feed), here_(here), clock_(clock), streams_(loop, [this] { keep_alive(); }) {}

void EventStreams::open(const WatchEvents& request, const rights::Token* client,
                        net::HttpReply& reply) {
    Streams::Stream* const stream = streams_.open(
        {.prefix = request.prefix, .scope = request.scope, .client = rights::keep(client)}, reply);
    if (stream == nullptr) return;
    stream->reply.send(": every transition of a lock, as it happens\n\n");
    stream->reader.watch =
        feed_.watch(here_, request.after, [this, stream] { send_news(*stream); });
}

// Sessions and fences are about no lock: a reader that wants to hear of one lock hears nothing of
// them. Acts are for readers that want to hear of everything.
bool EventStreams::wants(const Reader& reader, const service::FeedEvent& event) {
    if (event.act) return reader.prefix.empty() && reader.scope.empty();
    const auto begins_so = [&](const core::Scope& scope) {
        return scope.name.starts_with(reader.prefix);
    };
    const rights::Token* const client = reader.client.get();
    if (!reader.prefix.empty() && !is_about(event.event, client, begins_so)) return false;
    if (reader.scope.empty()) return true;
    const core::EventKind kind = event.event.kind;
    const bool is_of_lock = event.is_transition() && kind != core::EventKind::session_opened &&
                            kind != core::EventKind::session_ended;
    const auto wanted = core::parse_scope(reader.scope);
    return is_of_lock && wanted && is_about(event.event, client, [&](const core::Scope& scope) {
               return service::is_same_lock(scope, *wanted);
           });
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
    for (const auto& one : page.events) {
        const rights::Token* const client = stream.reader.client.get();
        if (wants(stream.reader, *one) && may_hear(client, *one)) {
            append_event(text_, *one, client, clock_);
        }
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

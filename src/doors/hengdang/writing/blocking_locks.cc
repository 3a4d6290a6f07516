#include "doors/hengdang/writing/blocking_locks.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "service/doors.h"

namespace holdfast::doors::hengdang {

namespace {

// A commit is a rename and an fsync, so it should take far less than this.
constexpr core::Duration commit_time = std::chrono::minutes{1};
// A lease of somebody else that would end sooner is extended to this.
constexpr core::Duration extension_time = std::chrono::seconds{5};
constexpr std::size_t page_size = 1000;

core::Owner owner_of(std::string_view session_name) {
    return {.door = service::hengdang_door, .name = session_name};
}

FileAnswer refuse_closing() {
    return refuse(503, "Shutting down", "The server is shutting down; nothing was changed");
}

FileAnswer refuse_token(core::Refusal refusal) {
    if (refusal == core::Refusal::lease_ended) {
        return refuse(410, "LockExpired", "the lease of this Lock-Token has ended");
    }
    return refuse(404, "LockNotFound", "no lease has this Lock-Token");
}

// The client has shown a token, and has not named what its lease is on. It may not be allowed to read that.
FileAnswer refuse_scope(const core::LeaseView& lease, const rights::Token* client) {
    const bool is_shown =
        client == nullptr || client->may(rights::Right::read, rights::Door::files, lease.scope);
    const std::string what = is_shown ? core::to_text(lease.scope) : "something else";
    const bool is_shared = lease.mode == core::Mode::shared;
    return refuse(409, "LockScopeMismatch",
                  is_shared ? "the lease on " + what + " is shared: it is for reading"
                            : "the lease is on " + what);
}

// The owner of the lease that has a token.
struct Holder {
    core::Door door{};
    std::string name;

    // Whether the lease is theirs and exclusive.
    [[nodiscard]] bool has(const core::LeaseView& lease) const {
        return lease.mode == core::Mode::exclusive &&
               lease.owner == core::Owner{.door = door, .name = name};
    }
};

void find_holder(service::Port& port, const core::Token& token,
                 std::function<void(const Holder&)> then) {
    ask(port, service::Find{.token = token},
        [then = std::move(then)](const service::Response& response) {
            const core::Owner& owner = response.outcome.lease.owner;
            const Holder holder{.door = owner.door, .name = std::string(owner.name)};
            then(holder);
        });
}

}  // namespace

BlockingLocks::BlockingLocks(const Parts& parts)
    : parts_(parts), questions_(parts.executor, refuse_closing()) {}

BlockingLocks::Objection BlockingLocks::keep(const Own& own) {
    return questions_.ask([this, own](const QuestionPtr& question) {
        const core::RenewRequest request{.token = own.token,
                                         .scope = core::Scope::path(own.path),
                                         .ttl = commit_time,
                                         .never_shorten = true};
        ask(parts_.port, request, [this, own, question](const service::Response& response) {
            if (!response.failure.empty()) return question->finish(refuse_failed(response));
            const bool is_live = response.outcome.kind == core::Outcome::Kind::renewed;
            if (is_live) return question->finish({});
            answer_lost(question, own.path);
        });
    });
}

// The session has lost the lock: the answer names the present holder, if there is one.
void BlockingLocks::answer_lost(const QuestionPtr& question, const std::string& path) {
    const service::Inspect request{.scope = core::Scope::path(path), .holders = {.limit = 1}};
    ask(parts_.port, request, [this, question](const service::Response& response) {
        if (response.locks().empty() || response.locks().front().holders.empty()) {
            return question->finish(refuse_lost());
        }
        const core::LeaseView& holder = response.locks().front().holders.front();
        question->finish(refuse_locked(note_of(holder, parts_.times, parts_.clock)));
    });
}

BlockingLocks::Objection BlockingLocks::check(const TokenClaim& claim) {
    return questions_.ask([this, claim](const QuestionPtr& question) {
        // The scope of the lease decides whether the path or the bytes are checked.
        const service::Find find{.token = claim.token};
        ask(parts_.port, find, [this, claim, question](const service::Response& response) {
            check_scope(question, claim, response.outcome.lease);
        });
    });
}

void BlockingLocks::check_scope(const QuestionPtr& question, const TokenClaim& claim,
                                const core::LeaseView& lease) {
    const bool is_by_bytes = lease.scope.is_of_inode();
    if (is_by_bytes && claim.inode_number == 0)
        return question->finish(refuse_scope(lease, claim.client.get()));
    const core::Scope wanted = is_by_bytes ? core::Scope::of_range(claim.inode_number, claim.range)
                                           : core::Scope::path(claim.path);
    const service::CheckToken check{.token = claim.token, .scope = wanted};
    ask(parts_.port, check,
        [this, question, claim, is_by_bytes](const service::Response& response) {
            if (!response.failure.empty()) return question->finish(refuse_failed(response));
            const core::Outcome& outcome = response.outcome;
            const bool is_live = outcome.kind == core::Outcome::Kind::found;
            if (!is_live && outcome.refusal != core::Refusal::scope_mismatch) {
                return question->finish(refuse_token(outcome.refusal));
            }
            if (!is_live || outcome.lease.mode == core::Mode::shared) {
                return question->finish(refuse_scope(outcome.lease, claim.client.get()));
            }
            const bool is_long = outcome.lease.expires_at - response.now >= extension_time;
            const auto go_on = [this, question, token = core::Token(outcome.lease.token),
                                is_long](Objection objection) {
                if (objection || is_long) return question->finish(std::move(objection));
                extend(question, token);
            };
            is_by_bytes ? check_path(claim, go_on) : go_on({});
        });
}

// Extends a lease that would end before the commit is done.
void BlockingLocks::extend(const QuestionPtr& question, const core::Token& token) {
    const core::RenewRequest longer{.token = token, .ttl = extension_time, .never_shorten = true};
    ask(parts_.port, longer, [question](const service::Response& response) {
        const bool is_extended = response.outcome.kind == core::Outcome::Kind::renewed;
        if (!response.failure.empty()) return question->finish(refuse_failed(response));
        question->finish(is_extended ? Objection{} : refuse_token(response.outcome.refusal));
    });
}

void BlockingLocks::check_path(const TokenClaim& claim, std::function<void(Objection)> then) {
    find_holder(
        parts_.port, claim.token,
        [this, claim, then = std::move(then)](const Holder& token_holder) {
            const service::Inspect request{.scope = core::Scope::path(claim.path)};
            ask(parts_.port, request,
                [this, claim, token_holder, then](const service::Response& response) {
                    if (!response.failure.empty()) return then(refuse_failed(response));
                    if (response.locks().empty()) return then({});
                    for (const core::LeaseView& lease : response.locks().front().holders) {
                        const bool is_own = lease.owner == owner_of(claim.session_name);
                        if (is_own || lease.is_transient || token_holder.has(lease)) continue;
                        return then(refuse_locked(note_of(lease, parts_.times, parts_.clock)));
                    }
                    then({});
                });
        });
}

BlockingLocks::Objection BlockingLocks::borrow(const TokenClaim& claim) {
    return questions_.ask([this, claim](const QuestionPtr& question) {
        const auto judge = [this, claim, question](const Holder& token_holder,
                                                   const service::Response& response) {
            const core::Outcome& outcome = response.outcome;
            const bool is_new = outcome.kind == core::Outcome::Kind::granted;
            if (is_new || outcome.kind == core::Outcome::Kind::renewed) {
                const WriteHolds::Key key{.session = claim.session_name, .path = claim.path};
                parts_.holds.set_lock(key, outcome.lease.token, is_new);
                return question->finish({});
            }
            const bool is_held = response.failure.empty() && outcome.refusal == core::Refusal::held;
            if (is_held && token_holder.has(outcome.lease)) {
                return extend(question, core::Token(outcome.lease.token));
            }
            question->finish(refuse_lock(response, parts_.times, parts_.clock));
        };
        find_holder(parts_.port, claim.token, [this, claim, judge](const Holder& token_holder) {
            const core::AcquireRequest request{.scope = core::Scope::path(claim.path),
                                               .owner = owner_of(claim.session_name),
                                               .ttl = lock_time,
                                               .renew_own = true,
                                               .is_transient = true};
            ask(
                parts_.port, request,
                [token_holder, judge](const service::Response& response) {
                    judge(token_holder, response);
                },
                claim.by);
        });
    });
}

void BlockingLocks::release_late(const core::Token& token, std::function<void()> then) {
    parts_.executor.post([this, token, then = std::move(then)] {
        release_now({.token = token, .cause = core::Cause::session_end}, Until::done, then);
    });
}

// On the service's thread.
void BlockingLocks::release_now(const core::ReleaseRequest& request, Until until,
                                const std::function<void()>& then, std::string_view by) {
    if (until == Until::on_disk) {
        return ask(
            parts_.port, request, [then](const service::Response&) { then(); }, by);
    }
    ask(
        parts_.port, request, [](const service::Response&) {}, by);
    then();
}

// Leaving and releasing are one step of the service's thread. A write that has entered before it
// keeps the lock; a write that enters after it finds the lock free when it asks.
void BlockingLocks::leave(const EndedWrite& write, std::function<void()> then) {
    parts_.executor.post([this, write, then = std::move(then)] {
        const auto ended = parts_.holds.leave(write.key, write.has_written);
        if (!ended) return then();
        const Until until = ended->is_automatic ? Until::done : Until::on_disk;
        release_now({.token = ended->token}, until, then, write.by);
    });
}

void BlockingLocks::release_all(const std::string& session_name, const std::string& by) {
    const Objection ignored = questions_.ask([this, session_name, by](const QuestionPtr& question) {
        release_page(question, session_name, by);
    });
    static_cast<void>(ignored);  // a lock that could not be released will expire
}

void BlockingLocks::tell_ended(const std::string& session_name, const std::string& by) {
    const Objection ignored = questions_.ask([this, session_name, by](const QuestionPtr& question) {
        service::tell(parts_.port, {service::AdminAction::end_session, session_name}, by);
        question->finish({});
    });
    static_cast<void>(ignored);  // the server ends
}

void BlockingLocks::release_page(const QuestionPtr& question, const std::string& session_name,
                                 const std::string& by) {
    const service::ListLeases request{
        .query = {.kind = core::ScopeKind::path, .holder = session_name, .limit = page_size}};
    ask(parts_.port, request,
        [this, question, session_name, by](const service::Response& response) {
            std::vector<core::Token> tokens;
            for (const core::LeaseView& lease : response.leases()) {
                if (lease.owner.door == service::hengdang_door) tokens.push_back(lease.token);
            }
            const bool has_more = !tokens.empty() && response.leases().size() == page_size;
            if (tokens.empty()) return question->finish({});
            const auto left = std::make_shared<std::size_t>(tokens.size());
            for (const core::Token& token : tokens) {
                ask(
                    parts_.port,
                    core::ReleaseRequest{.token = token, .cause = core::Cause::session_end},
                    [this, question, session_name, by, left, has_more](const service::Response&) {
                        if (--*left > 0) return;
                        has_more ? release_page(question, session_name, by) : question->finish({});
                    },
                    by);
            }
        });
}

}  // namespace holdfast::doors::hengdang

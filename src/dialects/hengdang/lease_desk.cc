#include "dialects/hengdang/lease_desk.h"

#include <algorithm>
#include <condition_variable>
#include <utility>
#include <vector>

#include "service/doors.h"

namespace holdfast::dialects::hengdang {

namespace {

// A commit is a rename and an fsync: it should take less than this, by far.
constexpr core::Duration commit_time = std::chrono::minutes{1};
// A lease of somebody else that ends sooner is held up for so long.
constexpr core::Duration shown_time = std::chrono::seconds{5};
constexpr std::size_t page_size = 1000;

FileAnswer refuse_closing() {
    return refuse(503, "Shutting down", "The server is shutting down; nothing was changed");
}

FileAnswer refuse_token(core::Refusal refusal) {
    if (refusal == core::Refusal::lease_ended) {
        return refuse(410, "LockExpired", "the lease of this Lock-Token has ended");
    }
    return refuse(404, "LockNotFound", "no lease has this Lock-Token");
}

FileAnswer refuse_scope(const core::LeaseView& lease) {
    const std::string what = core::to_text(lease.scope);
    const bool is_shared = lease.mode == core::Mode::shared;
    return refuse(409, "LockScopeMismatch",
                  is_shared ? "the lease on " + what + " is shared: it is for reading"
                            : "the lease is on " + what);
}

}  // namespace

void ask(service::Port& port, const service::Request& request,
         std::function<void(const service::Response&)> then) {
    if (const service::Response* const response = port.submit(request)) return then(*response);
    port.await(service::answer_by(std::move(then)));
}

// One answer that somebody waits for.
class LeaseDesk::Question {
  public:
    void finish(Objection objection) {
        const std::lock_guard lock(mutex_);
        if (std::exchange(is_over_, true)) return;
        objection_ = std::move(objection);
        changed_.notify_one();
    }
    Objection wait() {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [this] { return is_over_; });
        return std::move(objection_);
    }

  private:
    std::mutex mutex_;
    std::condition_variable changed_;
    bool is_over_ = false;
    Objection objection_;
};

LeaseDesk::Objection LeaseDesk::wait_for(const std::function<void(const QuestionPtr&)>& work) {
    const auto question = std::make_shared<Question>();
    {
        const std::lock_guard lock(mutex_);
        if (is_closed_) return refuse_closing();
        open_.insert(question);
    }
    parts_.executor.post([work, question] { work(question); });
    Objection objection = question->wait();
    const std::lock_guard lock(mutex_);
    open_.erase(question);
    return objection;
}

LeaseDesk::Objection LeaseDesk::keep(const Own& own) {
    return wait_for([this, own](const QuestionPtr& question) {
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

// Who has it instead, if anybody.
void LeaseDesk::answer_lost(const QuestionPtr& question, const std::string& path) {
    const service::Inspect request{.scope = core::Scope::path(path), .holders = {.limit = 1}};
    ask(parts_.port, request, [this, question](const service::Response& response) {
        if (response.locks.empty() || response.locks.front().holders.empty()) {
            return question->finish(refuse_lost());
        }
        const core::LeaseView& holder = response.locks.front().holders.front();
        question->finish(refuse_locked(note_of(holder, parts_.times, parts_.clock)));
    });
}

LeaseDesk::Objection LeaseDesk::check(const Shown& shown) {
    return wait_for([this, shown](const QuestionPtr& question) {
        const auto judge = [this, question](const service::Response& response) {
            if (!response.failure.empty()) return question->finish(refuse_failed(response));
            const core::Outcome& outcome = response.outcome;
            const bool is_live = outcome.kind == core::Outcome::Kind::renewed;
            if (!is_live && outcome.refusal != core::Refusal::scope_mismatch) {
                return question->finish(refuse_token(outcome.refusal));
            }
            if (!is_live || outcome.lease.mode == core::Mode::shared) {
                return question->finish(refuse_scope(outcome.lease));
            }
            if (outcome.lease.expires_at - response.now >= shown_time) return question->finish({});
            const core::RenewRequest longer{
                .token = outcome.lease.token, .ttl = shown_time, .never_shorten = true};
            ask(parts_.port, longer, [question](const service::Response& renewed) {
                const bool is_kept = renewed.outcome.kind == core::Outcome::Kind::renewed;
                if (!renewed.failure.empty()) return question->finish(refuse_failed(renewed));
                question->finish(is_kept ? Objection{} : refuse_token(renewed.outcome.refusal));
            });
        };
        // Which of its names the file is to be checked by is for the lease to say.
        const service::Find find{.token = shown.token};
        ask(parts_.port, find, [this, shown, judge, question](const service::Response& response) {
            const core::LeaseView& lease = response.outcome.lease;
            const bool is_by_bytes = lease.scope.is_of_inode();
            if (is_by_bytes && shown.inode_number == 0)
                return question->finish(refuse_scope(lease));
            const core::Scope wanted = is_by_bytes
                                           ? core::Scope::of_range(shown.inode_number, shown.range)
                                           : core::Scope::path(shown.path);
            const service::CheckToken check{.token = shown.token, .scope = wanted};
            ask(parts_.port, check, judge);
        });
    });
}

void LeaseDesk::release(const core::Token& token, Until until, std::function<void()> then) {
    parts_.executor.post([this, token, until, then = std::move(then)] {
        const core::ReleaseRequest request{.token = token};
        if (until == Until::on_disk) {
            return ask(parts_.port, request, [then](const service::Response&) { then(); });
        }
        ask(parts_.port, request, [](const service::Response&) {});
        then();
    });
}

void LeaseDesk::release_all(const std::string& session_name) {
    const Objection ignored = wait_for([this, session_name](const QuestionPtr& question) {
        release_page(question, session_name);
    });
    static_cast<void>(ignored);  // a lock that could not be given back will expire
}

void LeaseDesk::release_page(const QuestionPtr& question, const std::string& session_name) {
    const service::ListLeases request{
        .query = {.kind = core::ScopeKind::path, .holder = session_name, .limit = page_size}};
    ask(parts_.port, request, [this, question, session_name](const service::Response& response) {
        std::vector<core::Token> tokens;
        for (const core::LeaseView& lease : response.leases) {
            if (lease.owner.door == service::hengdang_door) tokens.push_back(lease.token);
        }
        const bool has_more = !tokens.empty() && response.leases.size() == page_size;
        if (tokens.empty()) return question->finish({});
        const auto left = std::make_shared<std::size_t>(tokens.size());
        for (const core::Token& token : tokens) {
            ask(parts_.port, core::ReleaseRequest{.token = token},
                [this, question, session_name, left, has_more](const service::Response&) {
                    if (--*left > 0) return;
                    has_more ? release_page(question, session_name) : question->finish({});
                });
        }
    });
}

void LeaseDesk::close() {
    const std::lock_guard lock(mutex_);
    is_closed_ = true;
    for (const QuestionPtr& question : open_) question->finish(refuse_closing());
}

}  // namespace holdfast::dialects::hengdang

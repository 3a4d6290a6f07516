#pragma once

// WritePermit: the right of one request to change one file, from asking for it to giving it back.
//
// The right is either the session's lock on the path, which all requests of the session on that
// path share (WriteHolds), or the lease of the Lock-Token that the request carries. That lease
// belongs to somebody else and is only looked at. Either way, at the moment of the change the
// session must be live, its token must have the right to the path, and nobody else may hold the lock on
// the path.

#include <functional>
#include <optional>
#include <string>

#include "doors/hengdang/exchange.h"
#include "doors/hengdang/http/conditions.h"

namespace holdfast::doors::hengdang {

class WritePermit {
  public:
    struct Terms {
        std::string session_name;
        rights::TokenPtr client;  // Visitor::client
        std::string by;           // Visitor::by
        files::FilePath path;
        std::optional<core::Token> lock_token;
        core::Range range;  // the bytes that are written
        Conditions conditions;
    };

    WritePermit(const HengdangContext& context, Terms terms)
        : context_(context), terms_(std::move(terms)) {}

    // What is in the way of the change: nothing, or the answer that says it.
    using Objection = BlockingLocks::Objection;

    // Whether conditions or a token have to be compared with the version that is there.
    [[nodiscard]] bool needs_version() const {
        return terms_.lock_token.has_value() || !terms_.conditions.is_empty();
    }

    // On a thread of the disk, before anything else: what the conditions and the token say to the
    // version that is there now.
    [[nodiscard]] Objection look_ahead() const;

    // On the loop. Asks for the lock, unless there is a token, and then calls `then` with what is
    // in the way; perhaps before it returns.
    void ask_for(std::function<void(Objection)> then);

    // On a thread of the disk: session, right, conditions, token and lock. REQUIRES: ask_for() has found
    // nothing in the way.
    [[nodiscard]] Objection check(const files::FileInfo* current) const;

    // A commit, on a thread of the disk. After judge() has returned no objection and until this
    // object ends, the session does not end and nobody else is granted the lock on the path.
    // REQUIRES: ask_for() has found nothing in the way.
    class Commit {
      public:
        explicit Commit(const WritePermit& permit);
        Commit(const Commit&) = delete;
        Commit& operator=(const Commit&) = delete;
        ~Commit();

        // The check at the commit. It may be called again.
        [[nodiscard]] Objection judge(const files::FileInfo* current);

      private:
        const WritePermit& permit_;
        // Commits with tokens go through a path's gate one at a time: a second one would find the
        // lock that the first one has borrowed.
        std::optional<files::PathGates::Pass> turn_;
        std::optional<files::SessionBook::Change> change_;
        bool has_entered_holds_ = false;
    };

    // On the loop. Gives the lock back unless somebody else still needs it, and then calls `then`
    // on any thread, perhaps before it returns. REQUIRES: ask_for() has called back.
    void give_back(bool has_written, std::function<void()> then);

  private:
    [[nodiscard]] WriteHolds::Key key() const {
        return {.session = terms_.session_name, .path = terms_.path.text()};
    }
    [[nodiscard]] BlockingLocks::TokenClaim claim_on(const files::FileInfo* current) const;
    [[nodiscard]] Objection judge_version(const files::FileInfo* current) const;

    const HengdangContext context_;
    const Terms terms_;
    std::optional<core::Token> lock_;  // the loop sets it before threads of the disk read it
};

}  // namespace holdfast::doors::hengdang

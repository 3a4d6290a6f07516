#pragma once

// WritePermit: the right of one request to change one file, from asking for it to giving it back.
//
// It is the session's lock on the path, shared by all its requests there (WriteHolds), or the lease
// of a Lock-Token, which is somebody's, and only looked at. Either way the session must not be over
// when the change is made, and nobody else may have the lock on the path then.

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
        std::string path;
        std::optional<core::Token> lock_token;
        core::Range range;  // the bytes that are written
        Conditions conditions;
    };

    WritePermit(const HengdangPlace& place, Terms terms)
        : place_(place), terms_(std::move(terms)) {}

    // On the loop. Asks for the lock, if one is needed, and then calls `then` with what is in the
    // way, or nothing; perhaps before it returns.
    using Objection = LeaseDesk::Objection;
    void ask_for(std::function<void(Objection)> then);

    // On the disk's threads. Whether the conditions and the token allow the write, as it looks
    // before it.
    [[nodiscard]] Objection look_ahead(const files::FileInfo* current) const;
    // The same, session and lock included. REQUIRES: ask_for() has found nothing in the way.
    [[nodiscard]] Objection check(const files::FileInfo* current) const;

    // A commit, on one of the disk's threads. From the first answer of judge() without an objection
    // until this object ends, the session does not end and nobody else is granted the lock on the
    // path. REQUIRES: ask_for() has found nothing in the way.
    class Commit {
      public:
        explicit Commit(const WritePermit& permit);
        Commit(const Commit&) = delete;
        Commit& operator=(const Commit&) = delete;
        ~Commit();

        // The check at the commit. It may be asked again.
        [[nodiscard]] Objection judge(const files::FileInfo* current);

      private:
        const WritePermit& permit_;
        // Commits under tokens take turns at a path, so that none finds the lock that the one
        // before it has borrowed.
        std::optional<files::PathGates::Pass> turn_;
        std::optional<files::SessionBook::Change> change_;
        bool has_entered_ = false;
    };

    // On the loop. Gives the lock back, if it is to be, and then calls `then` on any thread,
    // perhaps before it returns. REQUIRES: ask_for() has called back.
    void give_back(bool has_written, std::function<void()> then);

    [[nodiscard]] bool needs_version() const {
        return terms_.lock_token.has_value() || !terms_.conditions.is_empty();
    }

  private:
    [[nodiscard]] WriteHolds::Key key() const {
        return {.session = terms_.session_name, .path = terms_.path};
    }
    [[nodiscard]] LeaseDesk::Shown shown(const files::FileInfo* current) const;

    const HengdangPlace place_;
    const Terms terms_;
    std::optional<core::Token> lock_;  // written on the loop, before the disk's threads read it
};

}  // namespace holdfast::doors::hengdang

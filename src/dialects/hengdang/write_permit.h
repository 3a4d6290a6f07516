#pragma once

// WritePermit: the right of one request to change one file, from asking for it to giving it back.
//
// It is the session's lock on the path, shared by all its requests there (WriteHolds), or the lease
// of a Lock-Token, which is somebody's, and only looked at.

#include <functional>
#include <optional>
#include <string>

#include "dialects/hengdang/conditions.h"
#include "dialects/hengdang/exchange.h"

namespace holdfast::dialects::hengdang {

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

    [[nodiscard]] std::optional<std::string_view> find_broken_condition(
        const files::FileInfo* current) const {
        return find_broken(terms_.conditions, current);
    }
    // On the disk's threads. Whether the conditions and the token allow the write, as it looks
    // before it.
    [[nodiscard]] Objection look_ahead(const files::FileInfo* current) const;
    // The same at the commit, lock included. REQUIRES: ask_for() has found nothing in the way.
    [[nodiscard]] Objection judge(const files::FileInfo* current) const;

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

}  // namespace holdfast::dialects::hengdang

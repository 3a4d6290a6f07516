#pragma once

// BlockingLocks: the lock service, for the threads that work on files.
//
// The service runs on a loop, and a loop must never wait for a disk. The threads of the disk may
// wait for the loop: each posts its question to the loop and waits for the answer. When the loop
// has stopped, close() answers every waiting thread with a refusal, and then it changes nothing.
//
// Thread safety: any thread but the service's; release_late() and leave() may be called from every
// thread.
// Lifetime: the port and the executor outlive every question; after close() they are not used. The
// thread that asks keeps this object; for release_late() and leave(), `then` does: it owns the door.

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "core/values/request.h"
#include "doors/hengdang/http/file_answer.h"
#include "doors/hengdang/http/request_parts.h"
#include "doors/hengdang/writing/session_locks.h"
#include "rights/token.h"
#include "service/ports/blocking_questions.h"
#include "service/ports/port.h"

namespace holdfast::doors::hengdang {

class BlockingLocks {
  public:
    struct Parts {
        service::Port& port;  // on the executor's thread
        service::Executor& executor;
        const service::Clock& clock;
        const LockTimes& times;
        WriteHolds& holds;
    };

    explicit BlockingLocks(const Parts& parts);

    // Nothing if the file may be written now, else the answer that says why not. If it may, nobody
    // else is granted the lock for at least as long as a commit should take.
    using Objection = std::optional<FileAnswer>;

    // The lock of a session on its path.
    struct Own {
        core::Token token;
        std::string path;
    };
    [[nodiscard]] Objection keep(const Own& own);

    // The claim that the lease of a Lock-Token allows a session to write some bytes. The lease must
    // be exclusive and cover the path, or the bytes of the file there.
    struct TokenClaim {
        core::Token token;
        std::string session_name;
        rights::TokenPtr client = {};  // Visitor::client
        std::string by = {};           // Visitor::by
        std::string path;
        std::uint64_t inode_number = 0;  // 0: the path has no file
        core::Range range;               // the bytes; by default, all of them
    };
    // Looks whether the claim is good. The lock on the path goes before a lease on bytes: if
    // another session holds that lock, the claim is refused. Locks that are held for one request
    // only do not count here; borrow() finds them.
    [[nodiscard]] Objection check(const TokenClaim& claim);

    // Acquires the lock on the path in the session's name for a commit, so that nobody is granted
    // it before the commit is done. If the holder of the token's lease also holds the lock on the
    // path, that lock is extended instead. REQUIRES: the session has entered the holds at that
    // path, and leaves them after the commit.
    [[nodiscard]] Objection borrow(const TokenClaim& claim);

    // Ends a write: leaves the holds and releases the lock if nobody needs it any more. Calls
    // `then` on the service's thread, as release_late() does. A lock that the session has asked for
    // itself would come back after a restart, so then `then` waits for the disk. Does not block.
    struct EndedWrite {
        WriteHolds::Key key;
        bool has_written = false;
        std::string by;  // Visitor::by
    };
    void leave(const EndedWrite& write, std::function<void()> then);

    // Releases a lock that was granted when its session had ended, and calls `then` on the service's
    // thread when nobody is refused because of the lock any more. Does not block.
    void release_late(const core::Token& token, std::function<void()> then);

    // Releases all locks on paths of a session that has ended. `by`: who has ended it, if somebody has.
    void release_all(const std::string& session_name, const std::string& by);

    // Tells observers that somebody has ended the session of somebody else.
    void tell_ended(const std::string& session_name, const std::string& by);

    // REQUIRES: the service's thread has stopped.
    void close() { questions_.close(); }

  private:
    using Questions = service::BlockingQuestions<Objection>;
    using QuestionPtr = Questions::QuestionPtr;

    void answer_lost(const QuestionPtr& question, const std::string& path);
    void check_scope(const QuestionPtr& question, const TokenClaim& claim,
                     const core::LeaseView& lease);
    void extend(const QuestionPtr& question, const core::Token& token);
    void check_path(const TokenClaim& claim, std::function<void(Objection)> then);
    // When the release of a lock is done: when nobody is refused because of it any more, or when it
    // is on disk.
    enum class Until { done, on_disk };
    void release_now(const core::ReleaseRequest& request, Until until,
                     const std::function<void()>& then, std::string_view by = {});
    void release_page(const QuestionPtr& question, const std::string& session_name,
                      const std::string& by);

    const Parts parts_;
    Questions questions_;
};

}  // namespace holdfast::doors::hengdang

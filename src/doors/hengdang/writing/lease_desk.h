#pragma once

// LeaseDesk: where threads that work on files ask the lock service.
//
// The service lives on a loop, which must never wait for a disk; the disks' threads may wait for
// the loop. Each question is posted there, and its thread waits for the answer. So the loop never
// waits for them, and once it has stopped, close() sends home whoever waits, empty-handed: then
// they change nothing.
//
// Thread safety: any thread but the service's, except release() and leave(), which any thread may
// call.
// Lifetime: the port and the executor outlive every question; after close() they are not used.

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>

#include "core/values/request.h"
#include "doors/hengdang/http/file_answer.h"
#include "doors/hengdang/writing/write_holds.h"
#include "service/ports/executor.h"
#include "service/ports/port.h"

namespace holdfast::doors::hengdang {

// How long a lock on a file lasts.
inline constexpr std::chrono::seconds lock_time{1800};

// Asks, and calls `then` with the response, at once or later, on the port's thread.
void ask(service::Port& port, const service::Request& request,
         std::function<void(const service::Response&)> then);

class LeaseDesk {
  public:
    struct Parts {
        service::Port& port;  // on the executor's thread
        service::Executor& executor;
        const service::Clock& clock;
        const LockTimes& times;
        WriteHolds& holds;
    };

    explicit LeaseDesk(const Parts& parts) : parts_(parts) {}

    // Whether something may be written now: nothing if so, else what to say. While it may, and for
    // at least as long as a commit should take, nobody else is granted the lock.
    using Objection = std::optional<FileAnswer>;

    // A session's lock on its path.
    struct Own {
        core::Token token;
        std::string path;
    };
    [[nodiscard]] Objection keep(const Own& own);

    // Somebody's lease, by its token: it must be exclusive and cover the path, or the bytes of the
    // file there. The lock on the path counts for more than a lease of the bytes: if somebody else
    // than the session has taken it, that is an objection. Locks that are held for one request only
    // are left to borrow().
    struct Shown {
        core::Token token;
        std::string session_name;
        std::string path;
        std::uint64_t inode_number = 0;  // 0: there is none
        core::Range range;               // the bytes; by default, all of them
    };
    [[nodiscard]] Objection check(const Shown& shown);

    // Takes the lock on the path in the session's name for a commit under somebody's lease, so that
    // nobody is granted it before the commit is done. If the lease's holder has that lock, it is
    // kept for the commit instead. REQUIRES: the session has entered the holds at that path, and
    // leaves them after the commit.
    [[nodiscard]] Objection borrow(const Shown& shown);

    // Ends a write: leaves the holds, and gives the lock back if it is to be. Calls `then` on the
    // service's thread, as release() does; a lock that the session has asked for itself would be
    // there again after a restart, so `then` waits for the disk with that. Waits for nothing.
    void leave(const WriteHolds::Key& key, bool has_written, std::function<void()> then);

    // Gives a lock back and calls `then` on the service's thread: when nobody is refused for it any
    // more, or, with `on_disk`, when it is known to stay so. Waits for nothing.
    enum class Until { done, on_disk };
    void release(const core::Token& token, Until until, std::function<void()> then);

    // Gives back all that the session has.
    void release_all(const std::string& session_name);

    // After the service's thread has stopped.
    void close();

  private:
    class Question;
    using QuestionPtr = std::shared_ptr<Question>;

    Objection wait_for(const std::function<void(const QuestionPtr&)>& work);
    void answer_lost(const QuestionPtr& question, const std::string& path);
    void check_scope(const QuestionPtr& question, const Shown& shown, const core::LeaseView& lease);
    void hold_up(const QuestionPtr& question, const core::Token& token);
    void check_path(const Shown& shown, std::function<void(Objection)> then);
    void release_now(const core::Token& token, Until until, const std::function<void()>& then);
    void release_page(const QuestionPtr& question, const std::string& session_name);

    const Parts parts_;
    std::mutex mutex_;
    bool is_closed_ = false;
    std::set<QuestionPtr> open_;
};

}  // namespace holdfast::doors::hengdang

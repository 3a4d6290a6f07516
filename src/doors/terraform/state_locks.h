#pragma once

// StateLocks: the lock of each state, for the threads that work on states.
//
// The lock of a state is the named lock of the same name, so the clients of all doors compete for it.
// Its owner is the ID that Terraform gave it, and the JSON that came with the ID is its metadata.
//
//     request                   held by this ID    held by another    free
//     lock(ID)                  again granted      423, its JSON      granted
//     unlock(ID)                released           409                done: it was repeated, or ended
//     unlock(), by an admin     -                  released (*)       done
//     check(ID)                 may write          423                423: the lock was lost
//     check() without an ID     -                  423                may write
//
//     (*) Only a lock that was taken at this door. Others are for `holdfast force-unlock`.
//
// Each also asks whether the client has the right to it at this moment: it may have lost the right since
// its request began.
//
// Thread safety: any thread but the service's. All functions wait for the service.

#include <string>

#include "core/values/request.h"
#include "doors/terraform/lock_info.h"
#include "doors/terraform/state_answer.h"
#include "service/ports/blocking_questions.h"
#include "service/ports/clock.h"
#include "service/ports/port.h"

namespace holdfast::doors::terraform {

class StateLocks {
  public:
    struct Parts {
        service::Port& port;  // on the executor's thread
        service::Executor& executor;
        const service::Clock& clock;
        core::Duration ttl;  // of a lock
    };
    explicit StateLocks(const Parts& parts);

    // Who asks for something about a state.
    struct Request {
        std::string name;              // of the state
        std::string id = {};           // of the lock, as the client shows it; empty: none
        rights::TokenPtr client = {};  // null: it has no limits
        std::string by = {};           // service::Asker::by
    };
    // `info` has the ID.
    [[nodiscard]] Objection lock(const Request& request, const LockInfo& info);
    // Without an ID it ends the lock of whoever has it.
    [[nodiscard]] Objection unlock(const Request& request);
    // Tells observers that a state is an earlier version again: `web, version 3`.
    void tell_rolled_back(const std::string& what, const std::string& by);
    // Whether a client that shows this ID may write the state.
    [[nodiscard]] Objection check(const Request& request);

    // REQUIRES: the service's thread has stopped.
    void close() { questions_.close(); }

  private:
    using Questions = service::BlockingQuestions<Objection>;
    using QuestionPtr = Questions::QuestionPtr;

    void release(const QuestionPtr& question, const core::LeaseView& lease, const Request& request);
    [[nodiscard]] Objection judge_lock(const service::Response& response) const;
    [[nodiscard]] Objection judge_write(const service::Response& response,
                                        const std::string& id) const;

    const Parts parts_;
    Questions questions_;
};

}  // namespace holdfast::doors::terraform

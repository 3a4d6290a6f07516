#pragma once

// Api: what etcd can be asked for, by those who do not care how the question travels.
//
// Behind it is a Client with real members of etcd, or a simulated etcd.
//
// Thread safety: none; everything, callbacks included, on the thread of one loop.
// Callbacks: each is called exactly once, never inside the call that it was given to. None is called
// after the Api has been destroyed.

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <tl/expected.hpp>

#include "etcd/wire/messages.h"

namespace holdfast::etcd {

// Why there is no answer, or no good one.
struct Failure {
    enum class Kind : std::uint8_t {
        // Not done, and will not be done later: the request never left, or etcd refused it.
        not_done,
        // No answer, or one that does not tell: it may have been done, or may be done yet.
        unknown,
        // etcd's database is full. Not done, or done nevertheless: etcd looks at its quota before a request
        // and once more while it does it, and answers the same. Transactions that only remove are still
        // done.
        no_space,
        // Not done; the revision was compacted.
        compacted,
        // Not done; the lease does not exist.
        no_lease,
        // The answer is larger than what is taken (answer_bytes_max): a read should ask for less. Does
        // not tell whether a transaction was done.
        too_large,
        // Not done, and asking again does not help: the user, the password or the rights are wrong,
        // the certificate cannot be trusted, or etcd does not understand the request.
        rejected,
    };

    Kind kind = Kind::unknown;
    std::string message;  // a sentence for people; says which member
};

template <class T>
using Answer = tl::expected<T, Failure>;
template <class T>
using OnAnswer = std::function<void(Answer<T>)>;

class Api {
  public:
    using Duration = std::chrono::microseconds;
    // Of a watch; 0 is none.
    using WatchId = std::uint64_t;

    virtual ~Api() = default;

    // Each is given up after `timeout`, and then has failed as `unknown`, or as `not_done` if it never
    // left. One attempt with one member: whoever asks decides whether to ask again. After a failure as
    // `unknown` or `not_done` the next request goes to another member. A member that has not answered
    // one request in time is abandoned: all other requests to it, and watches, fail with that one.
    virtual void range(RangeRequest request, Duration timeout, OnAnswer<RangeAnswer> done) = 0;
    virtual void transact(std::shared_ptr<const Transaction> transaction, Duration timeout,
                          OnAnswer<TransactionAnswer> done) = 0;
    // `id` 0: etcd chooses one. The answer may have a longer TTL than was asked for.
    virtual void grant(LeaseId id, std::chrono::seconds ttl, Duration timeout,
                       OnAnswer<LeaseAnswer> done) = 0;
    virtual void keep_alive(LeaseId id, Duration timeout, OnAnswer<LeaseAnswer> done) = 0;
    virtual void revoke(LeaseId id, Duration timeout, OnAnswer<LeaseAnswer> done) = 0;
    // Drops what is older than `revision`. The answer is the newest revision.
    virtual void compact(Revision revision, Duration timeout, OnAnswer<Revision> done) = 0;
    virtual void status(Duration timeout, OnAnswer<StatusAnswer> done) = 0;

    // Tells of every change of the keys from `key` up to `range_end` (empty: of that key alone) from
    // `start` on, until cancel(). When the watch breaks (the member is gone, has lost its quorum, or
    // the revision was compacted), calls `on_end` once, and that is its end: begin another.
    using OnEvents = std::function<void(Revision, const std::vector<WatchEvent>&)>;
    using OnEnd = std::function<void(Failure)>;
    virtual WatchId watch(std::string key, std::string range_end, Revision start,
                          OnEvents on_events, OnEnd on_end) = 0;
    // Nothing is called after this.
    virtual void cancel(WatchId watch) = 0;
};

}  // namespace holdfast::etcd

#pragma once

// The library for programs in C (C99 or later), and for languages that call C: locks inside a program,
// or of a server. holdfast/lock_manager.h and holdfast/client.h are the same for C++.
//
//     holdfast_error why;
//     holdfast_locks *locks;
//     holdfast_lease *lease;
//     const holdfast_request request = {.scope = "range:7:0-4096", .holder = "writer-1"};
//     if (holdfast_open("locks.db", &locks, &why) != HOLDFAST_OK) return complain(why.message);
//     if (holdfast_acquire(locks, &request, 60000, NULL, &lease, &why) != HOLDFAST_OK) ...
//     ...
//     if (holdfast_check(locks, holdfast_lease_token(lease), "range:7:0-512", HOLDFAST_EXCLUSIVE,
//                        NULL, &why) != HOLDFAST_OK) return refuse(why.message);
//     do_write(...);
//     holdfast_release(locks, holdfast_lease_token(lease), &why);
//     holdfast_lease_free(lease);
//     holdfast_close(locks);
//
// Scopes are texts, as everywhere in Holdfast: `nightly` (a name), `semaphore:printers`, `path:/a/b`,
// `inode:7`, `range:7:0-4096` (bytes 0 to 4095 of inode 7), `range:7:4096-` (to the end of the file).
// A name that begins like another kind is written `named:...`. Texts end with a zero byte and are UTF-8.
//
// Results: every function that can fail returns a holdfast_code, and fills `error` unless it is NULL.
// A function that fails sets the handle that it would have made to NULL.
//
// Ownership: a handle belongs to the program, which ends it: locks with holdfast_close(), leases, guards
// and stops with their _free(). NULL is ended without effect. What a function is given it does not keep.
// A text that a function of a lease returns lives as long as the lease.
//
// Thread safety: locks and stops may be used from any threads at once, and so may guards, but for their
// release and end. A lease does not change: any threads may read it until one ends it. No other call may
// be under way when a handle is ended; guards may outlive their locks. A child after fork() must not use
// its parent's handles.
//
// Sizes: `holdfast_request`, `holdfast_heartbeat`, `holdfast_server` and `holdfast_error` are the
// program's memory. They may become larger with a minor version before 1.0, as the name of the shared
// library does. A field that is zero has its default.

#include <stdbool.h>
#include <stdint.h>

#include "holdfast/export.h"

#ifdef __cplusplus
extern "C" {
#endif

// NOLINTBEGIN(readability-identifier-naming, bugprone-easily-swappable-parameters): C has no namespaces

typedef struct holdfast_locks holdfast_locks;  // those inside the program, or those of a server
typedef struct holdfast_lease holdfast_lease;  // a lease as it was when a function returned it
typedef struct holdfast_guard holdfast_guard;  // a lease that renews itself
typedef struct holdfast_stop holdfast_stop;    // ends calls that wait

// Why a call failed. The numbers stay what they are.
typedef enum holdfast_code {
    HOLDFAST_OK = 0,
    HOLDFAST_HELD = 1,            // somebody else has the lock
    HOLDFAST_NOT_FOUND = 2,       // no such token was ever issued
    HOLDFAST_EXPIRED = 3,         // the lease has ended; this is final
    HOLDFAST_SCOPE_MISMATCH = 4,  // the lock is good, but not for this
    HOLDFAST_NOT_GUARANTEED = 5,  // no renewal was confirmed in time: the lease may have ended
    HOLDFAST_CANCELLED = 6,       // the stop was requested
    HOLDFAST_LIMIT_REACHED = 7,
    HOLDFAST_INVALID_REQUEST = 8,      // the request makes no sense
    HOLDFAST_STORE_FAILURE = 9,        // the file of the locks cannot be read or written
    HOLDFAST_SERVER_UNAVAILABLE = 10,  // whether the request had an effect is not known
    HOLDFAST_NOT_PERMITTED = 11,
    HOLDFAST_STALE_FENCE = 12,  // a larger fencing token was used for the resource
    HOLDFAST_DEADLOCK = 13,     // to wait would be to wait for ever
    HOLDFAST_OUT_OF_MEMORY = 14
} holdfast_code;

typedef struct holdfast_error {
    holdfast_code code;
    uint64_t highest;       // HOLDFAST_STALE_FENCE: the largest fencing token of the resource
    int64_t expires_at_ms;  // HOLDFAST_HELD: when, in Unix time; INT64_MAX: without an end
    char holder[256];       // HOLDFAST_HELD: who; cut if it is longer
    char message[512];      // a sentence for people; cut if it is longer
} holdfast_error;

typedef enum holdfast_mode { HOLDFAST_EXCLUSIVE = 0, HOLDFAST_SHARED = 1 } holdfast_mode;

typedef struct holdfast_request {
    const char* scope;   // what is locked
    const char* holder;  // NULL: this host, process and holdfast_locks
    int64_t ttl_ms;      // how long the lease lasts, unless it is renewed; 0: 30 seconds
    holdfast_mode mode;
    uint64_t limit;          // of a semaphore: how many may hold it; 0: one
    const char* metadata;    // shown with the lease
    const char* request_id;  // requests with the same id have the effect of one
    const char* waiter;      // whose wait it is, for finding deadlocks; NULL: this thread
    bool
        waits_in_deadlock;  // a request that closes a circle waits on, instead of HOLDFAST_DEADLOCK
} holdfast_request;

// The locks.

// Locks inside the program, kept in the file `path`; NULL: nothing is kept.
HOLDFAST_API holdfast_code holdfast_open(const char* path, holdfast_locks** locks,
                                         holdfast_error* error);

// Where the server is. What is NULL comes from the environment: HOLDFAST_SERVER, HOLDFAST_TOKEN,
// HOLDFAST_TOKEN_FILE, HOLDFAST_CA_FILE.
typedef struct holdfast_server {
    const char* servers;  // addresses of one server, separated by commas
    const char* token;
    const char* token_file;
    const char* ca_file;
    int64_t timeout_ms;    // for one answer, beyond the wait for a lock; 0: ten seconds
    int64_t retry_for_ms;  // how long a request without an answer is repeated; 0: ten seconds
} holdfast_server;

// The locks of a server. Does not connect yet. `server` may be NULL.
HOLDFAST_API holdfast_code holdfast_connect(const holdfast_server* server, holdfast_locks** locks,
                                            holdfast_error* error);
HOLDFAST_API void holdfast_close(holdfast_locks* locks);

// Leases. Where a lease is returned, `lease` may be NULL, but for the two that acquire one.

// Waits in the queue for `wait_ms` at most (INT64_MAX: without an end), then fails with HOLDFAST_HELD.
// `stop` may be NULL.
HOLDFAST_API holdfast_code holdfast_acquire(holdfast_locks* locks, const holdfast_request* request,
                                            int64_t wait_ms, holdfast_stop* stop,
                                            holdfast_lease** lease, holdfast_error* error);
// Does not wait, and does not overtake waiters.
HOLDFAST_API holdfast_code holdfast_try_acquire(holdfast_locks* locks,
                                                const holdfast_request* request,
                                                holdfast_lease** lease, holdfast_error* error);
// The lease lasts for `ttl_ms` (0: its old ttl) from now on.
HOLDFAST_API holdfast_code holdfast_renew(holdfast_locks* locks, const char* token, int64_t ttl_ms,
                                          holdfast_lease** lease, holdfast_error* error);
HOLDFAST_API holdfast_code holdfast_release(holdfast_locks* locks, const char* token,
                                            holdfast_error* error);
// The lease of a token.
HOLDFAST_API holdfast_code holdfast_get_by_token(holdfast_locks* locks, const char* token,
                                                 holdfast_lease** lease, holdfast_error* error);
// Whether the holder of `token` may now do work that needs a lock on `scope`. A shared lease is not
// enough to write.
HOLDFAST_API holdfast_code holdfast_check(holdfast_locks* locks, const char* token,
                                          const char* scope, holdfast_mode mode,
                                          holdfast_lease** lease, holdfast_error* error);
// To be called before every use of a resource that cannot compare fencing tokens itself.
// HOLDFAST_STALE_FENCE if a larger one was used before.
HOLDFAST_API holdfast_code holdfast_pass_fence(holdfast_locks* locks, const char* resource,
                                               uint64_t fencing_token, holdfast_error* error);

// What a lease says. Times in Unix time are for people only.

HOLDFAST_API const char* holdfast_lease_token(const holdfast_lease* lease);  // secret
HOLDFAST_API uint64_t holdfast_lease_fencing_token(const holdfast_lease* lease);
// Of a lease on several locks: all of them, separated by a comma and a space.
HOLDFAST_API const char* holdfast_lease_scope(const holdfast_lease* lease);
HOLDFAST_API const char* holdfast_lease_holder(const holdfast_lease* lease);
HOLDFAST_API const char* holdfast_lease_metadata(const holdfast_lease* lease);
HOLDFAST_API holdfast_mode holdfast_lease_mode(const holdfast_lease* lease);
HOLDFAST_API int64_t holdfast_lease_ttl_ms(const holdfast_lease* lease);
HOLDFAST_API int64_t holdfast_lease_acquired_at_ms(const holdfast_lease* lease);
HOLDFAST_API int64_t holdfast_lease_expires_at_ms(const holdfast_lease* lease);
// How long nobody else can have the lock, less a margin; never below zero. By a clock that nobody can
// set, and that goes on while the machine sleeps. Of a server's lease that was only looked at, nothing is
// guaranteed.
HOLDFAST_API int64_t holdfast_lease_time_guaranteed_ms(const holdfast_lease* lease);
// Forgets the lease. The lock stays held until the lease is released or expires.
HOLDFAST_API void holdfast_lease_free(holdfast_lease* lease);

// A guard renews its lease until it is released, and ends its guarantee before anybody else can have the
// lock.

typedef struct holdfast_heartbeat {
    int64_t every_ms;      // how often the lease is renewed; 0: every third of the ttl
    int64_t extend_by_ms;  // for how long; 0: for the ttl
    // Called once, on a thread of its own, when the guarantee ends. May block. NULL: nobody is called.
    void (*on_lost)(void* context, const holdfast_error* why);
    void* context;
} holdfast_heartbeat;

// As holdfast_acquire(). `heartbeat` may be NULL.
HOLDFAST_API holdfast_code holdfast_hold(holdfast_locks* locks, const holdfast_request* request,
                                         int64_t wait_ms, const holdfast_heartbeat* heartbeat,
                                         holdfast_stop* stop, holdfast_guard** guard,
                                         holdfast_error* error);
// True if nobody else can hold the lock at this moment.
HOLDFAST_API bool holdfast_guard_is_guaranteed(const holdfast_guard* guard);
HOLDFAST_API int64_t holdfast_guard_time_left_ms(const holdfast_guard* guard);
HOLDFAST_API uint64_t holdfast_guard_fencing_token(const holdfast_guard* guard);
// The lease as last renewed.
HOLDFAST_API holdfast_code holdfast_guard_lease(const holdfast_guard* guard, holdfast_lease** lease,
                                                holdfast_error* error);
// Releases the lease, and waits until that is certain. Fails if the guarantee ended before: then the
// work under the lock may have been too late.
HOLDFAST_API holdfast_code holdfast_guard_release(holdfast_guard* guard, holdfast_error* error);
// Ends the guard; releases the lease if that was not done. Waits until `on_lost` has returned.
HOLDFAST_API void holdfast_guard_free(holdfast_guard* guard);

// A stop ends the calls that wait with it, now or later, with HOLDFAST_CANCELLED.

HOLDFAST_API holdfast_stop* holdfast_stop_new(void);  // NULL: out of memory
HOLDFAST_API void holdfast_stop_request(holdfast_stop* stop);
HOLDFAST_API void holdfast_stop_free(holdfast_stop* stop);

// NOLINTEND(readability-identifier-naming, bugprone-easily-swappable-parameters)

#ifdef __cplusplus
}
#endif

#pragma once

// Client: asks real members of etcd.
//
// Calls go to one member, the current one, over one connection that is opened when it is needed. After
// a failure that says nothing about the request itself (the connection was refused or broke, no
// answer in time, the member has no leader) the next member in the list is the current one. A
// connection on which a call got no answer in time is abandoned with all its calls, because a member
// that is stopped or cut off looks the same.
//
// With a user and a password, the client authenticates before the first call. When etcd does not know
// the token any more, it authenticates again and repeats the call once; etcd has not done it before.
//
//     a call     waits for a token ──► is with a connection ──► its callback waits for the end of
//                      ▲                        │                the turn
//                      └── token refused, once ─┘
//
// Thread safety, lifetime: see Api. It may be destroyed from inside a callback. The loop outlives it.

#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "etcd/api.h"
#include "etcd/cluster_url.h"
#include "etcd/wire/http2_connection.h"
#include "net/loop/event_loop.h"
#include "net/loop/loop_timer.h"

namespace holdfast::etcd {

struct ClientSettings {
    std::vector<Member> members;  // at least one
    bool is_tls = false;
    std::string ca_file;        // empty: the system's CA certificates
    net::TlsFiles certificate;  // shown to etcd; empty names: none
    std::string user;           // empty: no authentication
    std::string password;
    ConnectionTimes times;
};

class Client final : public Api, private net::TurnTask, private ConnectionListener {
  public:
    // Connects to nobody yet. Fails if a file of TLS is missing or wrong.
    [[nodiscard]] static base::Result<std::unique_ptr<Client>> open(net::EventLoop& loop,
                                                                    ClientSettings settings);
    ~Client() override;

    // Reads what `settings` names: the certificates that are trusted, and the client's own. Null: no TLS.
    [[nodiscard]] static base::Result<std::shared_ptr<const net::TlsTrust>> load_trust(
        const ClientSettings& settings);
    [[nodiscard]] const std::shared_ptr<const net::TlsTrust>& trust() const { return trust_; }
    // For connections that begin after this, and the next time that etcd asks for a password. Calls and
    // watches on an open connection stay there. REQUIRES: there is TLS now if there was before.
    void renew(std::shared_ptr<const net::TlsTrust> trust, std::string password);

    Client(const Client&) = delete;
    Client& operator=(const Client&) = delete;

    void range(RangeRequest request, Duration timeout, OnAnswer<RangeAnswer> done) override;
    void transact(std::shared_ptr<const Transaction> transaction, Duration timeout,
                  OnAnswer<TransactionAnswer> done) override;
    void grant(LeaseId id, std::chrono::seconds ttl, Duration timeout,
               OnAnswer<LeaseAnswer> done) override;
    void keep_alive(LeaseId id, Duration timeout, OnAnswer<LeaseAnswer> done) override;
    void revoke(LeaseId id, Duration timeout, OnAnswer<LeaseAnswer> done) override;
    void compact(Revision revision, Duration timeout, OnAnswer<Revision> done) override;
    void status(Duration timeout, OnAnswer<StatusAnswer> done) override;
    WatchId watch(std::string key, std::string range_end, Revision start, OnEvents on_events,
                  OnEnd on_end) override;
    void cancel(WatchId watch) override;

    // The member that is asked next.
    [[nodiscard]] const Member& current_member() const { return settings_.members[current_]; }

  private:
    using TimePoint = net::EventLoop::TimePoint;
    using Reply = Answer<std::string>;

    struct Call {
        std::string path;
        std::shared_ptr<const std::string> frame;
        bool needs_leader = false;
        bool is_watch = false;
        bool is_repeated = false;  // after its token was refused
        std::uint64_t token_number = 0;
        TimePoint deadline = TimePoint::max();
        Http2Connection* connection = nullptr;  // null: waits for a token
        std::string message;                    // that has arrived
        bool has_message = false;
        // Takes the bytes of the answer, or the failure, at the end of the call. False if the answer
        // cannot be read.
        std::function<bool(const Call&, Reply)> done;
        OnEvents on_events;  // of a watch
    };

    Client(net::EventLoop& loop, ClientSettings settings,
           std::shared_ptr<const net::TlsTrust> trust);

    void on_end_of_turn() override;
    void on_message(CallId id, std::string message) override;
    void on_end(CallId id, StreamEnd end) override;
    void on_failure(CallId id, Failure failure) override;
    void on_leaving(Http2Connection& connection) override;

    template <class T, class Decode>
    void ask(Call call, Duration timeout, Decode decode, OnAnswer<T> done);
    CallId begin(Call call);
    void send(CallId id, Call& call);
    void authenticate();
    void on_token(Reply reply);
    bool ask_for_new_token(CallId id, Call& call);
    void on_watch_message(CallId id, Call& call, std::string_view message);
    void end_watch(CallId id, Failure failure);
    void finish(CallId id, Reply reply);
    void deliver(std::function<void()> callback);

    Http2Connection& connection();
    void turn_away_from(const Http2Connection& connection);
    void retire_unused_connections();
    void on_timer();
    void set_timer(TimePoint deadline);

    net::EventLoop& loop_;
    ClientSettings settings_;
    std::shared_ptr<const net::TlsTrust> trust_;  // null: plain

    std::size_t current_ = 0;  // index of the member that is asked next
    std::vector<std::unique_ptr<Http2Connection>> connections_;
    Http2Connection* current_connection_ = nullptr;

    CallId last_id_ = 0;
    std::map<CallId, Call> calls_;
    // Those of which the owner may still hear. Their calls may have ended before.
    std::set<WatchId> watches_;
    std::string token_;
    std::uint64_t token_number_ = 0;  // how many there have been
    bool has_token_ = false;          // or etcd needs none
    bool is_authenticating_ = false;

    net::LoopTimer timer_;
    TimePoint timer_due_ = TimePoint::max();
    std::deque<std::function<void()>> deliveries_;
    // Gone when the client is.
    std::shared_ptr<int> life_ = std::make_shared<int>();
};

}  // namespace holdfast::etcd

// Nodes with the same etcd: who leads, what is found after a change of leader, and what is told when
// answers get lost.

#include "cluster/cluster_store.h"

#include <gmock/gmock.h>

#include "cluster/leading/new_epoch.h"
#include "cluster/test_cluster.h"

namespace holdfast::cluster::testing {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

struct ClusterStoreTest : ::testing::Test, TestCluster {
    [[nodiscard]] std::string counter() { return etcd.value(keys.counter()); }
    [[nodiscard]] std::size_t leases() { return etcd.keys("/holdfast/lease/").size(); }
    // A session with so many leases.
    core::SessionId open_session_with(TestNode& node, std::size_t count) {
        const service::Response* const opened =
            node.service->submit(service::OpenSession{.owner = {.name = "laptop1"}});
        const core::SessionId session = opened->session;
        for (std::size_t lock = 0; lock < count; ++lock) {
            const std::string name = "job" + std::to_string(lock);
            core::AcquireRequest request = take("laptop1", name);
            request.session = session;
            node.ask(request);
        }
        settle();
        EXPECT_THAT(node.take_notes(), SizeIs(count));
        return session;
    }
};

TEST_F(ClusterStoreTest, TheFirstNodeLeads) {
    TestNode& a = lead();
    EXPECT_EQ(etcd.value(keys.epoch()), "1");
    EXPECT_EQ(counter(), "1 0");
    const auto picture = a.store->view().picture();
    EXPECT_TRUE(picture->is_leading());
    EXPECT_TRUE(picture->is_served());
    EXPECT_EQ(picture->leader.name, "a");
    EXPECT_EQ(picture->leader.epoch, 1U);
    EXPECT_EQ(picture->why_nobody_leads, "");
    EXPECT_EQ(ask(a, take("laptop1")), "granted laptop1");
    EXPECT_EQ(leases(), 1U);
    EXPECT_EQ(counter(), "2 1");
    EXPECT_EQ(ask(a, give_back("laptop1")), "released");
    EXPECT_EQ(leases(), 0U);
    EXPECT_EQ(counter(), "2 1") << "removals do not raise it";
}

TEST_F(ClusterStoreTest, OthersKnowWhoLeads) {
    lead();
    TestNode& b = add("b");
    settle();
    EXPECT_EQ(b.service->role(), Role::recovering);
    EXPECT_EQ(ask(b, take("laptop1")), "failed: node a leads");
    const auto picture = b.store->view().picture();
    EXPECT_EQ(picture->role, NodeRole::following);
    EXPECT_EQ(picture->leader.peer, "a:7000");
    EXPECT_EQ(picture->leader.epoch, 1U);
    advance(6s);
    EXPECT_THAT(b.store->view().picture()->nodes,
                ElementsAre(Field(&Node::name, "a"), Field(&Node::name, "b")));
    EXPECT_EQ(b.store->view().picture()->etcd.version, "3.5.28");
}

TEST_F(ClusterStoreTest, TwoNodesOfOneNameAreTold) {
    TestNode& a = lead();
    TestNode& other = add("a", {.peer = "elsewhere:7000"});
    settle();
    EXPECT_THAT(ask(other, take("laptop1")),
                HasSubstr("another node is called a, at a:7000: give each a name of its own"));
    EXPECT_EQ(other.store->view().picture()->role, NodeRole::joining);
    EXPECT_EQ(ask(a, take("laptop1")), "granted laptop1") << "the first is not disturbed";
}

// Neither the lease of the node nor its key is written then, but connections can be passed on.
TEST_F(ClusterStoreTest, ANodeThatStartsWhileEtcdIsFullKnowsWhoLeads) {
    TestNode& a = lead();
    etcd.is_full = true;
    TestNode& b = add("b");
    advance(3s);
    const auto picture = b.store->view().picture();
    EXPECT_EQ(picture->role, NodeRole::joining);
    EXPECT_TRUE(picture->is_served());
    EXPECT_EQ(picture->leader, a.store->view().picture()->leader);
    EXPECT_EQ(picture->secret, a.store->view().picture()->secret);
    EXPECT_EQ(picture->why_nobody_leads, "");
    EXPECT_EQ(ask(b, take("laptop1")),
              "failed: node a leads, and this node cannot join yet: database space exceeded");
    etcd.is_full = false;
    advance(2s);
    EXPECT_EQ(b.store->view().picture()->role, NodeRole::following);
    a.store->stop([] {});
    advance(1s);
    EXPECT_EQ(b.service->role(), Role::serving);
}

// The node has lost its lease, and follows nobody while it tries to join again.
TEST_F(ClusterStoreTest, ANodeThatCannotJoinAgainHearsOfANewLeader) {
    lead("a");
    TestNode& b = add("b");
    TestNode& c = add("c");
    settle();
    c.api.is_cut_off = true;
    advance(4s);
    ASSERT_EQ(c.store->view().picture()->role, NodeRole::joining);
    nodes.front().store->stop([] {});
    advance(1s);
    ASSERT_EQ(b.service->role(), Role::serving);
    etcd.is_full = true;
    c.api.is_cut_off = false;
    advance(3s);
    EXPECT_EQ(c.store->view().picture()->role, NodeRole::joining);
    EXPECT_EQ(c.store->view().picture()->leader.name, "b");
}

// Its own key is still in etcd, because the end of its lease did not arrive there.
TEST_F(ClusterStoreTest, ANodeThatLostTheLeadDoesNotTakeItselfForTheLeader) {
    TestNode& a = lead();
    a.api.fate = [](const std::string& name) {
        return name == "keep_alive" || name == "revoke" || name == "grant" ? Fate::request_lost
                                                                           : Fate::answered;
    };
    etcd.put(keys.leader(), etcd.value(keys.leader()));  // bound to no lease: it never ends
    advance(8s);
    EXPECT_EQ(a.store->view().picture()->role, NodeRole::joining);
    EXPECT_FALSE(a.store->view().picture()->is_served());
}

TEST_F(ClusterStoreTest, ANodeThatWasRestartedHasItsNameAtOnce) {
    lead("b");
    TestNode& a = add("a");
    settle();
    TestNode& again = add("a");  // etcd has not noticed yet that the first has gone
    settle();
    EXPECT_EQ(again.store->view().picture()->role, NodeRole::following);
    EXPECT_EQ(a.store->view().picture()->role, NodeRole::following);
}

TEST_F(ClusterStoreTest, NodesShareASecret) {
    TestNode& a = lead();
    TestNode& b = add("b");
    settle();
    EXPECT_THAT(a.store->view().picture()->secret, SizeIs(64));
    EXPECT_EQ(a.store->view().picture()->secret, b.store->view().picture()->secret);
}

TEST_F(ClusterStoreTest, AnotherNodeTakesOverWithAllLocks) {
    TestNode& a = lead();
    TestNode& b = add("b");
    ask(a, take("laptop1"));
    ask(a, service::RaiseFence{.resource = "printer", .fence = core::Fence{9}});
    const core::Token token = a.token;
    a.is_standing_still = true;
    advance(3500ms);
    EXPECT_EQ(b.service->role(), Role::serving);
    EXPECT_EQ(b.store->view().picture()->leader.epoch, 2U);
    EXPECT_EQ(ask(b, take("laptop2")), "refused held");
    EXPECT_EQ(ask(b, service::Find{.token = token}), "found laptop1");
    EXPECT_EQ(ask(b, service::ReadFence{.resource = "printer"}), "accepted 9");
    EXPECT_EQ(ask(b, take("laptop2", "other")), "granted laptop2");
    EXPECT_GT(b.token.fence, token.fence);
    EXPECT_THAT(b.trouble, IsEmpty());
}

TEST_F(ClusterStoreTest, EveryLeaseRunsAnewForItsFullTime) {
    TestNode& a = lead();
    TestNode& b = add("b");
    ask(a, take("laptop1"));
    advance(29s);
    a.is_standing_still = true;
    advance(3500ms);
    ASSERT_EQ(b.service->role(), Role::serving);
    advance(26s);
    EXPECT_EQ(ask(b, take("laptop2")), "refused held");
    advance(5s);
    EXPECT_EQ(ask(b, take("laptop2")), "granted laptop2");
}

TEST_F(ClusterStoreTest, ReadsEverythingAtTheRevisionOfTheElection) {
    TestNode& a = lead();
    TestNode& b = add("b");
    ask(a, take("laptop1"));
    advance(1s);
    b.api.ranges.clear();
    a.store->stop([] {});
    settle();
    ASSERT_EQ(b.service->role(), Role::serving);
    const auto leader = etcd.range({.key = keys.leader()})->found.front();
    std::size_t reads = 0;
    for (const etcd::RangeRequest& request : b.api.ranges) {
        if (request.key == keys.leader() || request.key == keys.nodes()) continue;
        ++reads;
        EXPECT_EQ(request.revision, leader.create_revision) << request.key;
    }
    EXPECT_EQ(reads, 5U) << "leases, fences, epoch, counter and history";
}

TEST_F(ClusterStoreTest, ReadsManyLeasesBucketByBucket) {
    constexpr int many = 600;
    TestNode& a = lead();
    TestNode& b = add("b");
    for (int i = 0; i < many; ++i) ask(a, take("laptop1", "job" + std::to_string(i)));
    advance(1s);
    b.api.ranges.clear();
    a.store->stop([] {});
    settle();
    ASSERT_EQ(b.service->role(), Role::serving);
    EXPECT_EQ(b.service->counts().leases, std::size_t{many});
    EXPECT_GT(b.api.ranges.size(), std::size_t{Keys::buckets});
}

TEST_F(ClusterStoreTest, ServesNothingBeforeItsFirstCommit) {
    TestNode& a = add("a");
    int transactions = 0;
    a.api.fate = [&](const std::string& name) {
        const bool is_first_commit = name == "transact" && ++transactions > 4;
        return is_first_commit ? Fate::request_lost : Fate::answered;
    };
    advance(2s);
    EXPECT_EQ(a.service->role(), Role::recovering);
    EXPECT_EQ(ask(a, take("laptop1")), "failed: this node is taking over, and reads the locks");
    EXPECT_EQ(etcd.value(keys.epoch()), "0");
    EXPECT_FALSE(a.store->view().picture()->is_served());
    a.api.fate = nullptr;
    advance(1s);
    EXPECT_EQ(ask(a, take("laptop1")), "granted laptop1");
}

TEST_F(ClusterStoreTest, ACommitWhoseAnswerIsLostIsDoneOnce) {
    TestNode& a = lead();
    int lost = 2;
    a.api.fate = [&](const std::string& name) {
        return name == "transact" && lost-- > 0 ? Fate::answer_lost : Fate::answered;
    };
    EXPECT_EQ(ask(a, take("laptop1")), "nothing");
    EXPECT_EQ(ask(a, take("laptop2", "other")), "nothing") << "it comes after the first";
    advance(2s);
    EXPECT_THAT(a.take_notes(), ElementsAre("granted laptop1", "granted laptop2"));
    EXPECT_EQ(counter(), "3 2");
    EXPECT_EQ(leases(), 2U);
}

TEST_F(ClusterStoreTest, ACommitThatNeverArrivedIsSentAgain) {
    TestNode& a = lead();
    int lost = 2;
    a.api.fate = [&](const std::string& name) {
        return name == "transact" && lost-- > 0 ? Fate::request_lost : Fate::answered;
    };
    ask(a, take("laptop1"));
    advance(2s);
    EXPECT_THAT(a.take_notes(), ElementsAre("granted laptop1"));
    EXPECT_EQ(counter(), "2 1");
    const auto is_commit = [this](const auto& transaction) {
        return std::ranges::any_of(transaction->then, [this](const etcd::Operation& one) {
            return one.kind == etcd::Operation::Kind::put && one.key == keys.counter();
        });
    };
    std::erase_if(a.api.transactions, [&](const auto& sent) { return !is_commit(sent); });
    const auto& sent = a.api.transactions;
    EXPECT_EQ(sent[sent.size() - 1], sent[sent.size() - 2]) << "the identical transaction";
}

TEST_F(ClusterStoreTest, WhoeverWaitsIsToldWhenTheLeadIsLost) {
    TestNode& a = lead();
    TestNode& b = add("b");
    ask(a, take("laptop1"));
    a.ask(wait_for("laptop2"), "waiter: ");
    a.ask(core::RenewRequest{.token = a.token, .ttl = 60s}, "renewal: ");
    a.api.is_cut_off = true;
    advance(4s);
    EXPECT_THAT(a.take_notes(),
                ElementsAre("renewal: unknown: etcd did not answer in time: no answer from etcd",
                            "waiter: failed: etcd did not answer in time: no answer from etcd"));
    EXPECT_THAT(a.deposed, SizeIs(1));
    EXPECT_EQ(a.service->counts().leases, 0U) << "its table is dropped";
    EXPECT_EQ(b.service->role(), Role::serving);
    EXPECT_THAT(ask(a, take("laptop3", "other")), HasSubstr("no answer from etcd"));
    a.api.is_cut_off = false;
    advance(3s);
    EXPECT_EQ(ask(a, take("laptop3", "other")), "failed: node b leads");
}

// A process that stood still goes on in the belief that it leads.
TEST_F(ClusterStoreTest, AnswersNothingFromMemoryAfterTheDeadline) {
    TestNode& a = lead();
    TestNode& b = add("b");
    ask(a, take("laptop1"));
    const core::Token token = a.token;
    EXPECT_EQ(a.ask(core::RenewRequest{.token = token}), "renewed laptop1");
    a.is_standing_still = true;
    advance(5s);
    EXPECT_EQ(b.service->role(), Role::serving);
    EXPECT_THAT(a.ask(core::RenewRequest{.token = token}), HasSubstr("cannot be sure"));
    a.is_standing_still = false;
    settle();
    EXPECT_EQ(a.ask(core::RenewRequest{.token = token}), "failed: node b leads");
}

// It was sent while the node led, and arrives when another does.
TEST_F(ClusterStoreTest, ATransactionOfAnOlderLeaderDoesNothing) {
    TestNode& a = lead();
    TestNode& b = add("b");
    settle();
    a.api.fate = [](const std::string& name) {
        return name == "transact" || name == "keep_alive" ? Fate::held : Fate::answered;
    };
    a.ask(take("laptop1"), "old: ");
    advance(5s);
    ASSERT_EQ(b.service->role(), Role::serving);
    EXPECT_EQ(ask(b, take("laptop2")), "granted laptop2");
    const std::string before = counter();
    a.api.fate = nullptr;
    a.api.release();
    advance(1s);
    EXPECT_EQ(counter(), before);
    EXPECT_EQ(leases(), 1U);
    EXPECT_THAT(a.take_notes(), ElementsAre(HasSubstr("old: unknown: ")));
}

TEST_F(ClusterStoreTest, StepsDownWhenSomebodyElseHasTheKey) {
    TestNode& a = lead();
    a.api.break_watches();
    settle();
    etcd.erase(keys.leader());
    EXPECT_EQ(ask(a, take("laptop1")), "unknown: this node does not lead any more");
    EXPECT_THAT(a.deposed, ElementsAre("this node does not lead any more"));
    advance(2s);
    EXPECT_EQ(a.service->role(), Role::serving) << "it was elected again";
    EXPECT_EQ(a.store->view().picture()->leader.epoch, 2U);
    EXPECT_EQ(leases(), 0U);
}

TEST_F(ClusterStoreTest, HandsOver) {
    TestNode& a = lead();
    TestNode& b = add("b");
    settle();
    ask(a, take("laptop1"));
    a.ask(take("laptop2", "other"), "the last: ");
    a.executor.settle();  // its commit is under way
    std::vector<std::string> done;
    a.store->resign([&](const base::Result<void>& result) {
        done.emplace_back(result ? "resigned" : result.error().message);
    });
    b.store->resign(
        [&](const base::Result<void>& result) { done.push_back(result.error().message); });
    settle();
    EXPECT_THAT(a.take_notes(), ElementsAre("the last: granted laptop2"));
    EXPECT_THAT(done, ElementsAre("this node does not lead: node a leads", "resigned"));
    EXPECT_EQ(b.service->role(), Role::serving) << "at once";
    EXPECT_EQ(ask(b, take("laptop3", "other")), "refused held");
    EXPECT_EQ(ask(a, take("laptop3")), "failed: node b leads");
    EXPECT_THAT(a.deposed, ElementsAre("this node has handed over its locks"));
    advance(10s);
    EXPECT_EQ(b.service->role(), Role::serving);
}

TEST_F(ClusterStoreTest, LeadsAgainAfterAHandOverThatNobodyTook) {
    TestNode& a = lead();
    a.store->resign([](const base::Result<void>&) {});
    advance(2s);
    EXPECT_EQ(a.service->role(), Role::recovering);
    advance(2s);
    EXPECT_EQ(a.service->role(), Role::serving);
}

TEST_F(ClusterStoreTest, StopsCleanly) {
    TestNode& a = lead();
    TestNode& b = add("b");
    settle();
    bool is_stopped = false;
    a.store->stop([&] { is_stopped = true; });
    settle();
    EXPECT_TRUE(is_stopped);
    EXPECT_EQ(b.service->role(), Role::serving);
    EXPECT_EQ(etcd.keys(keys.nodes()), std::vector{keys.node("b")});
    EXPECT_EQ(a.store->view().picture()->role, NodeRole::stopped);
}

TEST_F(ClusterStoreTest, DoesNotJoinAClusterOfANewerFormat) {
    etcd.put(keys.format(), "2");
    etcd.put(keys.secret(), "s");
    TestNode& a = add("a");
    settle();
    EXPECT_THAT(a.trouble, ElementsAre(HasSubstr("the cluster's data have the format 2")));
    EXPECT_THAT(etcd.keys(keys.nodes()), IsEmpty());
    etcd.put(keys.format(), "1");
    etcd.put(keys.counter(), "0 0");
    etcd.put(keys.epoch(), "0");
    a.recover();
    settle();
    EXPECT_EQ(a.service->role(), Role::serving);
}

TEST_F(ClusterStoreTest, SaysThatItMayNotWrite) {
    TestNode& a = add("a");
    a.api.fate = [](const std::string& name) {
        return name == "transact" ? Fate::rejected : Fate::answered;
    };
    settle();
    EXPECT_THAT(a.trouble, ElementsAre(HasSubstr("permission denied")));
    EXPECT_THAT(ask(a, take("laptop1")), HasSubstr("permission denied"));
}

TEST_F(ClusterStoreTest, DoesNotServeWithADamagedLease) {
    TestNode& a = lead();
    ask(a, take("laptop1"));
    etcd.put(keys.lease(1), R"({"id":"short"})");
    a.store->stop([] {});
    TestNode& b = add("b");
    settle();
    EXPECT_THAT(b.trouble, ElementsAre("the lease with fencing number 1 is damaged in etcd: the "
                                       "field 'id' is wrong"));
    EXPECT_EQ(b.service->role(), Role::failed);
}

TEST_F(ClusterStoreTest, AFullEtcdTakesReleasesAndRenewals) {
    TestNode& a = lead();
    ask(a, take("laptop1"));
    const core::Token token = a.token;
    etcd.is_full = true;
    EXPECT_EQ(ask(a, take("laptop2", "other")), "failed: database space exceeded");
    advance(2s);
    ASSERT_EQ(a.service->role(), Role::serving) << "it has read its locks again, and leads still";
    EXPECT_THAT(ask(a, take("laptop2", "other")), HasSubstr("failed: etcd's database is full"));
    EXPECT_EQ(ask(a, core::RenewRequest{.token = token}), "renewed laptop1")
        << "the record is the same, so nothing is put";
    EXPECT_EQ(ask(a, core::ReleaseRequest{.token = token}), "released");
    EXPECT_EQ(leases(), 0U);
    EXPECT_EQ(a.store->view().picture()->leader.epoch, 1U);
    etcd.is_full = false;
    advance(6s);
    EXPECT_EQ(ask(a, take("laptop2", "other")), "granted laptop2");
}

// etcd looks at its quota once more while it does a transaction, and then says that it is full.
TEST_F(ClusterStoreTest, WhatAFullEtcdHasDoneNeverthelessIsDone) {
    TestNode& a = lead();
    ask(a, take("laptop1"));
    etcd.is_full = true;
    etcd.done_though_full = 1;
    EXPECT_EQ(ask(a, take("laptop2", "other")), "granted laptop2");
    EXPECT_EQ(leases(), 2U);
    EXPECT_EQ(counter(), "3 2");
    EXPECT_EQ(ask(a, take("laptop3", "third")), "failed: database space exceeded");
    EXPECT_EQ(leases(), 2U);
    advance(2s);
    EXPECT_EQ(a.service->role(), Role::serving);
    EXPECT_THAT(a.deposed, IsEmpty());
}

TEST_F(ClusterStoreTest, AsksAgainWhetherAFullEtcdHasDoneIt) {
    TestNode& a = lead();
    etcd.is_full = true;
    etcd.done_though_full = 1;
    int transactions = 0;
    a.api.fate = [&](const std::string& name) {
        const bool is_check = name == "transact" && ++transactions == 2;
        return is_check ? Fate::answer_lost : Fate::answered;
    };
    EXPECT_EQ(ask(a, take("laptop1")), "nothing");
    advance(1s);
    EXPECT_THAT(a.take_notes(), ElementsAre("granted laptop1"));
}

// The commit was refused, and the lead is lost while the service reads its locks again.
TEST_F(ClusterStoreTest, LeadsAgainAfterALossDuringTheRecoveryOfAFailedCommit) {
    TestNode& a = lead();
    ask(a, take("laptop1"));
    etcd.is_full = true;
    EXPECT_EQ(ask(a, take("laptop2", "other")), "failed: database space exceeded");
    a.api.is_cut_off = true;
    advance(4s);
    EXPECT_THAT(a.deposed, SizeIs(1));
    etcd.is_full = false;
    a.api.is_cut_off = false;
    advance(5s);
    EXPECT_EQ(a.service->role(), Role::serving);
    EXPECT_EQ(ask(a, take("laptop2")), "refused held");
}

// The commit was refused, and the lead is lost before the service reads its locks again.
TEST_F(ClusterStoreTest, LeadsAgainAfterALossBeforeTheRecoveryOfAFailedCommit) {
    TestNode& a = lead();
    ask(a, take("laptop1"));
    a.api.fate = [](const std::string& name) {
        return name == "keep_alive" ? Fate::request_lost : Fate::answered;
    };
    advance(2500ms);
    etcd.is_full = true;
    EXPECT_EQ(ask(a, take("laptop2", "other")), "failed: database space exceeded");
    advance(700ms);
    EXPECT_THAT(a.deposed, SizeIs(1)) << "whoever holds files for this leader gives them back";
    etcd.is_full = false;
    a.api.fate = nullptr;
    advance(5s);
    EXPECT_EQ(a.service->role(), Role::serving);
    EXPECT_EQ(ask(a, take("laptop2")), "refused held");
}

// The commit was refused, the service could not read its locks again, and then the lead is lost.
TEST_F(ClusterStoreTest, TellsOfALossAfterARecoveryThatFailed) {
    TestNode& a = lead();
    ask(a, take("laptop1"));
    etcd.is_full = true;
    EXPECT_EQ(ask(a, take("laptop2", "other")), "failed: database space exceeded");
    a.api.fate = [](const std::string& name) {
        if (name == "keep_alive") return Fate::request_lost;
        return name == "range" ? Fate::rejected : Fate::answered;
    };
    advance(3200ms);
    EXPECT_THAT(a.deposed, SizeIs(1)) << "whoever holds files for this leader gives them back";
    etcd.is_full = false;
    a.api.fate = nullptr;
    advance(6s);
    EXPECT_EQ(a.service->role(), Role::serving);
    EXPECT_EQ(ask(a, take("laptop2")), "refused held");
}

TEST_F(ClusterStoreTest, TakesNoNewLocksWhenEtcdIsNearlyFull) {
    TestNode& a = lead();
    a.api.status_answer.database_bytes = (std::int64_t{2} << 30) * 86 / 100;
    advance(6s);
    EXPECT_THAT(ask(a, take("laptop1")), HasSubstr("1761 of 2048 MiB"));
    EXPECT_THAT(a.store->view().picture()->etcd.refuses_growth, HasSubstr("no new locks"));
    a.api.status_answer.database_bytes = 1 << 20;
    advance(6s);
    EXPECT_EQ(ask(a, take("laptop1")), "granted laptop1");
}

// What begin_epoch() has said.
struct EpochTest : ClusterStoreTest {
    void begin_epoch(TestNode& node) {
        said.clear();
        node.store->begin_epoch([this](const base::Result<std::uint64_t>& epoch) {
            said = epoch ? std::to_string(*epoch) : epoch.error().message;
        });
    }
    [[nodiscard]] std::string renew(TestNode& node, const core::Token& token) {
        return ask(node, core::RenewRequest{.token = token});
    }
    std::string said;
};

TEST_F(EpochTest, ANewEpochDeposesAndSkipsNumbers) {
    TestNode& a = lead();
    ask(a, take("laptop1"));
    begin_epoch(a);
    EXPECT_EQ(a.store->authority_deadline(), core::Time::min()) << "before etcd is asked";
    settle();
    EXPECT_EQ(said, "1000001");
    EXPECT_THAT(a.deposed, ElementsAre("a new epoch begins"));
    advance(4s);
    EXPECT_EQ(a.store->view().picture()->leader.epoch, 1'000'002U);
    EXPECT_EQ(ask(a, take("laptop2", "other")), "granted laptop2");
    const auto wall =
        static_cast<std::uint64_t>(service::testing::test_epoch.time_since_epoch().count());
    EXPECT_GT(core::as_number(a.token.fence), wall + fences_skipped);
    EXPECT_EQ(ask(a, take("laptop2")), "refused held");
}

// Renewals on the same terms are no commits, so nothing but the key tells the old leader.
TEST_F(EpochTest, ALeaderThatOnlyRenewsLeadsNoMoreAfterIt) {
    TestNode& a = lead();
    TestNode& b = add("b");
    settle();
    ask(a, take("laptop1"));
    const core::Token token = a.token;
    begin_epoch(a);
    settle();
    EXPECT_EQ(said, "1000001");
    EXPECT_EQ(b.service->role(), Role::serving) << "at once";
    EXPECT_EQ(b.store->view().picture()->leader.epoch, 1'000'002U);
    EXPECT_EQ(renew(a, token), "failed: node b leads");
    EXPECT_EQ(renew(b, token), "renewed laptop1");
    EXPECT_EQ(a.service->role(), Role::recovering);
}

// It is cut off from the node that is asked, and from nothing else.
TEST_F(EpochTest, ALeaderThatIsNotAskedStopsAtItsNextConfirmation) {
    TestNode& a = lead();
    TestNode& b = add("b");
    settle();
    ask(a, take("laptop1"));
    const core::Token token = a.token;
    begin_epoch(b);
    settle();
    EXPECT_EQ(said, "1000001");
    EXPECT_EQ(renew(a, token), "renewed laptop1") << "its key is there: no other node can lead";
    EXPECT_NE(b.service->role(), Role::serving);
    advance(550ms);
    EXPECT_THAT(a.deposed, ElementsAre("a new epoch has begun in etcd"));
    EXPECT_EQ(b.service->role(), Role::serving);
    EXPECT_EQ(b.store->view().picture()->leader.epoch, 1'000'002U);
    EXPECT_EQ(ask(b, take("laptop2")), "refused held");
}

TEST_F(EpochTest, ALeaderThatIsNotAskedCommitsNothingAfterIt) {
    TestNode& a = lead();
    TestNode& b = add("b");
    settle();
    begin_epoch(b);
    settle();
    EXPECT_EQ(ask(a, take("laptop1")),
              "unknown: the counter of commits in etcd is not as this node has left it");
    advance(1s);
    EXPECT_EQ(b.service->role(), Role::serving);
}

TEST_F(EpochTest, ALeaderThatWakesUpAnswersNothing) {
    TestNode& a = lead();
    TestNode& b = add("b");
    settle();
    ask(a, take("laptop1"));
    const core::Token token = a.token;
    a.is_standing_still = true;
    begin_epoch(b);
    settle();
    EXPECT_EQ(said, "1000001");
    EXPECT_EQ(etcd.value(keys.leader()).empty(), false) << "the key stays until its lease is over";
    advance(4s);
    EXPECT_EQ(b.service->role(), Role::serving);
    EXPECT_THAT(a.ask(core::RenewRequest{.token = token}), HasSubstr("cannot be sure"));
}

TEST_F(EpochTest, TriesAgainUntilEtcdTells) {
    TestNode& a = lead();
    int transactions = 0;
    a.api.fate = [&](const std::string& name) {
        return name == "transact" && ++transactions == 2 ? Fate::answer_lost : Fate::answered;
    };
    begin_epoch(a);
    settle();
    EXPECT_EQ(said, "");
    advance(2s);
    EXPECT_EQ(said, "1000001") << "it was raised once";
    advance(3s);
    EXPECT_EQ(a.store->view().picture()->leader.epoch, 1'000'002U);
}

TEST_F(EpochTest, AFullEtcdTellsByAReadWhetherItHasRaisedTheEpoch) {
    TestNode& a = lead();
    etcd.is_full = true;
    begin_epoch(a);
    settle();
    EXPECT_EQ(said, "database space exceeded");
    EXPECT_EQ(etcd.value(keys.epoch()), "1");
    etcd.done_though_full = 1;
    begin_epoch(a);
    settle();
    EXPECT_EQ(said, "1000001");
    etcd.is_full = false;
    advance(5s);
    EXPECT_EQ(a.service->role(), Role::serving);
}

TEST_F(EpochTest, SaysThatEtcdDoesNotAnswer) {
    TestNode& a = lead();
    TestNode& b = add("b");
    settle();
    a.api.is_cut_off = true;
    begin_epoch(a);
    advance(8s);
    EXPECT_EQ(said, "no answer from etcd");
    EXPECT_EQ(b.service->role(), Role::serving);
    a.api.is_cut_off = false;
    advance(3s);
    EXPECT_EQ(a.store->view().picture()->role, NodeRole::following);
}

TEST_F(EpochTest, NodesThatRunReadTheNewSecret) {
    TestNode& a = lead();
    TestNode& b = add("b");
    TestNode& c = add("c");
    settle();
    const std::string before = a.store->view().picture()->secret;
    std::vector<std::string> heard;
    c.store->view().on_change(
        [&](const cluster::Picture& picture) { heard.push_back(picture.secret); });
    begin_epoch(a);
    advance(1s);
    const std::string after = etcd.value(keys.secret());
    EXPECT_NE(after, before);
    EXPECT_THAT(after, SizeIs(64));
    ASSERT_EQ(b.service->role(), Role::serving);
    EXPECT_EQ(a.store->view().picture()->secret, after);
    EXPECT_EQ(b.store->view().picture()->secret, after) << "the leader, who checks it";
    EXPECT_EQ(c.store->view().picture()->secret, after) << "a follower that was there all the time";
    EXPECT_EQ(heard.back(), after);
}

// etcd has ended neither the lease nor its promise: somebody has removed the key.
TEST_F(ClusterStoreTest, ALeaderWithoutItsKeyAnswersNothingMore) {
    TestNode& a = lead();
    TestNode& b = add("b");
    settle();
    ask(a, take("laptop1"));
    const core::Token token = a.token;
    a.api.break_watches();
    settle();
    b.api.break_watches();
    settle();
    etcd.erase(keys.leader());
    EXPECT_EQ(ask(a, core::RenewRequest{.token = token}), "renewed laptop1");
    advance(550ms);
    EXPECT_THAT(a.deposed, SizeIs(1));
}

TEST_F(ClusterStoreTest, ALeaderSeesAtOnceThatItsKeyIsGone) {
    TestNode& a = lead();
    etcd.erase(keys.leader());
    settle();
    EXPECT_THAT(a.deposed, ElementsAre("the key by which this node leads is gone from etcd"));
}

TEST_F(ClusterStoreTest, CompactsAndKeepsAMinute) {
    TestNode& a = lead();
    std::vector<etcd::Revision> at_second;
    for (int second = 0; second < 130; ++second) {
        at_second.push_back(etcd.revision());
        for (int lock = 0; lock < 2; ++lock) {
            ask(a, take("laptop1"));
            ask(a, give_back("laptop1"));
        }
        advance(1s);
    }
    ASSERT_THAT(a.api.compactions, ::testing::Not(IsEmpty()));
    EXPECT_LE(a.api.compactions.size(), 3U);
    EXPECT_LE(a.api.compactions.back(), at_second[130 - 59]);
    EXPECT_EQ(a.service->role(), Role::serving);
}

// Ends a session in one step, as nothing outside of tests does.
class EndInOneStep final : public service::Step {
  public:
    explicit EndInOneStep(core::SessionId session) : session_(session) {}

    core::Outcome run(const service::StepContext& context) override {
        context.table.end_session(context.table.now(), session_);
        return {.kind = core::Outcome::Kind::released};
    }
    void keep_texts() override {}

  private:
    const core::SessionId session_;
};

service::RunStep end_in_one_step(core::SessionId session) {
    return {.step = std::make_shared<EndInOneStep>(session)};
}

// A step ends more leases than one transaction has room for.
TEST_F(ClusterStoreTest, SplitsWhatIsTooLargeForOneTransaction) {
    constexpr std::size_t count = 5000;
    TestNode& a = lead();
    const core::SessionId session = open_session_with(a, count);
    EXPECT_EQ(leases(), count);
    const std::size_t before = a.api.transactions.size();
    EXPECT_EQ(ask(a, take("laptop2", "job4999")), "refused held");
    a.ask(end_in_one_step(session));
    settle();
    EXPECT_EQ(leases(), 0U);
    EXPECT_EQ(a.api.transactions.size() - before, 2U);
}

TEST_F(ClusterStoreTest, IsInDoubtAboutACommitThatStoppedHalfWay) {
    constexpr std::size_t count = 5000;
    TestNode& a = lead();
    const core::SessionId session = open_session_with(a, count);
    int transactions = 0;
    a.api.fate = [&](const std::string& name) {
        const bool is_second = name == "transact" && ++transactions == 2;
        return is_second ? Fate::rejected : Fate::answered;
    };
    EXPECT_EQ(ask(a, end_in_one_step(session)), "unknown: permission denied");
    EXPECT_EQ(leases(), count - operations_max);
    EXPECT_EQ(a.service->role(), Role::serving) << "it has read what is left";
    EXPECT_EQ(a.service->counts().leases, leases());
    EXPECT_THAT(a.deposed, IsEmpty());
}

TEST_F(ClusterStoreTest, HearsOfANewLeaderByTheWatchOrWithoutIt) {
    TestNode& a = lead();
    TestNode& b = add("b");
    TestNode& c = add("c");
    settle();
    c.api.break_watches();
    a.store->stop([] {});
    settle();
    const bool is_b = b.service->role() == Role::serving;
    EXPECT_TRUE(is_b);
    advance(1s);
    EXPECT_EQ(c.store->view().picture()->leader.name, "b");
    EXPECT_EQ(c.store->view().picture()->leader.epoch, 2U);
}

}  // namespace
}  // namespace holdfast::cluster::testing

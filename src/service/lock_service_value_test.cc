// The value of a lease in the service: what waits for its commit, and what comes back after a start.

#include <gmock/gmock.h>

#include "service/lock_service.h"
#include "service/test_service.h"

namespace holdfast::service::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

struct ValueService : ::testing::Test, TestService {
    ValueService() : TestService(Durability::full) { store.commits_at_once = true; }

    // The token of a new lease on `job` with a value.
    core::Token lead(std::string_view value) {
        core::AcquireRequest request = take("ann");
        request.value = value;
        core::Token token;
        if (service.submit(request) == nullptr) {
            service.await(answer_by(
                [&token](const Response& response) { token = response.outcome.lease.token; }));
        }
        executor.settle();
        return token;
    }
    // Notes the value that the answer shows: now, or when it comes.
    void ask_for_value(const Request& request) {
        const auto tell = [this](const Response& response) {
            const core::LeaseView& lease = response.outcome.lease;
            notes.push_back(std::string(lease.value) + " " + std::to_string(lease.revision));
        };
        if (const Response* response = service.submit(request)) return tell(*response);
        service.await(answer_by(tell));
    }
};

TEST_F(ValueService, AChangeIsToldAfterItsCommit) {
    const core::Token token = lead("a");
    store.commits_at_once = false;
    events.clear();
    ask_for_value(core::SetValueRequest{.token = token, .value = "b"});
    // Looks and renewals show the new value: they wait for it, too.
    ask_for_value(Find{.token = token});
    ask_for_value(core::RenewRequest{.token = token});
    executor.settle();
    EXPECT_THAT(notes, IsEmpty());
    EXPECT_THAT(events, IsEmpty());
    EXPECT_THAT(store.commits.back(), ElementsAre("value_set job ann"));
    store.finish();
    executor.settle();
    EXPECT_THAT(take_notes(), ElementsAre("b 2", "b 2", "b 2"));
    EXPECT_THAT(events, ElementsAre("value_set ann", "renewed ann"));
    ask_for_value(core::RenewRequest{.token = token});
    EXPECT_THAT(notes, ElementsAre("b 2")) << "it is on disk";
}

TEST_F(ValueService, TheSameValueWaitsForNothing) {
    const core::Token token = lead("a");
    const std::size_t commits = store.commits.size();
    ask_for_value(core::SetValueRequest{.token = token, .value = "a"});
    EXPECT_THAT(notes, ElementsAre("a 1"));
    executor.settle();
    EXPECT_EQ(store.commits.size(), commits);
}

TEST_F(ValueService, AFullStoreTakesNoNewValue) {
    const core::Token token = lead("a");
    store.why_full = "full";
    store.set_refuses_growth(true);
    EXPECT_EQ(ask(core::SetValueRequest{.token = token, .value = "b"}), "failed: full");
    EXPECT_EQ(ask(core::RenewRequest{.token = token}), "renewed ann");
}

TEST_F(ValueService, AFailedCommitTakesAValueBack) {
    core::RestoreRequest lease{take("ann")};
    lease.token = {core::Fence{7}, core::Secret{9}};
    lease.remaining = 30s;
    lease.value = "a";
    lease.revision = 3;
    store.remembered = {lease};
    store.next_fence = 8;
    store.commits_at_once = false;
    ASSERT_TRUE(recover());
    EXPECT_EQ(ask(core::SetValueRequest{.token = lease.token, .value = "b"}), "later");
    executor.settle();
    store.fail("disk full");
    executor.settle();
    EXPECT_THAT(take_notes(), ElementsAre("failed: disk full"));
    advance(1s);
    ask_for_value(Find{.token = lease.token});
    EXPECT_THAT(notes, ElementsAre("a 3"));
}

}  // namespace
}  // namespace holdfast::service::testing

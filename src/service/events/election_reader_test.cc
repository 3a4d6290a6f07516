#include "service/events/election_reader.h"

#include <gmock/gmock.h>

#include "service/test_service.h"

namespace holdfast::service {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using testing::ManualExecutor;
using testing::TestStore;

// A service with a feed, and readers on its thread.
class ElectionReaderTest : public ::testing::Test {
  protected:
    ElectionReaderTest() {
        service_.recover([](const auto& result) { CHECK(result); });
        store_.commits_at_once = true;
    }

    core::Token lead(std::string_view holder, std::string_view value = "") {
        const core::AcquireRequest request{.scope = core::Scope::named("nightly"),
                                           .owner = {.name = holder},
                                           .ttl = 30s,
                                           .value = value};
        ask(request);
        return service_.submit(Inspect{.scope = request.scope})->locks()[0].holders[0].token;
    }
    void ask(const Request& request) {
        if (service_.submit(request) == nullptr) {
            service_.await(answer_by([](const Response&) {}));
        }
        executor_.settle();
    }
    std::shared_ptr<ElectionReader> open(std::optional<std::uint64_t> after = std::nullopt) {
        auto reader = ElectionReader::open(
            {.port = service_, .feed = feed_, .here = executor_}, "nightly", after,
            {.on_state =
                 [this](const Election& election, bool has_changed) {
                     const auto leader = election.leader();
                     told_.push_back((leader ? leader->holder + " " + leader->value : "nobody") +
                                     (has_changed ? " changed" : ""));
                     position_ = election.position();
                 },
             .on_failure =
                 [this](const Response& failure) {
                     told_.push_back(std::string(failure.failure));
                 }});
        executor_.settle();
        return reader;
    }
    std::vector<std::string> take_told() { return std::exchange(told_, {}); }

    ManualClock clock_{WallTime{}};
    TestStore store_{false, {}};
    ManualExecutor executor_;
    EventFeed feed_{1};
    LockService service_{
        {},
        {.clock = clock_,
         .store = store_,
         .executor = executor_,
         .random = [] { return std::uint64_t{7}; },
         .take_changes = [this](core::Changes& changes) { feed_.publish(std::move(changes)); },
         .first_event = feed_.next_id(),
         .on_events_lost = [this](std::uint64_t count) { feed_.lose(count); }}};
    std::vector<std::string> told_;
    std::uint64_t position_ = 0;
};

TEST_F(ElectionReaderTest, TellsTheStateAndEveryChange) {
    const core::Token ann = lead("ann", "a");
    const auto reader = open();
    EXPECT_THAT(take_told(), ElementsAre("ann a"));
    ask(core::SetValueRequest{.token = ann, .value = "b"});
    EXPECT_THAT(take_told(), ElementsAre("ann b changed"));
    ask(core::RenewRequest{.token = ann});
    EXPECT_THAT(take_told(), IsEmpty());
    ask(core::ReleaseRequest{.token = ann});
    const core::Token bob = lead("bob");
    ask(core::ReleaseRequest{.token = bob});
    EXPECT_THAT(take_told(), ElementsAre("nobody changed", "bob  changed", "nobody changed"));
}

TEST_F(ElectionReaderTest, ShowsOnlyWhatIsCommitted) {
    store_.commits_at_once = false;
    const core::AcquireRequest request{
        .scope = core::Scope::named("nightly"), .owner = {.name = "ann"}, .ttl = 30s};
    ask(request);
    const auto reader = open();
    EXPECT_THAT(told_, IsEmpty()) << "a crash could undo it";
    store_.finish();
    executor_.settle();
    EXPECT_THAT(take_told(), ElementsAre("ann "));
}

TEST_F(ElectionReaderTest, KnowsWhetherSomethingChangedSinceAPosition) {
    const auto first = open();
    const core::Token ann = lead("ann");
    take_told();
    const std::uint64_t then = position_;
    EXPECT_NE(open(then), nullptr);
    EXPECT_THAT(take_told(), ElementsAre("ann "));
    ask(core::ReleaseRequest{.token = ann});
    take_told();
    first->close();
    const auto second = open(then);
    EXPECT_THAT(take_told(), ElementsAre("nobody changed"));
}

TEST_F(ElectionReaderTest, TakesAnUnknownPositionForAChange) {
    const auto old = open(std::uint64_t{0});
    EXPECT_THAT(take_told(), ElementsAre("nobody"));
    lead("ann");
    take_told();
    old->close();
    const auto reader = open(std::uint64_t{1'000'000});
    EXPECT_THAT(take_told(), ElementsAre("ann  changed"));
}

TEST_F(ElectionReaderTest, AsksAgainWhenEventsAreMissing) {
    const auto reader = open();
    take_told();
    reader->pause();
    const core::Token ann = lead("ann");
    ask(core::ReleaseRequest{.token = ann});
    lead("bob");
    feed_.lose(1);
    executor_.settle();
    EXPECT_THAT(take_told(), IsEmpty());
    reader->resume();
    executor_.settle();
    EXPECT_THAT(take_told(), ElementsAre("bob  changed"));
}

TEST_F(ElectionReaderTest, TellsNothingMoreWhenItIsClosed) {
    const auto reader = open();
    take_told();
    reader->close();
    lead("ann");
    EXPECT_THAT(take_told(), IsEmpty());
}

TEST_F(ElectionReaderTest, SaysThatThereIsNoState) {
    store_.commits_at_once = false;
    ask(core::AcquireRequest{
        .scope = core::Scope::named("x"), .owner = {.name = "ann"}, .ttl = 30s});
    store_.fail("disk full");
    executor_.settle();
    const auto reader = open();
    EXPECT_THAT(take_told(), ElementsAre("disk full"));
}

}  // namespace
}  // namespace holdfast::service

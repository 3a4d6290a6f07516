#include "service/events/texts.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>

namespace holdfast::service {
namespace {

// The same request or response, with kept texts.
template <class Message>
Message keep(Texts& texts, Message message) {
    texts.keep_texts_of(message);
    return message;
}

// Texts that a test makes, shows to keep(), and destroys: what still points to them is found by
// comparison here, and by AddressSanitizer.
class PassingTexts {
  public:
    std::string_view make(std::string text) {
        return *texts_.emplace_back(std::make_unique<std::string>(std::move(text)));
    }
    core::Scope scope(std::string name) { return core::Scope::named(make(std::move(name))); }
    core::Owner owner(std::string name) { return {.name = make(std::move(name))}; }
    void destroy() {
        for (auto& text : texts_) text->assign(text->size(), '?');
        texts_.clear();
    }

  private:
    std::vector<std::unique_ptr<std::string>> texts_;
};

// Longer than what a std::string keeps inside itself.
const std::string job = "a job with a name that takes some room";
const std::string client = "a client with a name that takes some room";

// Keeps the request in texts that move meanwhile, and gives it back when its own texts are gone.
template <class Kind>
Kind keep_and_destroy(PassingTexts& passing, Texts& texts, Kind request) {
    const Request kept = keep(texts, Request(std::move(request)));
    passing.destroy();
    Texts moved = std::move(texts);
    texts = std::move(moved);
    return std::get<Kind>(kept);
}

TEST(Texts, KeepsEveryTextOfARequest) {
    PassingTexts passing;
    Texts texts;
    const auto acquire = keep_and_destroy(
        passing, texts,
        core::AcquireRequest{.scope = passing.scope(job), .owner = passing.owner(client)});
    EXPECT_EQ(acquire.scope.name, job);
    EXPECT_EQ(acquire.owner.name, client);
    std::vector<core::SetMember> members{
        {.scope = passing.scope(job)},
        {.scope = passing.scope(client), .mode = core::Mode::shared}};
    core::AcquireRequest several{.scope = passing.scope(job), .members = members};
    several.notes.waiter = passing.make(client);
    several.value = passing.make(job);
    several = keep_and_destroy(passing, texts, several);
    members.assign(2, {});
    ASSERT_EQ(several.members.size(), 2U);
    EXPECT_EQ(several.members[0].scope.name, job);
    EXPECT_EQ(several.members[1].scope.name, client);
    EXPECT_EQ(several.members[1].mode, core::Mode::shared);
    EXPECT_EQ(several.notes.waiter, client);
    EXPECT_EQ(several.value, job);
    EXPECT_EQ(
        keep_and_destroy(passing, texts, core::SetValueRequest{.value = passing.make(job)}).value,
        job);
    const auto enqueue = keep_and_destroy(
        passing, texts,
        Enqueue{.request = {.scope = passing.scope(job), .owner = passing.owner(client)}});
    EXPECT_EQ(enqueue.request.scope.name, job);
    EXPECT_EQ(enqueue.request.owner.name, client);
    EXPECT_EQ(keep_and_destroy(passing, texts, Wait{.scope = passing.scope(job)}).scope.name, job);
    const auto renew = keep_and_destroy(
        passing, texts,
        core::RenewRequest{.scope = passing.scope(job), .owner = passing.owner(client)});
    EXPECT_EQ(renew.scope->name, job);
    EXPECT_EQ(renew.owner->name, client);
    const auto release = keep_and_destroy(
        passing, texts,
        core::ReleaseRequest{.scope = passing.scope(job), .owner = passing.owner(client)});
    EXPECT_EQ(release.scope->name, job);
    EXPECT_EQ(release.owner->name, client);
    const auto own = keep_and_destroy(
        passing, texts, ReleaseOwn{.scope = passing.scope(job), .owner = passing.owner(client)});
    EXPECT_EQ(own.scope.name, job);
    EXPECT_EQ(own.owner.name, client);
    EXPECT_EQ(
        keep_and_destroy(passing, texts, ForceRelease{.scope = passing.scope(job)}).scope.name,
        job);
    EXPECT_EQ(
        keep_and_destroy(passing, texts, OpenSession{.owner = passing.owner(client)}).owner.name,
        client);
    EXPECT_EQ(keep_and_destroy(passing, texts, Inspect{.scope = passing.scope(job)}).scope.name,
              job);
    const auto list = keep_and_destroy(
        passing, texts,
        List{.query = {.prefix = passing.make(job), .after = passing.scope(client)}});
    EXPECT_EQ(list.query.prefix, job);
    EXPECT_EQ(list.query.after->name, client);
}

TEST(Texts, KeepsEveryTextOfARequestAboutFences) {
    PassingTexts passing;
    Texts texts;
    EXPECT_EQ(keep_and_destroy(passing, texts, CheckToken{.scope = passing.scope(job)}).scope.name,
              job);
    const auto leases = keep_and_destroy(
        passing, texts,
        ListLeases{.query = {.on = passing.scope(job), .holder = passing.make(client)}});
    EXPECT_EQ(leases.query.on->name, job);
    EXPECT_EQ(leases.query.holder, client);
    EXPECT_EQ(keep_and_destroy(passing, texts, RaiseFence{.resource = passing.make(job)}).resource,
              job);
    EXPECT_EQ(keep_and_destroy(passing, texts, ReadFence{.resource = passing.make(job)}).resource,
              job);
    EXPECT_EQ(keep_and_destroy(passing, texts, DropFence{.resource = passing.make(job)}).resource,
              job);
}

TEST(Texts, KeepsWhatIsNoText) {
    Texts texts;
    const Request kept =
        keep(texts,
             Request(core::AcquireRequest{.scope = core::Scope::of_range(7, {.start = 1, .end = 9}),
                                          .ttl = std::chrono::seconds{3}}));
    const auto& acquire = std::get<core::AcquireRequest>(kept);
    EXPECT_EQ(acquire.scope, core::Scope::of_range(7, {.start = 1, .end = 9}));
    EXPECT_EQ(acquire.ttl, std::chrono::seconds{3});
    EXPECT_EQ(
        std::get<Find>(keep(texts, Request(Find{.token = {.fence = core::Fence{5}}}))).token.fence,
        core::Fence{5});
    EXPECT_EQ(std::get<EndSession>(keep(texts, Request(EndSession{.session = {.serial = 4}})))
                  .session.serial,
              4U);
}

TEST(Texts, KeepsEveryTextOfAResponse) {
    PassingTexts passing;
    Texts texts;
    Response response;
    response.outcome.lease.scope = passing.scope(job);
    response.outcome.lease.owner = passing.owner(client);
    response.outcome.previous_owner = passing.make("the one before, also with a long name");
    response.failure = passing.make("a failure that takes a sentence to tell");
    core::LockView lock{.scope = passing.scope(job)};
    lock.holders.push_back({.scope = passing.scope(job), .owner = passing.owner(client)});
    lock.waiters.push_back({.scope = passing.scope(job),
                            .owner = passing.owner(client),
                            .blocker = passing.owner("the one in the way, by its long name")});
    lock.lapsed = core::LeaseView{.scope = passing.scope(job), .owner = passing.owner(client)};
    const auto details = std::make_shared<Details>();
    details->locks.push_back(lock);
    details->leases.push_back({.scope = passing.scope(job), .owner = passing.owner(client)});
    response.details = details;

    const Response kept = keep(texts, std::move(response));
    passing.destroy();
    EXPECT_EQ(kept.outcome.lease.scope.name, job);
    EXPECT_EQ(kept.outcome.lease.owner.name, client);
    EXPECT_EQ(kept.outcome.previous_owner, "the one before, also with a long name");
    EXPECT_EQ(kept.failure, "a failure that takes a sentence to tell");
    const core::LockView& kept_lock = kept.locks().at(0);
    EXPECT_EQ(kept_lock.scope.name, job);
    EXPECT_EQ(kept_lock.holders.at(0).scope.name, job);
    EXPECT_EQ(kept_lock.holders.at(0).owner.name, client);
    EXPECT_EQ(kept_lock.waiters.at(0).scope.name, job);
    EXPECT_EQ(kept_lock.waiters.at(0).owner.name, client);
    EXPECT_EQ(kept_lock.waiters.at(0).blocker.name, "the one in the way, by its long name");
    EXPECT_EQ(kept_lock.lapsed->scope.name, job);
    EXPECT_EQ(kept_lock.lapsed->owner.name, client);
    EXPECT_EQ(kept.leases().at(0).scope.name, job);
    EXPECT_EQ(kept.leases().at(0).owner.name, client);
}

TEST(Texts, KeepsBytesOfAnyKind) {
    Texts texts;
    const std::string bytes("a\0b\n\xff", 5);
    EXPECT_EQ(texts.keep(std::string_view(bytes)), bytes);
    EXPECT_EQ(texts.keep(std::string_view()), "");
    const std::string much(100'000, 'x');
    EXPECT_EQ(texts.keep(std::string_view(much)), much);
}

}  // namespace
}  // namespace holdfast::service

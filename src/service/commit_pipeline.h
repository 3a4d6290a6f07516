#pragma once

// CommitPipeline: the way of changes from the lock table to the store, and of answers to clients.
//
// Every change goes into a commit, and every answer rests on a commit: the answer leaves when that
// commit is done, because from then on no crash can make the answer untrue.
//
//   open           gets the changes that are decided now. They are still in the lock table.
//   closed         complete, and waiting for the store. The store takes one commit at a time.
//   under way      handed to the store.
//   done           told to the observers; then its answers leave.
//
// There is always exactly one open commit. Usually it is closed and handed over at the end of the
// turn, or when the commit under way is done (if the store wants it so, a little later: see
// gathering.h). A commit that reaches the store's CommitLimits
// is closed earlier, between two requests, and the next one is opened behind it. Until the store is
// ready for them, the changes of such commits stay in the lock table, too; each knows where its
// changes end.
//
// What an answer rests on is decided by rests_on() alone:
//
//   the answer                                       rests on
//   changes something durable                        the commit of the change
//   names a lease that lives                         the commit of its grant, of new terms and of
//                                                    another value
//   names a transient lease                          the commit of what made way for it
//   is about a fence                                 the commit of the mark it speaks of
//   is that a request is queued, has to ask again    nothing
//   or has timed out, that a session began, ended
//   or is unknown, or figures
//   is any other refusal or read                     the commit of everything not on disk now
//
// So these do not wait: renewals on unchanged terms and checks of a lease that is on disk, and
// refusals because of such a lease. While everything is on disk, or where the store is volatile,
// nothing waits.
//
// Thread safety: none; everything on the service's thread.

#include <cstddef>
#include <cstdint>
#include <list>
#include <optional>
#include <string_view>
#include <vector>

#include "core/containers/growing_map.h"
#include "core/lock_table.h"
#include "service/books/fence.h"
#include "service/events/texts.h"
#include "service/gathering.h"
#include "service/ports/port.h"
#include "service/request.h"
#include "service/store.h"

namespace holdfast::service {

// What an answer says, as far as it matters to what the answer rests on.
struct Statement {
    enum class About : std::uint8_t {
        locks,    // what the outcome says
        fence,    // `fence_commit` is the commit of the mark
        nothing,  // that a crash could undo: sessions, figures
    };

    About about = About::locks;
    CommitNumber fence_commit = no_commit;
    bool has_changes = false;  // the request changed something that must be committed
};

// Answers that leave together.
class Answers {
  public:
    struct Owed {
        PromiseId promise;
        bool is_event = false;  // what `index` counts: events of the commit, or responses()
        std::uint32_t index = 0;
    };

    // Copies the response, texts included.
    void add(PromiseId promise, const Response& response);
    // Refers to an event of the commit instead: the grant, renewal or release that the answer tells of.
    void add_event(PromiseId promise, std::size_t event);
    // Observers hear of the refusal when the answers leave.
    void add(FenceRefusal refusal);
    void clear();

    [[nodiscard]] const std::vector<Owed>& owed() const { return owed_; }
    [[nodiscard]] const std::vector<Response>& responses() const { return responses_; }
    [[nodiscard]] const std::vector<FenceRefusal>& refusals() const { return refusals_; }
    // Gives the events their new indexes.
    template <class NewIndex>
    void move_events(NewIndex new_index) {
        for (Owed& owed : owed_) {
            if (owed.is_event) owed.index = static_cast<std::uint32_t>(new_index(owed.index));
        }
    }

  private:
    Texts texts_;  // of the responses and refusals
    std::vector<Owed> owed_;
    std::vector<Response> responses_;
    std::vector<FenceRefusal> refusals_;
};

// How much there is to write.
struct CommitSize {
    std::size_t changes = 0;  // fences excluded
    std::size_t fences = 0;
    std::size_t text_bytes = 0;
};

class CommitPipeline {
  public:
    // A commit that is done.
    struct Done {
        core::Changes& changes;  // of which observers are to be told
        Answers& answers;        // that may leave now; events are those of `changes`
    };

    // `fences` has the marks of the open commit. All of them outlive the pipeline.
    CommitPipeline(const Store& store, FenceBook& fences, const Clock& clock);

    // --- What was decided ---

    // The commit that gets the next change.
    [[nodiscard]] CommitNumber open() const { return parts_.back().commit.number; }
    // The changes of the lock table from `begin` on come next: a step begins there, or a request.
    // Returns where the step ends, all of which must be in one commit, and closes the open commit if they are too much for it.
    std::size_t begin_step(const core::Changes& changes, std::size_t begin) {
        return is_volatile_ ? changes.size() : begin_durable_step(changes, begin);
    }
    // The same before a fence of this resource is changed. `begin` is where changes will come next.
    void begin_fence_change(std::string_view resource, std::size_t begin) {
        make_room({.fences = 1, .text_bytes = resource.size()}, begin);
    }
    // The open commit gets this event. True if the event must be committed before anybody is told.
    bool add(const core::Event& event);
    // True if the open commit must be handed to the store.
    [[nodiscard]] bool has_uncommitted() const {
        return parts_.back().has_changes || fences_.has_uncommitted();
    }
    // True if nothing waits for the store.
    [[nodiscard]] bool is_idle() const { return parts_.size() == 1 && !has_uncommitted(); }
    // Whether the store has a commit that is not done.
    [[nodiscard]] bool is_under_way() const { return is_under_way_; }

    // --- What answers rest on ---

    [[nodiscard]] CommitNumber rests_on(const Statement& statement,
                                        const core::Outcome& outcome) const;
    // The same for an answer that names a lease that lives.
    [[nodiscard]] CommitNumber rests_on(const core::LeaseView& lease) const;
    [[nodiscard]] bool is_done(CommitNumber number) const { return number <= done_; }
    // The answers that leave when the commit is done; those that leave at the end of the turn if it
    // is done already.
    [[nodiscard]] Answers& answers_after(CommitNumber number);

    // --- The turn ---

    // The answers that leave at the end of this turn; nullptr if there are none. They are good
    // until the next call.
    [[nodiscard]] Answers* take_ready();
    // The commit to hand to the store now: the open one is closed if no other waits. nullptr if
    // there is nothing to commit, a commit is under way, or the open one is held back for a while.
    [[nodiscard]] const Commit* start(core::LockTable& table);
    // Until when the last start() has held the open commit back, if it did.
    [[nodiscard]] std::optional<core::Time> held_back_until() const {
        return is_held_back_ ? std::optional(gathering_.until()) : std::nullopt;
    }
    // The commit under way is done. The result is good until the next call of finish().
    // REQUIRES: there is one.
    [[nodiscard]] Done finish();
    // Drops events that nobody needs any more, if a slow commit makes them pile up in the table.
    // Returns how many.
    std::size_t thin_out(core::LockTable& table);
    // How many events observers have not been told of: those of the table, and of commits that are
    // not done.
    [[nodiscard]] std::size_t count_pending(const core::LockTable& table) const;

    // --- Failure and recovery ---

    // Somebody whose answer was waiting for a commit that will not be done.
    struct Disappointed {
        PromiseId promise;
        bool was_under_way = false;  // its commit was handed to the store
    };
    // The commit under way failed: forgets everything that is not done, and says who waited for it.
    // The changes in the lock table are the caller's to forget.
    [[nodiscard]] std::vector<Disappointed> fail();
    // The largest fencing number that is on disk: leases with larger ones were granted since.
    [[nodiscard]] std::uint64_t done_fence() const { return done_fence_; }
    // The service begins with what a store remembered: the largest fencing number that was given
    // out, and the largest that is reserved. REQUIRES: is_idle().
    void begin(std::uint64_t newest_fence, std::uint64_t reserved_fence);

  private:
    struct Part {
        Commit commit;        // its changes are still in the table until the part is closed
        std::size_t end = 0;  // closed early: where its changes end in the table
        bool has_changes = false;
        CommitSize size;
        std::uint64_t newest_fence = 0;          // the largest number given out until it was closed
        std::vector<std::uint64_t> new_terms{};  // leases that it gives new terms or a value
        Answers answers;
    };

    std::size_t begin_durable_step(const core::Changes& changes, std::size_t begin);
    [[nodiscard]] CommitNumber rests_on_everything() const;
    void make_room(const CommitSize& size, std::size_t begin);
    void open_next();
    void close();
    void draw_off_changes(core::LockTable& table);
    [[nodiscard]] std::uint64_t fence_to_reserve() const;
    void recycle(std::list<Part>& parts);

    const bool is_volatile_;
    const CommitLimits limits_;
    FenceBook& fences_;

    // The commit under way, if there is one; those that are closed; the open one. Lists, so that
    // a commit stays where it is while the store reads it.
    std::list<Part> parts_;
    std::list<Part> leaving_parts_;  // what finish() has returned
    std::list<Part> spare_;          // with memory for later ones
    std::size_t drawn_off_ = 0;      // so many of `parts_` have their changes
    bool is_under_way_ = false;
    Gathering gathering_;
    bool is_held_back_ = false;
    CommitNumber done_ = no_commit;
    CommitNumber last_number_ = no_commit;

    std::uint64_t newest_fence_ = 0;     // the largest fencing number that was given out
    std::uint64_t done_fence_ = 0;       // leases with numbers up to this one are on disk
    std::uint64_t reserving_fence_ = 0;  // reserved on disk when all closed commits are done
    bool has_transient_ = false;         // there was a transient lease
    // Leases whose new terms or value are in a commit that is not done.
    core::GrowingMap<std::uint64_t, CommitNumber> new_terms_;

    Answers ready_, leaving_;
    // Of what was pending when thin_out() was called last: events and bytes.
    std::size_t thinned_size_ = 0, thinned_bytes_ = 0;
};

}  // namespace holdfast::service

#include "service/commit_pipeline.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/check.h"
#include "base/log/log.h"
#include "service/events/thin_out.h"

namespace holdfast::service {

namespace {

// While a commit is under way, events wait in memory. When there are more than these, and twice as
// many as when it was done last, those that nobody needs are dropped.
constexpr std::size_t pending_events_usual = 65'536;
// The same for the memory that they take: a renewal of a large set has a quarter of a megabyte.
constexpr std::size_t pending_bytes_usual = std::size_t{64} << 20;

// Transient leases are told without a commit, so no commit tells the next start of the server which
// fencing numbers they have. So the numbers are reserved on disk in advance, so many at a time: a
// second's worth, where the first number is the wall clock's.
constexpr std::uint64_t fences_reserved = 1 << 20;

// A batch of answers keeps memory for so many.
constexpr std::size_t answers_kept_max = 4096;

std::uint64_t fence_of(const core::LeaseView& lease) {
    return core::as_number(lease.token.fence);
}

// What must be written of the changes [begin, end).
CommitSize size_of(const core::Changes& changes, std::size_t begin, std::size_t end) {
    CommitSize size;
    for (; begin < end; ++begin) {
        if (!core::is_kept(changes[begin])) continue;
        ++size.changes;
        size.text_bytes += core::text_size_of(changes[begin]);
    }
    return size;
}

// Where the step ends that begins at `begin`: the lock table knows.
std::size_t end_of_step(const core::Changes& changes, std::size_t begin) {
    for (std::size_t index = begin + 1; index < changes.size(); ++index) {
        if (changes[index].begins_step) return index;
    }
    return changes.size();
}

}  // namespace

void Answers::add(PromiseId promise, const Response& response) {
    owed_.push_back({.promise = promise, .index = static_cast<std::uint32_t>(responses_.size())});
    texts_.keep_texts_of(responses_.emplace_back(response));
}

void Answers::add_event(PromiseId promise, std::size_t event) {
    owed_.push_back(
        {.promise = promise, .is_event = true, .index = static_cast<std::uint32_t>(event)});
}

void Answers::add(FenceRefusal refusal) {
    refusal.resource = texts_.keep(refusal.resource);
    refusals_.push_back(refusal);
}

void Answers::clear() {
    owed_.clear();
    responses_.clear();
    if (owed_.capacity() > answers_kept_max) owed_.shrink_to_fit();
    if (responses_.capacity() > answers_kept_max) responses_.shrink_to_fit();
    refusals_.clear();
    texts_.clear();
}

CommitPipeline::CommitPipeline(const Store& store, FenceBook& fences, const Clock& clock)
    : is_volatile_(store.is_volatile()),
      limits_(store.commit_limits()),
      fences_(fences),
      gathering_(clock, limits_.gather_max) {
    open_next();
}

void CommitPipeline::open_next() {
    if (spare_.empty()) spare_.emplace_back();
    parts_.splice(parts_.end(), spare_, spare_.begin());
    last_number_ = next_after(last_number_);
    parts_.back().commit.number = last_number_;
}

std::size_t CommitPipeline::begin_durable_step(const core::Changes& changes, std::size_t begin) {
    const std::size_t end = end_of_step(changes, begin);
    make_room(size_of(changes, begin, end), begin);
    return end;
}

// Changes of this size belong together, and are from `begin` on in the table: closes the open
// commit if they are too much for it.
void CommitPipeline::make_room(const CommitSize& size, std::size_t begin) {
    Part& open = parts_.back();
    const std::size_t changes = open.size.changes + fences_.uncommitted();
    const bool fits = changes + size.changes + size.fences <= limits_.changes_max &&
                      open.size.text_bytes + size.text_bytes <= limits_.text_bytes_max;
    if (!fits && changes > 0) {
        open.end = begin;
        close();
    }
    parts_.back().size.changes += size.changes;
    parts_.back().size.text_bytes += size.text_bytes;
}

bool CommitPipeline::add(const core::Event& event) {
    if (is_volatile_) return false;
    const std::uint64_t fence = fence_of(event.lease);
    const bool is_grant = event.kind == core::EventKind::granted;
    if (is_grant) newest_fence_ = std::max(newest_fence_, fence);
    bool must_be_committed = core::is_kept(event);
    if (!must_be_committed && is_grant) {
        has_transient_ = true;
        must_be_committed = fence > reserving_fence_;
    }
    if (!must_be_committed) return false;
    Part& open = parts_.back();
    open.has_changes = true;
    if (event.kind == core::EventKind::renewed || event.kind == core::EventKind::value_set) {
        new_terms_[fence] = open.commit.number;
        open.new_terms.push_back(fence);
    }
    return true;
}

CommitNumber CommitPipeline::rests_on(const Statement& statement,
                                      const core::Outcome& outcome) const {
    if (is_volatile_) return no_commit;
    if (statement.has_changes) return open();
    if (statement.about == Statement::About::nothing) return no_commit;
    if (statement.about == Statement::About::fence) return statement.fence_commit;
    switch (outcome.kind) {
        case core::Outcome::Kind::queued: return no_commit;
        case core::Outcome::Kind::granted:
        case core::Outcome::Kind::renewed:
        case core::Outcome::Kind::found: return rests_on(outcome.lease);
        case core::Outcome::Kind::released: return rests_on_everything();
        case core::Outcome::Kind::refused: break;
    }
    switch (outcome.refusal) {
        case core::Refusal::held: return rests_on(outcome.lease);
        case core::Refusal::timed_out:
        case core::Refusal::still_waiting:
        case core::Refusal::request_superseded:
        case core::Refusal::stopping:
        case core::Refusal::unknown_session: return no_commit;
        default: return rests_on_everything();
    }
}

CommitNumber CommitPipeline::rests_on(const core::LeaseView& lease) const {
    if (is_volatile_) return no_commit;
    const std::uint64_t fence = fence_of(lease);
    CommitNumber number = no_commit;
    if (fence > done_fence_) {
        const auto part = std::find_if(parts_.begin(), std::prev(parts_.end()),
                                       [&](const Part& one) { return fence <= one.newest_fence; });
        const bool is_open = part == std::prev(parts_.end());
        const bool is_reserved = fence <= reserving_fence_;
        if (is_open && lease.is_transient && is_reserved) return rests_on_everything();
        number = part->commit.number;
    }
    if (new_terms_.empty()) return number;
    const CommitNumber* const terms = new_terms_.find(fence);
    return terms == nullptr ? number : std::max(number, *terms);
}

// The same for an answer that may speak of anything.
CommitNumber CommitPipeline::rests_on_everything() const {
    if (has_uncommitted()) return open();
    return parts_.size() == 1 ? no_commit : std::prev(parts_.end(), 2)->commit.number;
}

Answers& CommitPipeline::answers_after(CommitNumber number) {
    if (is_done(number)) return ready_;
    // Nearly always the open one, or the one before.
    for (auto part = parts_.rbegin(); part != parts_.rend(); ++part) {
        if (part->commit.number == number) return part->answers;
    }
    CHECK(false);
    return ready_;
}

Answers* CommitPipeline::take_ready() {
    if (ready_.owed().empty()) return nullptr;
    leaving_.clear();
    std::swap(leaving_, ready_);
    return &leaving_;
}

// The number up to which the open commit reserves numbers; 0: there are enough.
std::uint64_t CommitPipeline::fence_to_reserve() const {
    if (!has_transient_ || newest_fence_ + fences_reserved / 2 <= reserving_fence_) return 0;
    return std::min(newest_fence_ + fences_reserved, core::as_number(core::fence_max));
}

// Nothing is added to the open commit any more.
void CommitPipeline::close() {
    Part& open = parts_.back();
    open.newest_fence = newest_fence_;
    open.commit.reserved_fence = fence_to_reserve();
    open.commit.fences = fences_.take_uncommitted();
    reserving_fence_ = std::max(reserving_fence_, open.commit.reserved_fence);
    open_next();
}

const Commit* CommitPipeline::start(core::LockTable& table) {
    is_held_back_ = false;
    if (is_under_way_) return nullptr;
    if (parts_.size() == 1) {
        if (!has_uncommitted()) return nullptr;
        is_held_back_ = gathering_.is_worth_it(parts_.back().answers.owed().size());
        if (is_held_back_) return nullptr;
        parts_.back().end = table.changes().size();
        close();
    }
    if (drawn_off_ == 0) draw_off_changes(table);
    is_under_way_ = true;
    gathering_.on_started();
    return &parts_.front().commit;
}

// Gives every closed commit its changes. Those of the open one stay in the table.
void CommitPipeline::draw_off_changes(core::LockTable& table) {
    const std::size_t size = table.changes().size();
    thinned_size_ = thinned_bytes_ = 0;
    drawn_off_ = parts_.size() - 1;
    Part& first = parts_.front();
    if (drawn_off_ == 1 && first.end == size) {
        table.swap_changes(first.commit.changes);
        return;
    }
    core::Changes all;
    table.swap_changes(all);
    std::size_t begin = 0;
    core::Changes rest;
    for (Part& part : parts_) {
        const bool is_open = &part == &parts_.back();
        const std::size_t end = is_open ? size : part.end;
        core::Changes& changes = is_open ? rest : part.commit.changes;
        for (std::size_t index = begin; index < end; ++index) changes.add(all[index]);
        part.answers.move_events([begin](std::size_t index) { return index - begin; });
        begin = end;
    }
    table.swap_changes(rest);
}

CommitPipeline::Done CommitPipeline::finish() {
    CHECK(is_under_way_);
    is_under_way_ = false;
    --drawn_off_;
    recycle(leaving_parts_);
    leaving_parts_.splice(leaving_parts_.begin(), parts_, parts_.begin());
    Part& part = leaving_parts_.front();
    done_ = part.commit.number;
    done_fence_ = part.newest_fence;
    for (const std::uint64_t fence : part.new_terms) {
        const CommitNumber* const found = new_terms_.find(fence);
        if (found != nullptr && *found == done_) new_terms_.erase(fence);
    }
    gathering_.on_done(part.answers.owed().size(), parts_.back().answers.owed().size());
    return {.changes = part.commit.changes, .answers = part.answers};
}

// Empties the parts, and saves their memory for later ones.
void CommitPipeline::recycle(std::list<Part>& parts) {
    for (Part& part : parts) {
        part.commit.changes.clear();
        part.commit.fences.clear();
        part.commit.reserved_fence = 0;
        part.end = 0;
        part.has_changes = false;
        part.size = {};
        part.newest_fence = 0;
        part.new_terms.clear();
        part.answers.clear();
    }
    spare_.splice(spare_.end(), parts);
    constexpr std::size_t spare_max = 3;
    while (spare_.size() > spare_max) spare_.pop_back();
}

std::size_t CommitPipeline::count_pending(const core::LockTable& table) const {
    std::size_t count = table.changes().size();
    auto part = parts_.begin();
    for (std::size_t left = drawn_off_; left > 0; --left) {
        count += part->commit.changes.size();
        ++part;
    }
    return count;
}

std::size_t CommitPipeline::thin_out(core::LockTable& table) {
    const bool are_few =
        table.changes().size() <= std::max(pending_events_usual, 2 * thinned_size_) &&
        table.changes().bytes() <= std::max(pending_bytes_usual, 2 * thinned_bytes_);
    if (are_few) return 0;
    core::Changes pending;
    table.swap_changes(pending);
    const std::size_t before = pending.size();
    const std::vector<std::size_t> new_index = service::thin_out(pending);
    thinned_size_ = pending.size();
    thinned_bytes_ = pending.bytes();
    table.swap_changes(pending);
    for (auto part = std::next(parts_.begin(), static_cast<std::ptrdiff_t>(drawn_off_));
         part != parts_.end(); ++part) {
        part->end = new_index[part->end];
        part->answers.move_events([&](std::size_t index) { return new_index[index]; });
    }
    base::log(base::LogLevel::warning, "a commit takes long: some events will not be told",
              {{"dropped", std::uint64_t{before - thinned_size_}},
               {"pending", std::uint64_t{thinned_size_}}});
    return before - thinned_size_;
}

std::vector<CommitPipeline::Disappointed> CommitPipeline::fail() {
    std::vector<Disappointed> disappointed;
    for (const Part& part : parts_) {
        const bool was_under_way = is_under_way_ && &part == &parts_.front();
        for (const Answers::Owed& owed : part.answers.owed()) {
            disappointed.push_back({.promise = owed.promise, .was_under_way = was_under_way});
        }
    }
    recycle(parts_);
    fences_.forget_uncommitted();
    new_terms_.clear();
    is_under_way_ = false;
    drawn_off_ = thinned_size_ = thinned_bytes_ = 0;
    done_ = last_number_;
    open_next();
    return disappointed;
}

// NOLINTNEXTLINE(bugprone-easily-swappable-parameters): the smaller one first
void CommitPipeline::begin(std::uint64_t newest_fence, std::uint64_t reserved_fence) {
    CHECK(is_idle());
    newest_fence_ = done_fence_ = newest_fence;
    reserving_fence_ = reserved_fence;
}

}  // namespace holdfast::service

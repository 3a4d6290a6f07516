// PUT and PATCH: see requests.h.
//
// One state says how far the request is. While it is working, the lock and the disk each have a
// state of their own, because neither waits for the other.
//
//     checking    a thread of the disk compares the conditions and the Lock-Token with the version
//                 that is there; the lock is not asked for yet
//     working     the lock is asked for or held, and the body goes to a temporary file
//         lock    asked, held
//         disk    unused (nothing was written yet), idle, busy (a thread of the disk is writing)
//     concluded   the answer is certain and cannot change any more
//
//     state       event                            next state, and what happens
//     ---------   ------------------------------   ----------------------------------------------
//     (start)     there are conditions to check    checking
//     (start)     there are none                   working: asks for the lock
//     checking    the conditions hold              working: asks for the lock
//     checking    they do not hold                 concluded: answers
//     checking    the body breaks off              concluded: answers; the check is ignored
//     working     the lock is granted              working, lock held
//     working     the lock is refused              concluded: gives back (*) and answers
//     working     there is something to write      working, disk busy
//     working     a thread has written it          working, disk idle
//     working     a thread has committed           concluded: gives the lock back and answers
//     working     a write or the commit failed     concluded: gives the lock back and answers
//     working     the body breaks off              concluded: gives the lock back and answers
//     concluded   the lock is answered             gives back and answers
//     concluded   a thread has finished            removes the temporary file
//
//     (*) give_back() must follow every ask_for(), also a refused one. So a request that concludes
//     before its lock is answered waits for that before it answers.
//
// The commit needs a whole body and the lock. The body arrives, is whole, or is broken: malformed,
// or cut off with its connection. A broken body concludes the request at once.

#include <string>
#include <utility>
#include <variant>

#include "doors/hengdang/requests.h"
#include "doors/hengdang/writing/write_permit.h"

namespace holdfast::doors::hengdang {

namespace {

// A thread of the disk is given this much at a time, if it has arrived: every hand-over costs.
constexpr std::size_t batch_bytes = 256 * 1024;
// How much may wait in memory meanwhile.
constexpr std::size_t pending_bytes_max = 2 * batch_bytes;
// A batch, and what the last read of a connection adds to it.
constexpr std::size_t buffer_bytes = batch_bytes + net::EventLoop::read_buffer_bytes;
// A body up to this size is written and committed in one go, when it is whole and has its lock.
constexpr std::uint64_t small_body_bytes = 64 * 1024;
// To keep the connection, the server reads and discards this much of a body that it has refused.
constexpr std::uint64_t skipped_bytes_max = 256 * 1024;

WritePermit::Terms terms_of(const WriteRequest& request) {
    core::Range range;
    if (request.region) range = {.start = request.region->start, .end = request.region->end};
    return {.session_name = request.session_name,
            .client = request.client,
            .by = request.by,
            .path = request.path,
            .lock_token = request.lock_token,
            .range = range,
            .conditions = request.conditions};
}

FileAnswer refuse_size(const ByteSpan& region) {
    return refuse(400, "Invalid Content-Range",
                  "The body must have the " + std::to_string(region.size()) +
                      " bytes that Content-Range announces");
}

class Writing : public std::enable_shared_from_this<Writing> {
  public:
    Writing(const HengdangContext& context, WriteRequest request, net::DeferredReply reply,
            net::BodySource& source)
        : context_(context),
          request_(std::move(request)),
          permit_(context, terms_of(request_)),
          exchange_(context, request_.region ? FileOperation::patch : FileOperation::put,
                    std::move(reply)),
          source_(source) {}

    // Conditions are checked before the lock is asked for: if both are in the way, the answer is
    // about the conditions.
    void begin() {
        if (!permit_.needs_version()) return ask_for_lock();
        context_.door->readers().run([self = shared_from_this()]() mutable {
            auto objection = std::make_shared<WritePermit::Objection>(self->permit_.look_ahead());
            net::EventLoop& loop = self->context_.loop;
            loop.post(
                [self = std::move(self), objection] { self->on_checked(std::move(*objection)); });
        });
    }

    // Called by the sink.

    void on_piece(std::string_view piece) {
        received_bytes_ += piece.size();
        context_.door->counts().count_received(piece.size());
        if (is_concluded()) return;
        append_pending(piece);
        work_on();
    }
    void on_body_whole() {
        body_ = Body::whole;
        work_on();
    }
    void on_body_broken(FileAnswer answer) {
        body_ = Body::broken;
        conclude({.answer = std::move(answer)});
    }
    [[nodiscard]] bool is_congested() const {
        if (is_concluded()) return false;
        // A client that asks before it sends the body is told to send it once it has the lock.
        const auto* const working = std::get_if<Working>(&state_);
        const bool has_lock = working != nullptr && working->lock == Working::Lock::held;
        return pending_.size() >= pending_bytes_max || (request_.is_asked_first && !has_lock);
    }
    [[nodiscard]] bool is_concluded() const { return std::holds_alternative<Concluded>(state_); }

  private:
    struct Checking {};
    struct Working {
        enum class Lock : std::uint8_t { asked, held };
        enum class Disk : std::uint8_t { unused, idle, busy };
        Lock lock = Lock::asked;
        Disk disk = Disk::unused;
    };
    struct Concluded {
        FileAnswer answer;
        bool has_written = false;
    };
    using State = std::variant<Checking, Working, Concluded>;
    enum class Body : std::uint8_t { arriving, whole, broken };
    using Step = std::optional<Concluded>;  // what a thread of the disk returns; nothing: go on

    // On the loop.

    void on_checked(WritePermit::Objection objection) {
        if (is_concluded()) return;
        if (objection) return conclude({.answer = std::move(*objection)});
        ask_for_lock();
    }

    void ask_for_lock() {
        state_ = Working{};
        permit_.ask_for([self = shared_from_this()](WritePermit::Objection objection) {
            self->on_lock(std::move(objection));
        });
        work_on();
    }

    void on_lock(WritePermit::Objection objection) {
        if (objection) conclude({.answer = std::move(*objection)});
        if (is_concluded()) return give_lock_back();
        std::get<Working>(state_).lock = Working::Lock::held;
        if (request_.is_asked_first) resume_body();
        work_on();
    }

    // Hands the disk its next work, if it is free and there is some.
    void work_on() {
        Working* const working = std::get_if<Working>(&state_);
        if (working == nullptr || working->disk == Working::Disk::busy) return;
        const bool is_whole = body_ == Body::whole;
        const bool may_commit = is_whole && working->lock == Working::Lock::held;
        const bool is_small = request_.length && *request_.length <= small_body_bytes;
        const bool has_batch = pending_.size() >= batch_bytes || (is_whole && !pending_.empty());
        const bool has_work = working->disk == Working::Disk::unused ? !is_small : has_batch;
        if (!has_work && !may_commit) return;
        working->disk = Working::Disk::busy;
        auto bytes = std::make_shared<std::string>(std::exchange(pending_, std::move(spare_)));
        spare_ = {};
        context_.door->writers().run([self = shared_from_this(), bytes, may_commit]() mutable {
            auto step = std::make_shared<Step>(self->work(*bytes, may_commit));
            net::EventLoop& loop = self->context_.loop;
            loop.post([self = std::move(self), step, bytes] {
                self->spare_ = std::move(*bytes);
                self->spare_.clear();
                self->on_worked(std::move(*step));
            });
        });
        resume_body();
    }

    // A long body has two buffers, which the loop and the thread of the disk exchange. A buffer gets
    // its full size at once, but not before the client has sent more than a small body.
    void append_pending(std::string_view piece) {
        const bool is_full = pending_.size() + piece.size() > pending_.capacity();
        if (is_full && received_bytes_ > small_body_bytes) pending_.reserve(buffer_bytes);
        pending_.append(piece);
    }

    void on_worked(Step step) {
        if (is_concluded()) return remove_temporary_file();
        std::get<Working>(state_).disk = Working::Disk::idle;
        if (step) return conclude(std::move(*step));
        work_on();
    }

    // The first conclusion counts.
    void conclude(Concluded conclusion) {
        if (is_concluded()) return;
        const State before = std::exchange(state_, State(std::move(conclusion)));
        pending_ = {};
        resume_body();  // the rest is discarded
        const auto* const working = std::get_if<Working>(&before);
        if (working == nullptr) return answer();
        if (working->disk == Working::Disk::idle) remove_temporary_file();
        if (working->lock == Working::Lock::held) give_lock_back();
    }

    void resume_body() {
        if (body_ == Body::arriving) source_.resume();
    }

    // On a thread that may wait for the disk. REQUIRES: none of them is busy with this request.
    void remove_temporary_file() {
        if (!upload_) return;
        context_.door->writers().run([self = shared_from_this()] { self->upload_.reset(); });
    }

    // Gives the lock back, and then answers. REQUIRES: concluded, and the lock is answered.
    void give_lock_back() {
        const bool has_written = std::get<Concluded>(state_).has_written;
        net::EventLoop& loop = context_.loop;
        permit_.give_back(has_written, [&loop, self = shared_from_this()] {
            loop.post([self] { self->answer(); });
        });
    }

    void answer() {
        const std::uint64_t expected = request_.length.value_or(UINT64_MAX);
        if (body_ != Body::whole && expected - received_bytes_ > skipped_bytes_max) {
            exchange_.reply().close_after();
        }
        exchange_.answer(std::get<Concluded>(state_).answer);
    }

    // On the threads of the disk, one at a time.

    Step work(std::string_view bytes, bool may_commit) {
        Step step = write(bytes, may_commit);
        if (step) upload_.reset();
        return step;
    }

    Step write(std::string_view bytes, bool may_commit) {
        if (!upload_) {
            if (auto objection = begin_upload()) {
                return Concluded{.answer = std::move(*objection)};
            }
        }
        if (auto done = upload_->append(bytes); !done) {
            return Concluded{.answer = refuse(done.error())};
        }
        if (request_.region && upload_->received_bytes() > request_.region->size()) {
            return Concluded{.answer = refuse_size(*request_.region)};
        }
        return may_commit ? commit() : Step{};
    }

    WritePermit::Objection begin_upload() {
        files::UploadPlan plan{.path = request_.path, .expected_bytes = request_.length};
        if (request_.region) plan.region_start = request_.region->start;
        auto upload = context_.door->tree().begin_upload(std::move(plan));
        if (!upload) return refuse(upload.error());
        upload_.emplace(std::move(*upload));
        return {};
    }

    Step commit() {
        if (request_.region && upload_->received_bytes() != request_.region->size()) {
            return Concluded{.answer = refuse_size(*request_.region)};
        }
        WritePermit::Objection objection;
        WritePermit::Commit commit(permit_);
        const auto committed = upload_->commit(
            [&](const files::FileInfo* current) {
                objection = commit.judge(current);
                return !objection;
            },
            [&](const files::FileInfo* current) {
                objection = permit_.check(current);
                return !objection;
            });
        if (committed) {
            return Concluded{.answer = tell_written(request_.path, *committed),
                             .has_written = true};
        }
        const bool is_refused = committed.error().fault == files::Fault::refused && objection;
        return Concluded{.answer = is_refused ? std::move(*objection) : refuse(committed.error())};
    }

    const HengdangContext context_;
    const WriteRequest request_;
    WritePermit permit_;
    // On the loop.
    Exchange exchange_;
    net::BodySource& source_;  // there only while the body arrives
    std::string pending_;      // has arrived and is not being written yet
    std::string spare_;        // empty: the buffer that was written last
    std::uint64_t received_bytes_ = 0;
    Body body_ = Body::arriving;
    State state_;
    // Used by the thread that works on it while the disk is busy, by the loop otherwise.
    std::optional<files::Upload> upload_;
};

// The body of the request: outlived by the Writing, which may still be working when it is whole.
class Sink final : public net::BodySink {
  public:
    explicit Sink(std::shared_ptr<Writing> writing) : writing_(std::move(writing)) {}
    // Without a call of on_whole() or on_fault() before, the connection is gone, and with it the
    // one to answer.
    ~Sink() override {
        if (has_ended_) return;
        writing_->on_body_broken(refuse(400, "Incomplete", "The connection was lost"));
    }
    void on_piece(std::string_view piece) override { writing_->on_piece(piece); }
    void on_whole() override {
        has_ended_ = true;
        writing_->on_body_whole();
    }
    void on_fault(const net::HttpFault& fault) override {
        has_ended_ = true;
        FileAnswer answer{.status = fault.status, .body = std::string(fault.json)};
        if (fault.status == 503) answer.headers.emplace_back("Retry-After", "1");
        writing_->on_body_broken(std::move(answer));
    }
    [[nodiscard]] bool is_congested() const override { return writing_->is_congested(); }
    [[nodiscard]] bool is_wanted() const override { return !writing_->is_concluded(); }

  private:
    const std::shared_ptr<Writing> writing_;
    bool has_ended_ = false;
};

}  // namespace

std::unique_ptr<net::BodySink> begin_writing(const HengdangContext& context, WriteRequest request,
                                             net::HttpReply& reply, net::BodySource& source) {
    const auto writing =
        std::make_shared<Writing>(context, std::move(request), reply.defer(), source);
    writing->begin();
    return std::make_unique<Sink>(writing);
}

}  // namespace holdfast::doors::hengdang

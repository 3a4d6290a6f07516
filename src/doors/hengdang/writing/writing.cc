#include "doors/hengdang/writing/writing.h"

#include <string>
#include <utility>

#include "doors/hengdang/writing/write_permit.h"

namespace holdfast::doors::hengdang {

namespace {

// So much is handed to the disk's threads in one go, if it comes: every trip there costs.
constexpr std::size_t batch_bytes = 256 * 1024;
// What may wait in memory meanwhile.
constexpr std::size_t pending_bytes_max = 2 * batch_bytes;
// A body up to this size is waited for, and its lock, too, so that it is written in one go.
constexpr std::uint64_t small_bytes = 64 * 1024;
// How much of a body nobody wants is read past to keep the connection.
constexpr std::uint64_t skipped_bytes_max = 256 * 1024;

WritePermit::Terms terms_of(const WriteOrder& order) {
    core::Range range;
    if (order.region) range = {.start = order.region->start, .end = order.region->end};
    return {.session_name = order.session_name,
            .path = order.path.text(),
            .lock_token = order.lock_token,
            .range = range,
            .conditions = order.conditions};
}

FileAnswer refuse_size(const ByteSpan& region) {
    return refuse(400, "Invalid Content-Range",
                  "The body must have the " + std::to_string(region.size()) +
                      " bytes that Content-Range announces");
}

// What is in the way of a write before it has begun.
WritePermit::Objection look_ahead(files::FileTree& tree, const files::FilePath& path,
                                  const WritePermit& permit) {
    if (!permit.needs_version()) return {};
    const auto file = tree.open_file(path);
    if (!file && file.error().fault != files::Fault::not_found) return refuse(file.error());
    return permit.look_ahead(file ? &file->info : nullptr);
}

class Writing : public std::enable_shared_from_this<Writing> {
  public:
    Writing(const HengdangPlace& place, WriteOrder order, net::DeferredReply reply,
            net::BodySource& source)
        : place_(place),
          order_(std::move(order)),
          permit_(place, terms_of(order_)),
          exchange_(place, order_.region ? FileOperation::patch : FileOperation::put,
                    std::move(reply)),
          source_(&source) {}

    // Preconditions come before the lock, so that they are the answer if both are in the way.
    void begin() {
        if (!permit_.needs_version()) return ask_for_lock();
        is_working_ = true;
        place_.door.readers().run([self = shared_from_this()]() mutable {
            auto seen = std::make_shared<WritePermit::Objection>(
                look_ahead(self->place_.door.tree(), self->order_.path, self->permit_));
            net::EventLoop& loop = self->place_.loop;
            loop.post([self = std::move(self), seen] { self->on_looked(std::move(*seen)); });
        });
    }

    // By the sink.

    void take(std::string_view piece) {
        received_bytes_ += piece.size();
        place_.door.counts().count_received(piece.size());
        if (is_over_) return;
        pending_.append(piece);
        work_on();
    }
    void take_end() {
        source_ = nullptr;
        is_whole_ = true;
        work_on();
    }
    void take_fault(const net::HttpFault& fault) {
        source_ = nullptr;
        conclude({.answer = {.status = fault.status, .body = std::string(fault.json)}});
    }
    // There is nobody to answer.
    void take_loss() {
        source_ = nullptr;
        conclude({.answer = refuse(400, "Incomplete", "The connection was lost")});
    }
    [[nodiscard]] bool is_congested() const {
        if (is_over_) return false;
        // Whoever asks before it sends is told so when it has the lock.
        const bool has_answer = lock_ == Lock::held || lock_ == Lock::refused;
        return pending_.size() >= pending_bytes_max || (order_.is_asked_first && !has_answer);
    }
    [[nodiscard]] bool is_wanted() const { return !is_over_; }

  private:
    enum class Lock { not_asked, asked, held, refused };

    struct Conclusion {
        FileAnswer answer;
        bool has_written = false;
    };
    using Step = std::optional<Conclusion>;  // nothing: go on

    // On the loop.

    void on_looked(WritePermit::Objection objection) {
        is_working_ = false;
        if (is_over_) return;
        if (objection) return conclude({.answer = std::move(*objection)});
        ask_for_lock();
    }

    void ask_for_lock() {
        lock_ = Lock::asked;
        permit_.ask_for([self = shared_from_this()](WritePermit::Objection objection) {
            self->on_lock(std::move(objection));
        });
        work_on();
    }

    void on_lock(WritePermit::Objection objection) {
        lock_ = objection ? Lock::refused : Lock::held;
        if (conclusion_) return finish();
        if (objection) return conclude({.answer = std::move(*objection)});
        if (order_.is_asked_first && source_ != nullptr) source_->resume();
        work_on();
    }

    void work_on() {
        if (is_working_ || is_over_ || lock_ == Lock::not_asked) return;
        const bool is_small = order_.length && *order_.length <= small_bytes;
        if (!has_begun_ && is_small && (!is_whole_ || lock_ == Lock::asked)) return;
        const bool may_commit = is_whole_ && lock_ == Lock::held;
        const bool has_batch = pending_.size() >= batch_bytes || (is_whole_ && !pending_.empty());
        if (has_begun_ && !has_batch && !may_commit) return;
        is_working_ = has_begun_ = true;
        auto bytes = std::make_shared<std::string>(std::exchange(pending_, {}));
        place_.door.writers().run([self = shared_from_this(), bytes, may_commit]() mutable {
            auto step = std::make_shared<Step>(self->work(*bytes, may_commit));
            net::EventLoop& loop = self->place_.loop;
            loop.post([self = std::move(self), step] { self->on_worked(std::move(*step)); });
        });
        if (source_ != nullptr) source_->resume();
    }

    void on_worked(Step step) {
        is_working_ = false;
        if (is_over_) return dispose();
        if (step) return conclude(std::move(*step));
        work_on();
    }

    void conclude(Conclusion conclusion) {
        if (std::exchange(is_over_, true)) return;
        pending_ = {};
        conclusion_ = std::move(conclusion);
        if (source_ != nullptr) source_->resume();  // the rest is read past
        if (!is_working_) dispose();
        if (lock_ != Lock::asked) finish();
    }

    // The temporary file goes on a thread that may wait for it.
    void dispose() {
        if (!upload_) return;
        place_.door.writers().run([self = shared_from_this()] { self->upload_.reset(); });
    }

    // REQUIRES: it is concluded, and the lock is answered for.
    void finish() {
        if (lock_ == Lock::not_asked) return answer();
        net::EventLoop& loop = place_.loop;
        permit_.give_back(conclusion_->has_written, [&loop, self = shared_from_this()] {
            loop.post([self] { self->answer(); });
        });
    }

    void answer() {
        const std::uint64_t expected = order_.length.value_or(UINT64_MAX);
        if (!is_whole_ && expected - received_bytes_ > skipped_bytes_max) {
            exchange_.reply().close_after();
        }
        exchange_.answer(conclusion_->answer);
    }

    // On the disk's threads, one at a time.

    Step work(std::string_view bytes, bool may_commit) {
        Step step = write(bytes, may_commit);
        if (step) upload_.reset();
        return step;
    }

    Step write(std::string_view bytes, bool may_commit) {
        if (!upload_) {
            if (auto objection = begin_upload()) {
                return Conclusion{.answer = std::move(*objection)};
            }
        }
        if (auto done = upload_->append(bytes); !done) {
            return Conclusion{.answer = refuse(done.error())};
        }
        if (order_.region && upload_->received_bytes() > order_.region->size()) {
            return Conclusion{.answer = refuse_size(*order_.region)};
        }
        return may_commit ? commit() : Step{};
    }

    WritePermit::Objection begin_upload() {
        files::UploadPlan plan{.path = order_.path, .expected_bytes = order_.length};
        if (order_.region) plan.region_start = order_.region->start;
        auto upload = place_.door.tree().begin_upload(std::move(plan));
        if (!upload) return refuse(upload.error());
        upload_.emplace(std::move(*upload));
        return {};
    }

    Step commit() {
        if (order_.region && upload_->received_bytes() != order_.region->size()) {
            return Conclusion{.answer = refuse_size(*order_.region)};
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
            return Conclusion{.answer = tell_written(order_.path, *committed), .has_written = true};
        }
        const bool is_refused = committed.error().fault == files::Fault::refused && objection;
        return Conclusion{.answer = is_refused ? std::move(*objection) : refuse(committed.error())};
    }

    const HengdangPlace place_;
    const WriteOrder order_;
    WritePermit permit_;
    // On the loop.
    Exchange exchange_;
    net::BodySource* source_;  // while the body is not whole
    std::string pending_;
    std::uint64_t received_bytes_ = 0;
    Lock lock_ = Lock::not_asked;
    bool is_whole_ = false;
    bool has_begun_ = false;
    bool is_working_ = false;  // a thread of the disk's is at it
    bool is_over_ = false;
    std::optional<Conclusion> conclusion_;
    // Where the work is.
    std::optional<files::Upload> upload_;
};

class Sink final : public net::BodySink {
  public:
    explicit Sink(std::shared_ptr<Writing> writing) : writing_(std::move(writing)) {}
    ~Sink() override {
        if (!is_told_) writing_->take_loss();
    }
    void on_piece(std::string_view piece) override { writing_->take(piece); }
    void on_whole() override {
        is_told_ = true;
        writing_->take_end();
    }
    void on_fault(const net::HttpFault& fault) override {
        is_told_ = true;
        writing_->take_fault(fault);
    }
    [[nodiscard]] bool is_congested() const override { return writing_->is_congested(); }
    [[nodiscard]] bool is_wanted() const override { return writing_->is_wanted(); }

  private:
    const std::shared_ptr<Writing> writing_;
    bool is_told_ = false;  // how the body ends
};

// A DELETE: the same in small.
class Removing : public std::enable_shared_from_this<Removing> {
  public:
    Removing(const HengdangPlace& place, RemoveOrder order, net::DeferredReply reply)
        : place_(place),
          order_(std::move(order)),
          permit_(place, {.session_name = order_.session_name,
                          .path = order_.path.text(),
                          .lock_token = order_.lock_token,
                          .conditions = order_.conditions}),
          exchange_(place, FileOperation::remove, std::move(reply)) {}

    void begin() {
        place_.door.writers().run([self = shared_from_this()]() mutable {
            const auto seen = std::make_shared<WritePermit::Objection>(
                look_ahead(self->place_.door.tree(), self->order_.path, self->permit_));
            net::EventLoop& loop = self->place_.loop;
            loop.post([self = std::move(self), seen] { self->on_looked(*seen); });
        });
    }

  private:
    void on_looked(const WritePermit::Objection& objection) {
        if (objection) return exchange_.answer(*objection);
        permit_.ask_for([self = shared_from_this()](const WritePermit::Objection& refused) {
            if (refused) return self->finish(*refused);
            self->remove();
        });
    }

    void remove() {
        place_.door.writers().run([self = shared_from_this()]() mutable {
            const auto told = std::make_shared<const FileAnswer>(self->remove_file());
            net::EventLoop& loop = self->place_.loop;
            loop.post([self = std::move(self), told] { self->finish(*told); });
        });
    }

    FileAnswer remove_file() {
        WritePermit::Objection objection;
        WritePermit::Commit commit(permit_);
        const auto check = [&](const files::FileInfo* current) {
            objection = commit.judge(current);
            return !objection;
        };
        const auto removed = place_.door.tree().remove_file(order_.path, check);
        if (removed) return {.status = 204, .content_type = ""};
        return objection ? std::move(*objection) : refuse(removed.error());
    }

    // A lock that the session has asked for itself stays: it may mean to write the file anew.
    void finish(const FileAnswer& answer) {
        net::EventLoop& loop = place_.loop;
        permit_.give_back(false, [&loop, self = shared_from_this(), answer] {
            loop.post([self, answer] { self->exchange_.answer(answer); });
        });
    }

    const HengdangPlace place_;
    const RemoveOrder order_;
    WritePermit permit_;
    Exchange exchange_;
};

}  // namespace

std::unique_ptr<net::BodySink> begin_writing(const HengdangPlace& place, WriteOrder order,
                                             net::HttpReply& reply, net::BodySource& source) {
    const auto writing = std::make_shared<Writing>(place, std::move(order), reply.defer(), source);
    writing->begin();
    return std::make_unique<Sink>(writing);
}

void begin_removing(const HengdangPlace& place, RemoveOrder order, net::HttpReply& reply) {
    std::make_shared<Removing>(place, std::move(order), reply.defer())->begin();
}

}  // namespace holdfast::doors::hengdang

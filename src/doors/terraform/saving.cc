// POST of a state: see state_requests.h.
//
// A thread of the disk works for the request or none does (is_busy_). The body arrives, is whole, or
// is broken. The request is concluded as soon as its answer is certain.
//
//     event                                  what happens
//     ------------------------------------   ----------------------------------------------------
//     the request begins                     a thread checks the lock; the body is not read yet
//     the thread is done, nothing is wrong   the body is read on; the next work, if there is some
//     enough has arrived, no thread works    a thread writes it
//     the body is whole and written          a thread commits
//     the thread returns an answer           concluded: answers; the rest of the body is skipped
//     the body breaks off, or the node       concluded: answers; what the thread returns is ignored
//     does not lead any more
//
// A request that is concluded lets go of the store, also while the rest of its body is skipped.

#include <algorithm>
#include <utility>

#include "base/log/log.h"
#include "doors/terraform/state_requests.h"
#include "files/disk/md5.h"

namespace holdfast::doors::terraform {

namespace {

// A thread of the disk is given this much at a time, if it has arrived: every hand-over costs.
constexpr std::size_t save_batch_bytes = 256 * 1024;
// How much may wait in memory meanwhile.
constexpr std::size_t save_pending_bytes_max = 2 * save_batch_bytes;
// To keep the connection, the server reads and discards this much of a body that it has refused.
constexpr std::uint64_t save_skipped_bytes_max = 256 * 1024;

class Saving final : public OpenUpload, public std::enable_shared_from_this<Saving> {
  public:
    Saving(const TerraformContext& context, SaveRequest request, net::DeferredReply reply,
           net::BodySource& source)
        : context_(context),
          request_(std::move(request)),
          reply_(std::move(reply)),
          source_(source) {}

    void begin() {
        context_.uploads.insert(this);
        run([this] { return prepare(); });
    }

    void break_off() override {
        conclude(refuse(503, "this node does not lead the cluster any more; nothing was changed"));
    }

    // Called by the sink.

    void on_piece(std::string_view piece) {
        received_bytes_ += piece.size();
        if (is_concluded_) return;
        pending_.append(piece);
        work_on();
    }
    void on_body_whole() {
        body_ = Body::whole;
        work_on();
    }
    void on_body_broken(const StateAnswer& answer) {
        body_ = Body::broken;
        conclude(answer);
    }
    [[nodiscard]] bool is_congested() const {
        return !is_concluded_ && (!is_prepared_ || pending_.size() >= save_pending_bytes_max);
    }
    [[nodiscard]] bool is_concluded() const { return is_concluded_; }

  private:
    enum class Body : std::uint8_t { arriving, whole, broken };
    using Step = Objection;  // what a thread of the disk returns; nothing: go on

    // On the loop.

    template <class Work>
    void run(Work work) {
        is_busy_ = true;
        context_.door.disk().run([self = shared_from_this(), work = std::move(work)]() mutable {
            auto step = std::make_shared<Step>(work());
            net::EventLoop& loop = self->context_.loop;
            loop.post([self = std::move(self), step] { self->on_worked(*step); });
        });
    }

    void on_worked(const Step& step) {
        is_busy_ = false;
        if (is_concluded_) return let_go_of_store();
        if (step) return conclude(*step);
        is_prepared_ = true;
        resume_body();
        work_on();
    }

    // Hands the disk its next work, if it is free and there is some.
    void work_on() {
        if (is_busy_ || is_concluded_) return;
        const bool is_whole = body_ == Body::whole;
        if (!is_whole && pending_.size() < save_batch_bytes) return;
        run([this, bytes = std::exchange(pending_, {}), is_whole] {
            Step step = write(bytes);
            return step || !is_whole ? std::move(step) : commit();
        });
        resume_body();
    }

    // The first conclusion counts.
    void conclude(const StateAnswer& answer) {
        if (std::exchange(is_concluded_, true)) return;
        context_.uploads.erase(this);
        pending_ = {};
        resume_body();
        if (!is_busy_) let_go_of_store();
        const std::uint64_t expected = request_.length.value_or(UINT64_MAX);
        if (body_ != Body::whole && expected - received_bytes_ > save_skipped_bytes_max) {
            reply_.close_after();
        }
        send(reply_, answer);
    }

    void resume_body() {
        if (body_ == Body::arriving) source_.resume();
    }

    // Removes the temporary file, if there is one. REQUIRES: no thread is busy with this request.
    void let_go_of_store() {
        context_.door.disk().run([self = shared_from_this()] {
            self->upload_.reset();
            self->store_.reset();
        });
    }

    // On the threads of the disk, one at a time.

    Step prepare() {
        auto store = context_.door.store();
        if (!store) return store.error();
        store_ = std::move(*store);
        if (auto objection = context_.door.locks().check(request_.writer)) {
            return objection;
        }
        auto upload = store_->begin_upload(request_.length.value_or(0));
        if (!upload) return refuse(upload.error());
        upload_.emplace(std::move(*upload));
        return {};
    }

    Step write(std::string_view bytes) {
        if (auto done = upload_->append(bytes); !done) return refuse(done.error());
        if (request_.md5) md5_.update(bytes);
        return {};
    }

    Step commit() {
        if (upload_->size_bytes() == 0) return refuse(400, "the body is empty: a state is JSON");
        if (request_.md5) {
            const auto computed = md5_.finish();
            if (computed && *computed != *request_.md5) {
                return refuse(400, "the body does not have the Content-MD5 that was announced");
            }
        }
        Objection objection;
        files::VersionUpload upload = std::move(*upload_);
        upload_.reset();
        const auto version = store_->commit(request_.writer.name, std::move(upload), [&] {
            objection = context_.door.locks().check(request_.writer);
            return !objection;
        });
        if (objection) return objection;
        if (!version) return refuse(version.error());
        base::log(base::LogLevel::info, "a state was written",
                  {{"state", request_.writer.name},
                   {"version", version->number},
                   {"bytes", version->size_bytes},
                   {"id", request_.writer.id}});
        return tell_written(request_.writer.name, *version);
    }

    const TerraformContext context_;
    const SaveRequest request_;
    // On the loop.
    net::DeferredReply reply_;
    net::BodySource& source_;  // there only while the body arrives
    std::string pending_;      // has arrived and is not being written yet
    std::uint64_t received_bytes_ = 0;
    Body body_ = Body::arriving;
    bool is_busy_ = false;
    bool is_prepared_ = false;
    bool is_concluded_ = false;
    // Used by the thread that works on it while one does, by the loop otherwise.
    TerraformDoor::StorePointer store_;
    std::optional<files::VersionUpload> upload_;
    files::Md5 md5_;
};

// The body of the request: outlived by the Saving, which may still be working when it is whole.
class SaveSink final : public net::BodySink {
  public:
    explicit SaveSink(std::shared_ptr<Saving> saving) : saving_(std::move(saving)) {}
    // Without a call of on_whole() or on_fault() before, the connection is gone.
    ~SaveSink() override {
        if (!has_ended_) saving_->on_body_broken(refuse(400, "the connection was lost"));
    }
    void on_piece(std::string_view piece) override { saving_->on_piece(piece); }
    void on_whole() override {
        has_ended_ = true;
        saving_->on_body_whole();
    }
    void on_fault(const net::HttpFault& fault) override {
        has_ended_ = true;
        saving_->on_body_broken({.status = fault.status, .body = std::string(fault.json)});
    }
    [[nodiscard]] bool is_congested() const override { return saving_->is_congested(); }
    [[nodiscard]] bool is_wanted() const override { return !saving_->is_concluded(); }

  private:
    const std::shared_ptr<Saving> saving_;
    bool has_ended_ = false;
};

}  // namespace

std::unique_ptr<net::BodySink> begin_saving(const TerraformContext& context, SaveRequest request,
                                            net::HttpReply& reply, net::BodySource& source) {
    const auto saving =
        std::make_shared<Saving>(context, std::move(request), reply.defer(), source);
    saving->begin();
    return std::make_unique<SaveSink>(saving);
}

}  // namespace holdfast::doors::terraform

// DELETE of a file: see requests.h.
//
// The steps follow one another, so no state is kept: check the conditions, ask for the lock, remove
// the file, give the lock back, answer.

#include <utility>

#include "doors/hengdang/requests.h"
#include "doors/hengdang/writing/write_permit.h"

namespace holdfast::doors::hengdang {

namespace {

class Removing : public std::enable_shared_from_this<Removing> {
  public:
    Removing(const HengdangContext& context, RemoveRequest request, net::DeferredReply reply)
        : context_(context),
          path_(request.path),
          permit_(context, {.session_name = std::move(request.session_name),
                            .client = std::move(request.client),
                            .by = std::move(request.by),
                            .path = std::move(request.path),
                            .lock_token = request.lock_token,
                            .conditions = std::move(request.conditions)}),
          exchange_(context, FileOperation::remove, std::move(reply)) {}

    void begin() {
        context_.door->writers().run([self = shared_from_this()]() mutable {
            const auto objection =
                std::make_shared<WritePermit::Objection>(self->permit_.look_ahead());
            net::EventLoop& loop = self->context_.loop;
            loop.post([self = std::move(self), objection] { self->on_checked(*objection); });
        });
    }

  private:
    void on_checked(const WritePermit::Objection& objection) {
        if (objection) return exchange_.answer(*objection);
        permit_.ask_for([self = shared_from_this()](const WritePermit::Objection& refused) {
            if (refused) return self->finish(*refused);
            self->remove();
        });
    }

    void remove() {
        context_.door->writers().run([self = shared_from_this()]() mutable {
            const auto answer = std::make_shared<const FileAnswer>(self->remove_file());
            net::EventLoop& loop = self->context_.loop;
            loop.post([self = std::move(self), answer] { self->finish(*answer); });
        });
    }

    FileAnswer remove_file() {
        WritePermit::Objection objection;
        WritePermit::Commit commit(permit_);
        const auto check = [&](const files::FileInfo* current) {
            objection = commit.judge(current);
            return !objection;
        };
        const auto removed = context_.door->tree().remove_file(path_, check);
        if (removed) return {.status = 204, .content_type = ""};
        return objection ? std::move(*objection) : refuse(removed.error());
    }

    // The session keeps a lock that it has asked for itself: it may be about to write the file
    // again.
    void finish(const FileAnswer& answer) {
        net::EventLoop& loop = context_.loop;
        permit_.give_back(false, [&loop, self = shared_from_this(), answer] {
            loop.post([self, answer] { self->exchange_.answer(answer); });
        });
    }

    const HengdangContext context_;
    const files::FilePath path_;
    WritePermit permit_;
    Exchange exchange_;
};

}  // namespace

void begin_removing(const HengdangContext& context, RemoveRequest request, net::HttpReply& reply) {
    std::make_shared<Removing>(context, std::move(request), reply.defer())->begin();
}

}  // namespace holdfast::doors::hengdang

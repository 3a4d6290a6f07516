#pragma once

// The requests of the Terraform door that move states, which may be large. Each function begins one
// on the loop; the answer follows when the disk and the lock have been asked.
//
// Thread safety: on the loop of the context.

#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "doors/terraform/terraform_door.h"
#include "net/http/http_body.h"
#include "net/http/http_reply.h"
#include "net/loop/event_loop.h"

namespace holdfast::doors::terraform {

// An upload that has not concluded.
class OpenUpload {
  public:
    // Answers 503 and lets go of the store.
    virtual void break_off() = 0;

  protected:
    ~OpenUpload() = default;
};

// The surroundings of a request, which outlive it. (The uploads outlive it only as long as the loop
// runs.)
struct TerraformContext {
    TerraformDoor& door;
    net::EventLoop& loop;
    std::set<OpenUpload*>& uploads;  // of the loop
};

// POST: writes a state.
//
// The lock is checked before the body is read, so that a client without it does not send 100 MB in
// vain, and again at the commit. The body goes to a temporary file as it arrives; what waits in memory
// is limited. At the end its MD5 is compared, if the client sent one. Whatever goes wrong, the state
// stays as it was.
struct SaveRequest {
    StateLocks::Request writer;
    std::optional<std::string> md5;       // 16 bytes
    std::optional<std::uint64_t> length;  // of the body, if it is known
};
[[nodiscard]] std::unique_ptr<net::BodySink> begin_saving(const TerraformContext& context,
                                                          SaveRequest request,
                                                          net::HttpReply& reply,
                                                          net::BodySource& source);

// GET: sends a state. No more than two pieces of it are in memory.
struct LoadRequest {
    std::string name;
    std::optional<std::uint64_t> version;  // nothing: the present one
};
void begin_loading(const TerraformContext& context, LoadRequest request, net::HttpReply& reply);

// Everything else: runs `work` on a thread of the disk and answers with its result.
using StateWork = std::function<StateAnswer(TerraformDoor& door, files::VersionStore& store)>;
void begin_work(const TerraformContext& context, StateWork work, net::HttpReply& reply);

}  // namespace holdfast::doors::terraform

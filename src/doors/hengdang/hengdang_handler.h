#pragma once

// HengdangHandler: files over HTTP, with locks on them, on one loop.
//
//     PUT, PATCH, GET, HEAD, DELETE /<file>    POST, GET, DELETE /<directory>/
//     GET /<file>?lock=acquire|release|refresh|status
//     POST, GET, DELETE /auth/session          GET /auth/sessions, DELETE /auth/sessions/<name>
//     GET /events/stream?path=
//
// A request is checked in this order: the path, the session and its permission (admission.h), the
// rest of the request, the conditional headers, the lock. So a client without a session does not learn what exists.
//
// Thread safety: one handler per loop.
// Lifetime: while no request is being handed over. Requests that are under way do not need it. While
// the loop runs, it is destroyed in a turn that was posted after close().

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "doors/hengdang/admission.h"
#include "doors/hengdang/change_streams.h"
#include "doors/hengdang/exchange.h"
#include "net/http/http_protocol.h"

namespace holdfast::doors::hengdang {

class HengdangHandler final : public net::HttpHandler {
  public:
    explicit HengdangHandler(const HengdangContext& context)
        : context_(context), streams_(*context.door, context.loop) {}

    // Ends the streams of changes. After this, changes of the tree are not posted to the loop any
    // more, but some may have been posted before: the handler must outlive them.
    void close() { streams_.close(); }

    void handle(const net::HttpRequest& request, net::HttpReply& reply) override;
    [[nodiscard]] bool wants_body(const net::HttpRequest& head, net::HttpReply& reply) override;
    [[nodiscard]] bool takes_pieces(std::string_view method,
                                    std::string_view /*target*/) const override {
        return method == "PUT" || method == "PATCH";
    }
    [[nodiscard]] std::unique_ptr<net::BodySink> receive(const net::HttpRequest& request,
                                                         net::HttpReply& reply,
                                                         net::BodySource& source) override;

  private:
    void handle_file(const net::HttpRequest& request, const files::FilePath& path,
                     net::HttpReply& reply);
    void look_at_file(const Visitor& visitor, const net::HttpRequest& request,
                      const files::FilePath& path, net::HttpReply& reply);
    struct DirectoryChange {
        FileOperation operation;
        const Visitor& visitor;
        const files::FilePath& path;
    };
    void make_directory(const Visitor& visitor, const files::FilePath& path, net::HttpReply& reply);
    void remove(const Visitor& visitor, const net::HttpRequest& request,
                const files::FilePath& path, net::HttpReply& reply);
    void run_change(const DirectoryChange& change, net::HttpReply& reply,
                    std::function<FileAnswer()> make) const;
    void handle_reserved(const net::HttpRequest& request, const files::FilePath& path,
                         net::HttpReply& reply);
    void watch(const net::HttpRequest& request, net::HttpReply& reply);
    void answer(FileOperation operation, const FileAnswer& answer, net::HttpReply& reply);
    [[nodiscard]] std::shared_ptr<Exchange> defer(FileOperation operation,
                                                  net::HttpReply& reply) const;

    const HengdangContext context_;
    ChangeStreams streams_;
};

}  // namespace holdfast::doors::hengdang

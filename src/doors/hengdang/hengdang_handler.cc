#include "doors/hengdang/hengdang_handler.h"

#include <utility>

#include "base/text/number.h"
#include "doors/hengdang/admission.h"
#include "doors/hengdang/http/request_parts.h"
#include "doors/hengdang/requests.h"
#include "net/client/url.h"

namespace holdfast::doors::hengdang {

namespace {

constexpr std::string_view file_methods = "GET, HEAD, PUT, PATCH, DELETE, POST";
constexpr std::string_view events_path = "/events/stream";

bool is_look(const net::HttpRequest& request) {
    return request.method == "GET" || request.method == "HEAD";
}

// The operation as which a request without a session is counted.
FileOperation operation_of(const net::HttpRequest& request, const files::FilePath& path) {
    const auto wish = read_lock_wish(request.query);
    const bool is_directory = path.ends_in_slash();
    if (!wish || *wish) return FileOperation::lock;
    if (request.method == "POST") return FileOperation::make_directory;
    if (request.method != "DELETE") return FileOperation::get;
    return is_directory ? FileOperation::remove_directory : FileOperation::remove;
}

std::string text_of(const net::HttpRequest& request, std::string_view header) {
    return std::string(request.header(header).value_or(""));
}

// The path of a PUT or PATCH.
Parsed<files::FilePath> read_written_path(const net::HttpRequest& request) {
    TRY(auto path, read_path(request.path));
    if (path.is_reserved()) return tl::unexpected(refuse(files::PathFault::own_folder));
    return path;
}

// Reads the rest of a PUT or PATCH, except for its session.
Parsed<WriteRequest> read_write_request(const net::HttpRequest& request, files::FilePath path) {
    if (path.ends_in_slash()) {
        return tl::unexpected(
            refuse(400, "Invalid path", "A directory is made with POST, not written to"));
    }
    TRY(const auto wish, read_lock_wish(request.query));
    if (wish) return tl::unexpected(refuse_method("GET"));
    TRY(auto conditions, read_conditions(request));
    WriteRequest write{.path = std::move(path), .conditions = std::move(conditions)};
    write.is_asked_first = request.header("Expect").has_value();
    if (const auto length = request.header("Content-Length")) {
        write.length = base::parse_decimal<std::uint64_t>(*length);
    } else if (!request.header("Transfer-Encoding")) {
        write.length = 0;
    }
    write.lock_token = read_lock_token(request);
    const auto content_range = request.header("Content-Range");
    if (request.method == "PATCH") {
        write.region = parse_content_range(content_range.value_or(""));
        if (!write.region) {
            return tl::unexpected(refuse(400, "Invalid Content-Range",
                                         "A PATCH says where its body goes: Content-Range: bytes "
                                         "<first>-<last>/*"));
        }
        if (write.length && *write.length != write.region->size()) {
            return tl::unexpected(refuse(400, "Invalid Content-Range",
                                         "The body is not as long as Content-Range announces"));
        }
    } else if (content_range) {
        // HTTP requires this: otherwise a part would replace the whole file.
        return tl::unexpected(
            refuse(400, "Invalid Content-Range", "A PUT writes the whole file; PATCH a part"));
    }
    return write;
}

// What a listing shows to the client; null: everything.
std::function<bool(const std::string&, bool)> shown_to(const rights::TokenPtr& client) {
    if (!client || client->everywhere(rights::Door::files) >= rights::Right::read) return nullptr;
    return [client](const std::string& path, bool is_directory) {
        const bool is_readable =
            client->may(rights::Right::read, rights::Door::files, core::Scope::path(path));
        return is_readable || (is_directory && client->may_below(rights::Right::read,
                                                                 rights::Door::files, path + '/'));
    };
}

}  // namespace

void HengdangHandler::answer(FileOperation operation, const FileAnswer& answer,
                             net::HttpReply& reply) {
    context_.door->counts().count_answer(operation, answer.status);
    reply.send(answer.status, answer.content_type, answer.body, headers_of(answer));
}

std::shared_ptr<Exchange> HengdangHandler::defer(FileOperation operation,
                                                 net::HttpReply& reply) const {
    return std::make_shared<Exchange>(context_, operation, reply.defer());
}

std::unique_ptr<net::BodySink> HengdangHandler::receive(const net::HttpRequest& request,
                                                        net::HttpReply& reply,
                                                        net::BodySource& source) {
    const auto operation = request.method == "PUT" ? FileOperation::put : FileOperation::patch;
    auto path = read_written_path(request);
    if (!path) {
        answer(operation, path.error(), reply);
        return nullptr;
    }
    const auto visitor = admit(*context_.door, request, Deed::change, &*path);
    if (!visitor) {
        answer(operation, visitor.error(), reply);
        return nullptr;
    }
    auto write = read_write_request(request, std::move(*path));
    if (!write) {
        answer(operation, write.error(), reply);
        return nullptr;
    }
    write->session_name = visitor->session.name;
    write->client = visitor->client;
    write->by = visitor->by;
    return begin_writing(context_, std::move(*write), reply, source);
}

void HengdangHandler::handle(const net::HttpRequest& request, net::HttpReply& reply) {
    const auto path = read_path(request.path);
    if (!path) return answer(FileOperation::other, path.error(), reply);
    if (path->is_reserved()) return handle_reserved(request, *path, reply);
    handle_file(request, *path, reply);
}

// Only a login has a body: a signed event.
bool HengdangHandler::wants_body(const net::HttpRequest& head, net::HttpReply& reply) {
    const auto path = read_path(head.path);
    const bool is_login = head.method == "POST" && path && is_session_path(path->text());
    if (is_login) return reply.pass(), true;
    handle(head, reply);
    return false;
}

void HengdangHandler::handle_reserved(const net::HttpRequest& request, const files::FilePath& path,
                                      net::HttpReply& reply) {
    if (is_session_path(path.text()) && !path.ends_in_slash()) {
        return handle_session_request(context_, path.text(), request, reply);
    }
    if (path.text() == events_path && !path.ends_in_slash()) {
        if (is_look(request)) return watch(request, reply);
        return answer(FileOperation::events, refuse_method("GET, HEAD"), reply);
    }
    answer(FileOperation::other, refuse(404, "Not found", "Nothing is here but the server's own"),
           reply);
}

void HengdangHandler::handle_file(const net::HttpRequest& request, const files::FilePath& path,
                                  net::HttpReply& reply) {
    const bool is_delete = request.method == "DELETE", is_post = request.method == "POST";
    if (!is_look(request) && !is_delete && !is_post) {
        return answer(FileOperation::other, refuse_method(file_methods), reply);
    }
    const auto wish = read_lock_wish(request.query);
    const bool is_lock_change = wish && *wish && (*wish)->action != LockAction::status;
    const Deed deed = is_look(request) && !is_lock_change ? Deed::look : Deed::change;
    const auto visitor = admit(*context_.door, request, deed, &path);
    if (!visitor) return answer(operation_of(request, path), visitor.error(), reply);
    if (!wish) return answer(FileOperation::lock, wish.error(), reply);
    if (*wish && request.method != "GET") {
        return answer(FileOperation::lock, refuse_method("GET"), reply);
    }
    if (*wish) {
        const rights::Need need{rights::Right::read, rights::Door::files,
                                core::Scope::path(path.text())};
        if (const auto denial = rights::deny(visitor->client.get(), need)) {
            return answer(FileOperation::lock, refuse(*denial), reply);
        }
        return run_lock_request(defer(FileOperation::lock, reply),
                                {.wish = **wish,
                                 .path = path,
                                 .session_name = visitor->session.name,
                                 .client = visitor->client,
                                 .by = visitor->by});
    }
    if (is_delete) return remove(*visitor, request, path, reply);
    if (is_post) return make_directory(*visitor, path, reply);
    look_at_file(*visitor, request, path, reply);
}

void HengdangHandler::look_at_file(const Visitor& visitor, const net::HttpRequest& request,
                                   const files::FilePath& path, net::HttpReply& reply) {
    auto list = read_list_options(request.query);
    if (!list) return answer(FileOperation::list, list.error(), reply);
    auto conditions = read_conditions(request);
    if (!conditions) return answer(FileOperation::get, conditions.error(), reply);
    list->is_shown = shown_to(visitor.client);
    begin_reading(context_,
                  {.path = path,
                   .conditions = std::move(*conditions),
                   .range = request.method == "GET" ? text_of(request, "Range") : "",
                   .if_range = text_of(request, "If-Range"),
                   .is_head = request.method == "HEAD",
                   .list = std::move(*list),
                   .client = visitor.client},
                  reply);
}

// Makes a change of a directory, which needs no lock, on a thread of the disk. The session must still be
// live then, and have the right to the path.
void HengdangHandler::run_change(const DirectoryChange& change, net::HttpReply& reply,
                                 std::function<FileAnswer()> make) const {
    HengdangDoor& door = *context_.door;
    answer_from(door.writers(), defer(change.operation, reply),
                [&door, name = change.visitor.session.name, client = change.visitor.client,
                 path = change.path, make = std::move(make)] {
                    const auto begun = door.sessions().begin_change(name, door.wall_now());
                    if (!begun) return refuse(NoSession::unknown);
                    const auto denial = deny_path(client.get(), Deed::change, path);
                    return denial ? refuse(*denial) : make();
                });
}

// Also without a slash at the end of its path: not all clients send it.
void HengdangHandler::make_directory(const Visitor& visitor, const files::FilePath& path,
                                     net::HttpReply& reply) {
    run_change(
        {FileOperation::make_directory, visitor, path}, reply,
        [&door = *context_.door, path, owner = visitor.session.owner] {
            const auto done = door.tree().make_directory(path);
            if (!done) return refuse(done.error());
            return tell_made({.path = path, .owner = owner, .created_ms = door.wall_now_ms()});
        });
}

void HengdangHandler::remove(const Visitor& visitor, const net::HttpRequest& request,
                             const files::FilePath& path, net::HttpReply& reply) {
    if (!path.ends_in_slash()) {
        auto conditions = read_conditions(request);
        if (!conditions) return answer(FileOperation::remove, conditions.error(), reply);
        RemoveRequest removal{.path = path,
                              .conditions = std::move(*conditions),
                              .lock_token = read_lock_token(request),
                              .session_name = visitor.session.name,
                              .client = visitor.client,
                              .by = visitor.by};
        return begin_removing(context_, std::move(removal), reply);
    }
    run_change(
        {FileOperation::remove_directory, visitor, path}, reply, [&door = *context_.door, path] {
            const auto done = door.tree().remove_directory(path);
            return done ? FileAnswer{.status = 204, .content_type = ""} : refuse(done.error());
        });
}

void HengdangHandler::watch(const net::HttpRequest& request, net::HttpReply& reply) {
    const auto visitor = admit(*context_.door, request, Deed::look);
    if (!visitor) return answer(FileOperation::events, visitor.error(), reply);
    const auto wanted = net::query_parameter(request.query, "path");
    if (!wanted) {
        return answer(FileOperation::events, refuse(400, "Invalid query", wanted.error().message),
                      reply);
    }
    auto filter = ChangeFilter::read(wanted->value_or("/"));
    if (!filter) return answer(FileOperation::events, filter.error(), reply);
    context_.door->counts().count_answer(FileOperation::events, 200);
    streams_.open({.filter = std::move(*filter),
                   .session_name = visitor->session.name,
                   .client = visitor->client},
                  reply);
}

}  // namespace holdfast::doors::hengdang

#include "doors/hengdang/http/file_answer.h"

#include <chrono>

#include "base/check.h"
#include "base/json/json_writer.h"
#include "doors/hengdang/http/conditions.h"
#include "net/client/url.h"
#include "rights/denial.h"

namespace holdfast::doors::hengdang {

namespace {

// A browser may keep an answer, but asks each time whether it is still right. Without this header it
// guesses: a file that has not changed for 60 days is shown from the cache for days, also to a page
// that has just acquired its lock, and the next save overwrites what others have written since.
constexpr std::string_view cache_control = "Cache-Control";
constexpr std::string_view ask_each_time = "private, no-cache";

struct Problem {
    int status;
    std::string_view error;
};

Problem problem_of(files::Fault fault) {
    using files::Fault;
    switch (fault) {
        case Fault::not_found: return {404, "Not found"};
        case Fault::is_directory: return {409, "Is a directory"};
        case Fault::not_a_file: return {409, "Not a file"};
        case Fault::parent_is_file: return {409, "Not a directory"};
        case Fault::exists: return {409, "Already exists"};
        case Fault::no_parent: return {400, "No parent directory"};
        case Fault::not_empty: return {409, "Directory not empty"};
        case Fault::too_large: return {413, "File too large"};
        case Fault::over_quota: return {413, "Quota exceeded"};
        case Fault::leaves_hole: return {416, "Range not satisfiable"};
        case Fault::bad_cursor: return {400, "Invalid cursor"};
        case Fault::refused: return {423, "Lock lost"};
        case Fault::disk_full: return {507, "Insufficient storage"};
        case Fault::failed: return {500, "Storage failed"};
    }
    CHECK(false);
}

std::int64_t to_ms(core::Time time, const service::Clock& clock) {
    const auto wall = clock.wall(time).time_since_epoch();
    return std::chrono::floor<std::chrono::milliseconds>(wall).count();
}

FileAnswer answer_with(int status, std::string body) {
    body += '\n';
    return {.status = status, .body = std::move(body)};
}

std::string shown_path_of(const files::ListEntry& entry) {
    return shown_path(entry.path, entry.is_directory ? PathKind::directory : PathKind::file);
}

void append_lock(base::JsonWriter& json, const LockNote& lock) {
    json.field("lockedBy", lock.locked_by).field("lockedAt", lock.locked_at_ms);
    if (lock.expires_at_ms != 0) json.field("expiresAt", lock.expires_at_ms);
}

}  // namespace

std::string shown_path(std::string_view path, PathKind kind) {
    std::string shown = net::percent_encode_readably(path);
    if (kind == PathKind::directory && !shown.ends_with('/')) shown += '/';
    return shown;
}

std::vector<net::HttpHeader> headers_of(const FileAnswer& answer) {
    std::vector<net::HttpHeader> headers;
    headers.reserve(answer.headers.size() + 1);
    bool says_how_to_keep = false;
    for (const auto& [name, value] : answer.headers) {
        headers.push_back({name, value});
        says_how_to_keep = says_how_to_keep || name == cache_control;
    }
    if (!says_how_to_keep) headers.push_back({cache_control, ask_each_time});
    return headers;
}

void send(net::DeferredReply& reply, const FileAnswer& answer) {
    reply.send(answer.status, answer.content_type, answer.body, headers_of(answer));
}

FileAnswer refuse(int status, std::string_view error, std::string_view message) {
    std::string body;
    base::JsonWriter(body)
        .begin_object()
        .field("error", error)
        .field("message", message)
        .end_object();
    FileAnswer answer = answer_with(status, std::move(body));
    if (status == 503) answer.headers.emplace_back("Retry-After", "1");
    return answer;
}

FileAnswer refuse(files::PathFault fault) {
    return refuse(400, "Invalid path", files::to_text(fault));
}

FileAnswer refuse(const files::FileError& error) {
    const Problem problem = problem_of(error.fault);
    return refuse(problem.status, problem.error, error.message);
}

FileAnswer refuse_failed(const service::Response& response) {
    return refuse(503, response.is_busy ? "Store busy" : "Store failed", response.failure);
}

FileAnswer refuse_method(std::string_view allowed) {
    FileAnswer answer = refuse(405, "Method not allowed", "allowed here: " + std::string(allowed));
    answer.headers.emplace_back("Allow", allowed);
    return answer;
}

// NOLINTNEXTLINE(bugprone-easily-swappable-parameters): in the order of the body
FileAnswer refuse_precondition(std::string_view message, std::string_view etag) {
    std::string body;
    base::JsonWriter json(body);
    json.begin_object().field("error", "Precondition Failed").field("message", message);
    if (!etag.empty()) json.field("currentETag", etag);
    json.end_object();
    return answer_with(412, std::move(body));
}

FileAnswer refuse(NoSession why) {
    FileAnswer answer = why == NoSession::none_shown
                            ? refuse(401, "Authentication required",
                                     "No session cookie or authorization header found")
                            : refuse(401, "Invalid session", "Session not found or expired");
    answer.headers.emplace_back("WWW-Authenticate", "Bearer realm=\"holdfast files\"");
    return answer;
}

std::string_view to_json(files::Permission permission) {
    return permission == files::Permission::read ? R"(["read"])" : R"(["read","write"])";
}

FileAnswer refuse_permission(files::Permission permission) {
    std::string body =
        R"({"error":"Insufficient permissions","message":"Required permissions: write",)"
        R"("userPermissions":)";
    return answer_with(403, body.append(to_json(permission)).append("}"));
}

void add_version_headers(FileAnswer& answer, const files::FileInfo& info) {
    answer.headers.emplace_back("ETag", info.etag());
    answer.headers.emplace_back("Last-Modified", to_http_date(modified_at(info)));
    if (info.inode_number != 0) {
        answer.headers.emplace_back("X-Inode", std::to_string(info.inode_number));
    }
}

FileAnswer tell_written(const files::FilePath& path, const files::Committed& committed) {
    std::string body;
    base::JsonWriter(body)
        .begin_object()
        .field("path", shown_path(path.text()))
        .field("size", committed.info.size_bytes)
        .field("contentType", committed.info.content_type)
        .field("hash", committed.info.hash)
        .field("timestamp", committed.info.timestamp_ms)
        .field("created", committed.is_new)
        .end_object();
    FileAnswer answer = answer_with(committed.is_new ? 201 : 200, std::move(body));
    add_version_headers(answer, committed.info);
    answer.headers.emplace_back("Location", net::percent_encode_path(path.text()));
    return answer;
}

FileAnswer tell_made(const MadeDirectory& made) {
    std::string body;
    base::JsonWriter(body)
        .begin_object()
        .field("path", shown_path(made.path.text(), PathKind::directory))
        .field("owner", made.owner)
        .field("created", made.created_ms)
        .end_object();
    FileAnswer answer = answer_with(201, std::move(body));
    answer.headers.emplace_back("Location", net::percent_encode_path(made.path.text()) + "/");
    return answer;
}

FileAnswer tell_listing(const files::Listing& listing, std::string_view owner) {
    std::string body;
    base::JsonWriter json(body);
    json.begin_object().begin_array("entries");
    for (const files::ListEntry& entry : listing.entries) {
        json.begin_object()
            .field("path", shown_path_of(entry))
            .field("type", entry.is_directory ? "directory" : "file");
        if (!entry.is_directory) {
            json.field("size", entry.size_bytes).field("contentType", entry.content_type);
            if (entry.inode_number != 0) json.field("inode", entry.inode_number);
        }
        json.field("lastModified", entry.last_modified_ms);
        if (!owner.empty()) json.field("owner", owner);
        json.end_object();
    }
    json.end_array();
    if (listing.has_more && !listing.entries.empty()) {
        json.field("nextCursor", shown_path_of(listing.entries.back()));
    }
    json.field("hasMore", listing.has_more).end_object();
    return answer_with(200, std::move(body));
}

LockNote note_of(const core::LeaseView& lease, const LockTimes& times,
                 const service::Clock& clock) {
    return {.locked_by = std::string(lease.owner.name),
            .locked_at_ms = to_ms(times.locked_at(lease), clock),
            .expires_at_ms = lease.is_endless() ? 0 : to_ms(lease.grace_until, clock)};
}

FileAnswer refuse_locked(const LockNote& lock) {
    std::string body;
    base::JsonWriter json(body);
    json.begin_object()
        .field("error", "File is locked")
        .field("message", "This file is currently being edited by another session");
    append_lock(json, lock);
    json.end_object();
    return answer_with(423, std::move(body));
}

FileAnswer refuse_lost() {
    return refuse(423, "Lock lost",
                  "The lock on this file was lost before the request was done; nothing was "
                  "changed");
}

FileAnswer refuse_stopping() {
    return refuse(503, "Shutting down", "The server is shutting down; nothing was changed");
}

FileAnswer refuse_lock(const service::Response& response, const LockTimes& times,
                       const service::Clock& clock) {
    if (!response.failure.empty()) return refuse_failed(response);
    switch (response.outcome.refusal) {
        case core::Refusal::held:
        case core::Refusal::in_grace:
            return refuse_locked(note_of(response.outcome.lease, times, clock));
        case core::Refusal::key_length_max:
            return refuse(400, "Invalid path", "The path is too long to be locked");
        case core::Refusal::name_not_utf8:
            return refuse(400, "Invalid path", "The path is not UTF-8");
        case core::Refusal::stopping: return refuse_stopping();
        case core::Refusal::denied:
            return refuse(403, "Insufficient permissions", rights::right_lost);
        default: return refuse(503, "Lock not available", core::to_text(response.outcome.refusal));
    }
}

// NOLINTNEXTLINE(bugprone-easily-swappable-parameters): in the order of the body
FileAnswer tell_lock(std::string_view message, std::string_view path,
                     std::string_view session_name) {
    std::string body;
    base::JsonWriter json(body);
    json.begin_object().field("message", message).field("path", shown_path(path));
    if (!session_name.empty()) json.field("sessionId", session_name);
    json.end_object();
    return answer_with(200, std::move(body));
}

FileAnswer tell_status(const std::optional<LockNote>& lock, bool is_own) {
    std::string body;
    base::JsonWriter json(body);
    json.begin_object().field("locked", lock.has_value());
    if (lock) {
        json.begin_object("lock");
        append_lock(json, *lock);
        json.end_object();
    }
    json.field("ownedByThisSession", is_own).end_object();
    return answer_with(200, std::move(body));
}

FileAnswer refuse_not_owned() {
    return refuse(404, "No lock found or not owned by this session",
                  "This session does not hold the lock of this file: it was not acquired, was "
                  "released, or has expired");
}

}  // namespace holdfast::doors::hengdang

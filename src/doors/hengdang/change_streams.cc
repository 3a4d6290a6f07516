#include "doors/hengdang/change_streams.h"

#include <memory>
#include <utility>

#include "base/json/json_writer.h"

namespace holdfast::doors::hengdang {

namespace {

std::string to_event(const files::Change& change, std::int64_t timestamp_ms) {
    using Kind = files::Change::Kind;
    const bool is_file = change.kind == Kind::file_put || change.kind == Kind::file_deleted;
    const bool is_there = change.kind == Kind::file_put || change.kind == Kind::directory_made;
    const char* const file_operation = is_there ? "PUT" : "DELETE";
    const char* const directory_operation = is_there ? "MKDIR" : "RMDIR";
    std::string text = "data: ";
    base::JsonWriter json(text);
    json.begin_object()
        .field("type", is_file ? "file_change" : "directory_change")
        .field("operation", is_file ? file_operation : directory_operation)
        .field("path", shown_path(change.path, is_file ? PathKind::file : PathKind::directory))
        .field("timestamp", timestamp_ms);
    if (!change.etag.empty()) json.field("etag", change.etag);
    json.end_object();
    return text + "\n\n";
}

}  // namespace

ChangeStreams::ChangeStreams(HengdangDoor& door, net::EventLoop& loop)
    : door_(door), loop_(loop), streams_(loop, [this] { keep_alive(); }) {}

ChangeStreams::~ChangeStreams() {
    door_.changes().remove(this);
}

void ChangeStreams::close() {
    door_.changes().remove(this);
    streams_.visit_all([](auto& /*stream*/) { return false; });
}

void ChangeStreams::open(Watch watch, net::HttpReply& reply) {
    auto* const stream = streams_.open(std::move(watch), reply);
    if (stream == nullptr) return;
    if (streams_.size() == 1) {
        door_.changes().add(this, [this](const files::Change& change) {
            loop_.post([this, change] { tell(change); });
        });
    }
    std::string text = "data: ";
    base::JsonWriter(text)
        .begin_object()
        .field("type", "connected")
        .field("path", stream->reader.filter.text())
        .field("timestamp", door_.wall_now_ms())
        .end_object();
    stream->reply.send(text + "\n\n");
}

bool ChangeStreams::may_hear(const Watch& watch) const {
    const bool is_withdrawn =
        watch.client && !watch.client->may_something(rights::Right::read, rights::Door::files);
    return !is_withdrawn && door_.sessions().is_live(watch.session_name, door_.wall_now());
}

void ChangeStreams::tell(const files::Change& change) {
    const std::string text = to_event(change, door_.wall_now_ms());
    streams_.visit_all([&](auto& stream) {
        if (!stream.reader.filter.includes(change.path)) return true;
        const rights::Token* const client = stream.reader.client.get();
        const core::Scope scope = core::Scope::path(change.path);
        const bool is_hidden =
            client != nullptr && !client->may(rights::Right::read, rights::Door::files, scope);
        if (is_hidden) return true;
        if (!may_hear(stream.reader) || stream.reply.is_congested()) return false;
        stream.reply.send(text);
        return true;
    });
}

void ChangeStreams::keep_alive() {
    streams_.visit_all([this](auto& stream) {
        if (!may_hear(stream.reader) || stream.reply.is_congested()) return false;
        stream.reply.send(streams::keep_alive_text);
        return true;
    });
    if (streams_.is_empty()) door_.changes().remove(this);
}

}  // namespace holdfast::doors::hengdang

#include "doors/hengdang/change_streams.h"

#include <chrono>
#include <memory>
#include <utility>

#include "base/json/json_writer.h"

namespace holdfast::doors::hengdang {

namespace {

std::int64_t now_ms(const HengdangDoor& door) {
    const auto now = door.wall_now().time_since_epoch();
    return std::chrono::floor<std::chrono::milliseconds>(now).count();
}

// Whether `path` is the watched path or lies beneath it.
bool is_within(const std::string& path, const std::string& watched) {
    if (watched == "/" || path == watched) return true;
    return path.size() > watched.size() && path.starts_with(watched) && path[watched.size()] == '/';
}

std::string to_event(const files::Change& change, std::int64_t timestamp_ms) {
    using Kind = files::Change::Kind;
    const bool is_file = change.kind == Kind::file_put || change.kind == Kind::file_deleted;
    const bool is_there = change.kind == Kind::file_put || change.kind == Kind::directory_made;
    const char* const file_type = is_there ? "PUT" : "DELETE";
    const char* const directory_type = is_there ? "MKDIR" : "RMDIR";
    std::string text = is_file ? "event: file_change\ndata: " : "event: directory_change\ndata: ";
    base::JsonWriter json(text);
    json.begin_object().field("type", is_file ? file_type : directory_type);
    json.field("path", change.path);
    if (!change.etag.empty()) json.field("etag", change.etag);
    json.field("timestamp", timestamp_ms).end_object();
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
    std::string text = "event: connected\ndata: ";
    base::JsonWriter(text)
        .begin_object()
        .field("path", stream->reader.path)
        .field("timestamp", now_ms(door_))
        .end_object();
    stream->reply.send(text + "\n\n");
}

bool ChangeStreams::may_hear(const Watch& watch) const {
    return door_.sessions().find(watch.session_id, door_.wall_now()).has_value();
}

void ChangeStreams::tell(const files::Change& change) {
    const std::string text = to_event(change, now_ms(door_));
    streams_.visit_all([&](auto& stream) {
        if (!is_within(change.path, stream.reader.path)) return true;
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

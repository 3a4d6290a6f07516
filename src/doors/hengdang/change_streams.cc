#include "doors/hengdang/change_streams.h"

#include <chrono>
#include <memory>
#include <utility>

#include "base/json/json_writer.h"

namespace holdfast::doors::hengdang {

namespace {

constexpr std::chrono::seconds keep_alive_interval{15};

std::int64_t now_ms(const HengdangDoor& door) {
    const auto now = door.wall_now().time_since_epoch();
    return std::chrono::floor<std::chrono::milliseconds>(now).count();
}

// Whether something at `path` is, or is in, what is watched.
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
    : door_(door), loop_(loop), timer_(loop, [this] { keep_alive(); }) {}

ChangeStreams::~ChangeStreams() {
    door_.changes().remove(this);
}

void ChangeStreams::open(Wish wish, net::HttpReply& reply) {
    const auto place = streams_.insert(streams_.end(), Stream{std::move(wish), {}});
    place->reply = reply.stream(200, "text/event-stream", {{"Cache-Control", "no-store"}},
                                [this, place] { streams_.erase(place); });
    if (!place->reply) {  // a HEAD
        streams_.erase(place);
        return;
    }
    if (streams_.size() == 1) {
        door_.changes().add(this, [this](const files::Change& change) {
            loop_.post([this, change] { tell(change); });
        });
        timer_.call_at(loop_.now() + keep_alive_interval);
    }
    std::string text = "event: connected\ndata: ";
    base::JsonWriter(text)
        .begin_object()
        .field("path", place->wish.path)
        .field("timestamp", now_ms(door_))
        .end_object();
    place->reply.send(text + "\n\n");
}

void ChangeStreams::tell(const files::Change& change) {
    send_to(to_event(change, now_ms(door_)), &change.path);
}

// To all, or to those that watch the path. Ending a reply leaves its abandonment uncalled.
void ChangeStreams::send_to(const std::string& text, const std::string* path) {
    for (auto stream = streams_.begin(); stream != streams_.end();) {
        if (path != nullptr && !is_within(*path, stream->wish.path)) {
            ++stream;
            continue;
        }
        const bool may_hear =
            door_.sessions().find(stream->wish.session_id, door_.wall_now()).has_value();
        if (!may_hear || stream->reply.is_congested()) {
            stream = streams_.erase(stream);
            continue;
        }
        stream->reply.send(text);
        ++stream;
    }
}

void ChangeStreams::keep_alive() {
    send_to(": still here\n\n", nullptr);
    if (streams_.empty()) return door_.changes().remove(this);
    timer_.call_at(loop_.now() + keep_alive_interval);
}

}  // namespace holdfast::doors::hengdang

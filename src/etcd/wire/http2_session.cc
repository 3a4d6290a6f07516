#include "etcd/wire/http2_session.h"

#include <nghttp2/nghttp2.h>

#include <algorithm>
#include <array>
#include <vector>

#include "base/check.h"
#include "base/text/number.h"

namespace holdfast::etcd {

namespace {

// How much etcd may send before it has to wait for us. We read at once what arrives, so this is only
// the way there and back.
constexpr std::int32_t stream_window_bytes = 8 << 20;
constexpr std::int32_t connection_window_bytes = 16 << 20;
// Output is collected up to here before it is sent.
constexpr std::size_t output_bytes_min = std::size_t{256} << 10;
constexpr std::size_t grpc_message_bytes_max = 4096;

// libnghttp2 does not change what it is given, but its types do not say so.
std::uint8_t* as_bytes(std::string_view text) {
    return reinterpret_cast<std::uint8_t*>(const_cast<char*>(text.data()));
}

nghttp2_nv header(std::string_view name, std::string_view value) {
    return {.name = as_bytes(name),
            .value = as_bytes(value),
            .namelen = name.size(),
            .valuelen = value.size(),
            .flags = NGHTTP2_NV_FLAG_NONE};
}

}  // namespace

struct Http2Session::Stream {
    std::shared_ptr<const std::string> frame;
    std::size_t frame_sent = 0;
    bool stays_open = false;
    FrameReader reader;
    StreamEnd end;
    bool is_cancelled = false;
};

// What libnghttp2 calls.
struct Http2Session::Callbacks {
    static Http2Session& self(void* user) { return *static_cast<Http2Session*>(user); }

    static Stream* find(void* user, StreamId id) {
        auto& streams = self(user).streams_;
        const auto found = streams.find(id);
        return found == streams.end() ? nullptr : &found->second;
    }

    static ssize_t read(nghttp2_session*, StreamId, std::uint8_t* buffer, std::size_t size,
                        std::uint32_t* flags, nghttp2_data_source* source, void*) {
        Stream& stream = *static_cast<Stream*>(source->ptr);
        const std::string& frame = *stream.frame;
        const std::size_t count = std::min(size, frame.size() - stream.frame_sent);
        std::copy_n(frame.data() + stream.frame_sent, count, buffer);
        stream.frame_sent += count;
        const bool is_all = stream.frame_sent == frame.size();
        if (is_all && !stream.stays_open) *flags |= NGHTTP2_DATA_FLAG_EOF;
        if (count == 0 && stream.stays_open) return NGHTTP2_ERR_DEFERRED;
        return static_cast<ssize_t>(count);
    }

    static int on_header(nghttp2_session*, const nghttp2_frame* frame, const std::uint8_t* name,
                         std::size_t name_bytes, const std::uint8_t* value, std::size_t value_bytes,
                         std::uint8_t, void* user) {
        Stream* const stream = find(user, frame->hd.stream_id);
        if (!stream) return 0;
        const std::string_view key(reinterpret_cast<const char*>(name), name_bytes);
        const std::string_view text(reinterpret_cast<const char*>(value), value_bytes);
        const auto number = [&](int otherwise) {
            const auto parsed = base::parse_decimal<std::uint16_t>(text);
            return parsed ? int{*parsed} : otherwise;
        };
        constexpr int no_known_code = 2;
        if (key == ":status") stream->end.http_status = number(0);
        if (key == "grpc-status") stream->end.code = number(no_known_code);
        if (key == "grpc-message") stream->end.message = text.substr(0, grpc_message_bytes_max);
        return 0;
    }

    static int on_data(nghttp2_session* session, std::uint8_t, StreamId id,
                       const std::uint8_t* data, std::size_t size, void* user) {
        Stream* const stream = find(user, id);
        if (!stream || stream->is_cancelled || stream->end.is_too_large) return 0;
        // The body of an answer that is not gRPC says nothing to us.
        if (stream->end.http_status != 200) return 0;
        if (!stream->reader.add({reinterpret_cast<const char*>(data), size})) {
            stream->end.is_too_large = stream->reader.is_too_large();
            return nghttp2_submit_rst_stream(session, NGHTTP2_FLAG_NONE, id,
                                             NGHTTP2_PROTOCOL_ERROR);
        }
        while (auto message = stream->reader.take()) {
            self(user).listener_.on_message(id, std::move(*message));
        }
        return 0;
    }

    static int on_frame(nghttp2_session*, const nghttp2_frame* frame, void* user) {
        if (frame->hd.type == NGHTTP2_SETTINGS) self(user).is_greeted_ = true;
        if (frame->hd.type == NGHTTP2_GOAWAY) self(user).is_leaving_ = true;
        return 0;
    }

    static int on_close(nghttp2_session*, StreamId id, std::uint32_t error, void* user) {
        const auto node = self(user).streams_.extract(id);
        if (node.empty() || node.mapped().is_cancelled) return 0;
        StreamEnd end = std::move(node.mapped().end);
        end.http2_error = error;
        // Without the whole of the answer, the code of its trailers is worth nothing. (NO_ERROR is
        // also sent by a server that has answered before it has read the whole request.)
        if (end.code == code_ok && (error != 0 || !node.mapped().reader.is_empty())) end.code = -1;
        self(user).listener_.on_end(id, std::move(end));
        return 0;
    }

    // A request that could not be sent any more, because the peer is leaving.
    static int on_not_sent(nghttp2_session* session, const nghttp2_frame* frame, int, void* user) {
        if (frame->hd.type != NGHTTP2_HEADERS) return 0;
        return on_close(session, frame->hd.stream_id, NGHTTP2_REFUSED_STREAM, user);
    }

    static nghttp2_session* make_session(Http2Session& self) {
        nghttp2_session_callbacks* callbacks = nullptr;
        CHECK(nghttp2_session_callbacks_new(&callbacks) == 0);
        nghttp2_session_callbacks_set_on_header_callback(callbacks, on_header);
        nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, on_data);
        nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, on_frame);
        nghttp2_session_callbacks_set_on_frame_not_send_callback(callbacks, on_not_sent);
        nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, on_close);
        nghttp2_session* session = nullptr;
        CHECK(nghttp2_session_client_new(&session, callbacks, &self) == 0);
        nghttp2_session_callbacks_del(callbacks);
        return session;
    }
};

Http2Session::Http2Session(std::string authority, bool is_tls, Http2Listener& listener)
    : authority_(std::move(authority)),
      is_tls_(is_tls),
      listener_(listener),
      session_(Callbacks::make_session(*this), nghttp2_session_del) {
    const std::array settings{
        nghttp2_settings_entry{NGHTTP2_SETTINGS_ENABLE_PUSH, 0},
        nghttp2_settings_entry{NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, stream_window_bytes},
    };
    CHECK(nghttp2_submit_settings(session_.get(), NGHTTP2_FLAG_NONE, settings.data(),
                                  settings.size()) == 0);
    CHECK(nghttp2_session_set_local_window_size(session_.get(), NGHTTP2_FLAG_NONE, 0,
                                                connection_window_bytes) == 0);
}

Http2Session::~Http2Session() = default;

bool Http2Session::receive(std::string_view bytes) {
    const ssize_t used = nghttp2_session_mem_recv(session_.get(), as_bytes(bytes), bytes.size());
    return used == static_cast<ssize_t>(bytes.size());
}

std::string_view Http2Session::output() {
    if (output_sent_ == output_.size()) {
        output_.clear();
        output_sent_ = 0;
    }
    while (output_.size() - output_sent_ < output_bytes_min) {
        const std::uint8_t* data = nullptr;
        const ssize_t count = nghttp2_session_mem_send(session_.get(), &data);
        if (count <= 0) break;
        output_.append(reinterpret_cast<const char*>(data), static_cast<std::size_t>(count));
    }
    return std::string_view(output_).substr(output_sent_);
}

bool Http2Session::is_over() const {
    return nghttp2_session_want_read(session_.get()) == 0 &&
           nghttp2_session_want_write(session_.get()) == 0;
}

void Http2Session::sent(std::size_t count) {
    output_sent_ += count;
    CHECK(output_sent_ <= output_.size());
}

std::optional<StreamId> Http2Session::request(const Http2Request& request) {
    std::vector headers{
        header(":method", "POST"),
        header(":scheme", is_tls_ ? "https" : "http"),
        header(":path", request.path),
        header(":authority", authority_),
        header("content-type", "application/grpc"),
        header("te", "trailers"),
        header("user-agent", "holdfast"),
    };
    if (request.needs_leader) headers.push_back(header("hasleader", "true"));
    if (!request.token.empty()) headers.push_back(header("token", request.token));
    // The id is known before the request is submitted, and the record has to have a place.
    const auto next = static_cast<StreamId>(nghttp2_session_get_next_stream_id(session_.get()));
    if (next <= 0) return std::nullopt;
    Stream& stream = streams_[next];
    stream.frame = request.frame;
    stream.stays_open = request.stays_open;
    nghttp2_data_provider body{};
    body.source.ptr = &stream;
    body.read_callback = Callbacks::read;
    const StreamId id = nghttp2_submit_request(session_.get(), nullptr, headers.data(),
                                               headers.size(), &body, nullptr);
    if (id == next) return id;
    streams_.erase(next);
    return std::nullopt;
}

void Http2Session::cancel(StreamId id) {
    const auto found = streams_.find(id);
    if (found == streams_.end()) return;
    found->second.is_cancelled = true;
    (void)nghttp2_submit_rst_stream(session_.get(), NGHTTP2_FLAG_NONE, id, NGHTTP2_CANCEL);
}

void Http2Session::ping() {
    (void)nghttp2_submit_ping(session_.get(), NGHTTP2_FLAG_NONE, nullptr);
}

}  // namespace holdfast::etcd

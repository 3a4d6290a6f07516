#pragma once

// TestHttp2Server: the server's side of HTTP/2 without a socket, which answers what a test wants; for
// tests.

#include <nghttp2/nghttp2.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/check.h"

namespace holdfast::etcd {

class TestHttp2Server {
  public:
    struct Request {
        std::map<std::string, std::string> headers;
        std::string body;
        bool is_ended = false;
        bool is_reset = false;
    };
    using Headers = std::vector<std::pair<std::string, std::string>>;

    std::map<std::int32_t, Request> requests;

    TestHttp2Server() {
        nghttp2_session_callbacks* callbacks = nullptr;
        CHECK(nghttp2_session_callbacks_new(&callbacks) == 0);
        nghttp2_session_callbacks_set_on_header_callback(callbacks, on_header);
        nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, on_data);
        nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, on_frame);
        CHECK(nghttp2_session_server_new(&session_, callbacks, this) == 0);
        nghttp2_session_callbacks_del(callbacks);
        CHECK(nghttp2_submit_settings(session_, NGHTTP2_FLAG_NONE, nullptr, 0) == 0);
    }
    ~TestHttp2Server() { nghttp2_session_del(session_); }
    TestHttp2Server(const TestHttp2Server&) = delete;
    TestHttp2Server& operator=(const TestHttp2Server&) = delete;

    void receive(const std::string& bytes) {
        const auto* const data = reinterpret_cast<const std::uint8_t*>(bytes.data());
        CHECK(nghttp2_session_mem_recv(session_, data, bytes.size()) ==
              static_cast<ssize_t>(bytes.size()));
    }

    [[nodiscard]] std::string take_output() {
        std::string output;
        const std::uint8_t* data = nullptr;
        for (ssize_t count; (count = nghttp2_session_mem_send(session_, &data)) > 0;) {
            output.append(reinterpret_cast<const char*>(data), static_cast<std::size_t>(count));
        }
        return output;
    }

    // The whole answer: status 200, a body, trailers.
    void answer(std::int32_t stream, std::string body, Headers trailers) {
        Reply& reply = replies_[stream];
        reply = {.session = session_, .body = std::move(body), .trailers = std::move(trailers)};
        nghttp2_data_provider provider{};
        provider.source.ptr = &reply;
        provider.read_callback = read;
        const Headers head{{":status", "200"}, {"content-type", "application/grpc"}};
        const auto headers = to_native(head);
        CHECK(nghttp2_submit_response(session_, stream, headers.data(), headers.size(),
                                      &provider) == 0);
    }

    // Says that no stream behind `last` is looked at.
    void leave(std::int32_t last) {
        CHECK(nghttp2_submit_goaway(session_, NGHTTP2_FLAG_NONE, last, 0, nullptr, 0) == 0);
    }

  private:
    struct Reply {
        nghttp2_session* session = nullptr;
        std::string body;
        Headers trailers;
        std::size_t sent = 0;
    };

    static std::vector<nghttp2_nv> to_native(const Headers& headers) {
        std::vector<nghttp2_nv> native;
        for (const auto& [name, value] : headers) {
            native.push_back({reinterpret_cast<std::uint8_t*>(const_cast<char*>(name.data())),
                              reinterpret_cast<std::uint8_t*>(const_cast<char*>(value.data())),
                              name.size(), value.size(), NGHTTP2_NV_FLAG_NONE});
        }
        return native;
    }

    static ssize_t read(nghttp2_session*, std::int32_t stream, std::uint8_t* buffer,
                        std::size_t size, std::uint32_t* flags, nghttp2_data_source* source,
                        void*) {
        Reply& reply = *static_cast<Reply*>(source->ptr);
        const std::size_t count = std::min(size, reply.body.size() - reply.sent);
        std::copy_n(reply.body.data() + reply.sent, count, buffer);
        reply.sent += count;
        if (reply.sent < reply.body.size()) return static_cast<ssize_t>(count);
        *flags |= NGHTTP2_DATA_FLAG_EOF | NGHTTP2_DATA_FLAG_NO_END_STREAM;
        const auto trailers = to_native(reply.trailers);
        CHECK(nghttp2_submit_trailer(reply.session, stream, trailers.data(), trailers.size()) == 0);
        return static_cast<ssize_t>(count);
    }

    static int on_header(nghttp2_session*, const nghttp2_frame* frame, const std::uint8_t* name,
                         std::size_t name_bytes, const std::uint8_t* value, std::size_t value_bytes,
                         std::uint8_t, void* user) {
        Request& request = static_cast<TestHttp2Server*>(user)->requests[frame->hd.stream_id];
        request.headers[std::string(reinterpret_cast<const char*>(name), name_bytes)] =
            std::string(reinterpret_cast<const char*>(value), value_bytes);
        return 0;
    }

    static int on_data(nghttp2_session*, std::uint8_t, std::int32_t stream,
                       const std::uint8_t* data, std::size_t size, void* user) {
        static_cast<TestHttp2Server*>(user)->requests[stream].body.append(
            reinterpret_cast<const char*>(data), size);
        return 0;
    }

    static int on_frame(nghttp2_session*, const nghttp2_frame* frame, void* user) {
        if (frame->hd.stream_id == 0) return 0;
        Request& request = static_cast<TestHttp2Server*>(user)->requests[frame->hd.stream_id];
        if ((frame->hd.flags & NGHTTP2_FLAG_END_STREAM) != 0 &&
            frame->hd.type != NGHTTP2_RST_STREAM) {
            request.is_ended = true;
        }
        if (frame->hd.type == NGHTTP2_RST_STREAM) request.is_reset = true;
        return 0;
    }

    nghttp2_session* session_ = nullptr;
    std::map<std::int32_t, Reply> replies_;
};

}  // namespace holdfast::etcd

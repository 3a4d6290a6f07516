// etcd_fuzzer: any bytes as what a member of etcd has sent.
//
// The first byte of an input says what the rest is: an answer of one kind, frames of gRPC in pieces,
// or a whole connection. Whatever the bytes are, answers stay within their limits, frames in pieces
// give the same messages as frames in one, and every request on a connection ends at most once and
// hears nothing after its end.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/check.h"
#include "etcd/wire/grpc.h"
#include "etcd/wire/http2_session.h"
#include "etcd/wire/wire.h"

namespace holdfast::etcd {
namespace {

void decode_all(std::string_view bytes) {
    if (const auto range = decode_range(bytes)) CHECK(range->found.size() <= entries_max);
    if (const auto answer = decode_transaction(bytes)) {
        CHECK(answer->ranges.size() <= ranges_max);
        std::size_t entries = 0;
        for (const RangeAnswer& one : answer->ranges) entries += one.found.size();
        CHECK(entries <= entries_max);
    }
    if (const auto watch = decode_watch(bytes)) CHECK(watch->events.size() <= entries_max);
    if (const auto status = decode_status(bytes)) CHECK(status->version.size() <= bytes.size());
    if (const auto token = decode_authenticate(bytes)) CHECK(token->size() <= bytes.size());
    (void)decode_lease(bytes);
    (void)decode_revocation(bytes);
    (void)decode_compaction(bytes);
}

std::vector<std::string> read_frames(std::string_view bytes, std::size_t piece) {
    FrameReader reader;
    std::vector<std::string> messages;
    while (!bytes.empty()) {
        const std::size_t size = std::min(piece, bytes.size());
        const bool is_good = reader.add(bytes.substr(0, size));
        while (auto message = reader.take()) messages.push_back(std::move(*message));
        if (!is_good) break;
        bytes.remove_prefix(size);
    }
    return messages;
}

class Listener final : public Http2Listener {
  public:
    void on_message(StreamId stream, std::string) override { CHECK(!ended_.contains(stream)); }
    void on_end(StreamId stream, StreamEnd end) override {
        CHECK(ended_.insert(stream).second);
        if (end.code != code_ok) CHECK(!explain(end, "m").message.empty());
        (void)wants_new_token(end);
    }

  private:
    std::set<StreamId> ended_;
};

// `piece` is how many bytes arrive at a time.
void run_connection(std::string_view bytes, std::size_t piece) {
    Listener listener;
    Http2Session session("h:2379", false, listener);
    const auto frame = std::make_shared<const std::string>(to_frame("question"));
    (void)session.request({.path = paths::range, .frame = frame});
    (void)session.request({.path = paths::watch, .stays_open = true, .frame = frame});
    const auto cancelled = session.request({.path = paths::status, .frame = frame});
    session.sent(session.output().size());
    if (cancelled) session.cancel(*cancelled);
    while (!bytes.empty() && !session.is_over()) {
        const std::size_t size = std::min(piece, bytes.size());
        if (!session.receive(bytes.substr(0, size))) break;
        bytes.remove_prefix(size);
        session.sent(session.output().size());
    }
}

void run(std::string_view input) {
    if (input.empty()) return;
    const auto kind = static_cast<unsigned char>(input.front());
    input.remove_prefix(1);
    const std::size_t piece = kind / 4 + 1;
    switch (kind % 4) {
        case 0: return decode_all(input);
        case 1: {
            // In one piece, bytes that are refused may come before others in pieces are looked at.
            const auto whole = read_frames(input, input.size() + 1);
            const auto pieces = read_frames(input, piece);
            const std::size_t common = std::min(whole.size(), pieces.size());
            CHECK(std::equal(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(common),
                             pieces.begin()));
            return;
        }
        default: return run_connection(input, piece);
    }
}

}  // namespace
}  // namespace holdfast::etcd

// The name is libFuzzer's. NOLINTNEXTLINE(readability-identifier-naming)
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    holdfast::etcd::run({reinterpret_cast<const char*>(data), size});
    return 0;
}

#include "wire/handover_speech.h"

#include <fmt/format.h>

#include <string_view>

namespace holdfast::bench {

namespace {

std::string post(std::string_view action, std::string_view body) {
    return fmt::format(
        "POST /v1/locks/hot-key/{} HTTP/1.1\r\nHost: localhost\r\nContent-Length: {}\r\n\r\n{}",
        action, body.size(), body);
}

// What stands between two texts; empty if they are not there.
std::string_view between(std::string_view text, std::string_view begin, std::string_view end) {
    const auto from = text.find(begin);
    if (from == text.npos) return {};
    const auto rest = text.substr(from + begin.size());
    return rest.substr(0, rest.find(end));
}

}  // namespace

HandoverSpeech dflockd_handover() {
    return {.door = "dflockd",
            .ask = "l\nhot-key\n60\n",
            .idle_question = "ping\n_\n\n",
            .released = "ok",
            .framer = line_answer,
            .release = [](const std::string& grant) {
                return fmt::format("r\nhot-key\n{}\n", between(grant, "ok ", " "));
            }};
}

HandoverSpeech lockserver_handover() {
    return {.door = "http",
            .ask = post("acquire", R"({"owner_id":"w1","ttl_ms":30000,"wait_ms":60000})"),
            .idle_question = "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n",
            .released = "\"released\":true",
            .framer = http_answer,
            .release = [](const std::string& grant) {
                return post("release",
                            fmt::format(R"({{"owner_id":"w1","lease_id":"{}","fencing_token":{}}})",
                                        between(grant, "\"lease_id\":\"", "\""),
                                        between(grant, "\"fencing_token\":", ",")));
            }};
}

}  // namespace holdfast::bench

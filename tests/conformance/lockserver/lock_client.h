#pragma once

// LockClient: a LockServer client that is as careful about time as a client can be.
//
// It cannot know when the server granted or renewed; only that it was not before the request was
// sent. So a lease surely lasts until then plus its TTL, and surely not before the answer came.

#include <charconv>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "../test_host.h"

namespace holdfast::conformance {

using TimePoint = std::chrono::steady_clock::time_point;

inline TimePoint now() {
    return std::chrono::steady_clock::now();
}

struct HeldLease {
    std::string lease_id;
    std::uint64_t token = 0;
    TimePoint received;
    TimePoint valid_until;
};

class LockClient {
  public:
    LockClient(const net::Endpoint& server, std::string owner)
        : client_(server), owner_(std::move(owner)) {}

    std::optional<HeldLease> acquire(std::chrono::milliseconds ttl,
                                     std::chrono::milliseconds wait) {
        const TimePoint sent = now();
        const net::TestResponse response =
            ask("acquire", R"({"owner_id":")" + owner_ + R"(","ttl_ms":)" +
                               std::to_string(ttl.count()) + R"(,"wait_ms":)" +
                               std::to_string(wait.count()) + "}");
        if (response.status != 200) {
            EXPECT_EQ(response.status, 409) << response.body;
            return std::nullopt;
        }
        HeldLease lease{.received = now(), .valid_until = sent + ttl};
        const auto id = response.body.find("\"lease_id\":\"") + 12;
        lease.lease_id = response.body.substr(id, 36);
        const auto token = response.body.find("\"fencing_token\":") + 16;
        std::from_chars(response.body.data() + token, response.body.data() + response.body.size(),
                        lease.token);
        EXPECT_GT(lease.token, 0U) << response.body;
        return lease;
    }

    bool renew(HeldLease& lease, std::chrono::milliseconds extend_by) {
        const TimePoint sent = now();
        const net::TestResponse response =
            ask("renew",
                proof(lease) + R"(,"extend_by_ms":)" + std::to_string(extend_by.count()) + "}");
        const bool is_renewed = response.status == 200;
        EXPECT_EQ(response.body.starts_with(R"({"renewed":true)"), is_renewed) << response.body;
        if (is_renewed) lease.valid_until = std::max(lease.valid_until, sent + extend_by);
        return is_renewed;
    }

    bool release(const HeldLease& lease) {
        const net::TestResponse response = ask("release", proof(lease) + "}");
        EXPECT_EQ(response.status, 200) << response.body;
        return response.body == "{\"released\":true}\n";
    }

  private:
    net::TestResponse ask(const std::string& action, const std::string& body) {
        client_.send(http("POST /v1/locks/hotlock/" + action, body));
        return client_.response();
    }
    [[nodiscard]] std::string proof(const HeldLease& lease) const {
        return R"({"owner_id":")" + owner_ + R"(","lease_id":")" + lease.lease_id +
               R"(","fencing_token":)" + std::to_string(lease.token);
    }

    net::TestClient client_;
    const std::string owner_;
};

}  // namespace holdfast::conformance

#include "doors/terraform/lock_info.h"

#include "base/json/json_value.h"
#include "base/json/json_writer.h"
#include "base/text/rfc3339.h"
#include "service/doors.h"

namespace holdfast::doors::terraform {

base::Result<LockInfo> read_lock_info(std::string_view body) {
    const auto json = base::JsonValue::parse_request(body);
    if (!json) return base::fail("the lock cannot be read: " + json.error().message);
    if (!json->is_object()) return base::fail("the lock is no JSON object");
    const std::string_view id = (*json)["ID"].text();
    if (id.empty()) return base::fail("the lock has no \"ID\", or one that is no text");
    return LockInfo{.id = std::string(id), .json = json->to_json()};
}

std::string describe_holder(const core::LeaseView& lease, const service::Clock& clock) {
    if (lease.owner.door == service::terraform_door && !lease.notes.metadata.empty()) {
        return std::string(lease.notes.metadata);
    }
    std::string created;
    base::append_rfc3339_seconds(created, clock.wall(lease.acquired_at));
    // Without a fencing number nobody holds the lock, and this is a client that waits for it.
    const bool is_held = core::as_number(lease.token.fence) != 0;
    std::string info = (is_held ? "held at the " : "awaited at the ") +
                       std::string(service::to_text(lease.owner.door)) + " door";
    if (!lease.notes.metadata.empty()) info.append(": ").append(lease.notes.metadata);
    std::string json;
    base::JsonWriter(json)
        .begin_object()
        .field("ID", "fence-" + std::to_string(core::as_number(lease.token.fence)))
        .field("Operation", "")
        .field("Info", info)
        .field("Who", lease.owner.name)
        .field("Version", "")
        .field("Created", created)
        .field("Path", lease.scope.name)
        .end_object();
    return json;
}

}  // namespace holdfast::doors::terraform

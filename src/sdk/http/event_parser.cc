#include "sdk/http/event_parser.h"

#include <algorithm>
#include <utility>

#include "base/json/json_value.h"
#include "base/text/number.h"

namespace holdfast::sdk {

namespace {

LockEvent read_event(std::string_view id, std::string kind, std::string data) {
    const auto body = base::JsonValue::parse(data).value_or(base::JsonValue());
    const bool is_fence = !body["resource"].is_null();
    const std::chrono::milliseconds at{body["at_ms"].number().value_or(0)};
    return {.id = base::parse_decimal<std::uint64_t>(id),
            .kind = std::move(kind),
            .lock_name = std::string(body[is_fence ? "resource" : "lock_name"].text()),
            .lock_kind = std::string(body["kind"].text()),
            .owner = std::string(body["owner_id"].text()),
            .fencing_token = body["fencing_token"].natural().value_or(0),
            .metadata = std::string(body["metadata"].text()),
            .at = std::chrono::system_clock::time_point{at},
            .data = std::move(data)};
}

}  // namespace

bool EventParser::parse(std::string_view bytes,
                        const std::function<void(const LockEvent&)>& on_event) {
    while (!bytes.empty()) {
        const auto end = bytes.find('\n');
        line_.append(bytes.substr(0, end));
        if (line_.size() + data_.size() > block_bytes_max) return false;
        if (end == std::string_view::npos) return true;
        bytes.remove_prefix(end + 1);
        if (line_.ends_with('\r')) line_.pop_back();
        const std::string line = std::exchange(line_, {});
        take_line(line, on_event);
    }
    return true;
}

void EventParser::take_line(std::string_view line,
                            const std::function<void(const LockEvent&)>& on_event) {
    if (line.empty()) {
        const std::string id = std::exchange(id_, {});
        std::string kind = std::exchange(kind_, {});
        std::string data = std::exchange(data_, {});
        if (!data.empty()) on_event(read_event(id, std::move(kind), std::move(data)));
        return;
    }
    const auto colon = std::min(line.find(':'), line.size());
    const auto name = line.substr(0, colon);
    auto value = line.substr(std::min(colon + 1, line.size()));
    if (value.starts_with(' ')) value.remove_prefix(1);
    if (name == "id") {
        id_ = value;
    } else if (name == "event") {
        kind_ = value;
    } else if (name == "data") {
        if (!data_.empty()) data_ += '\n';
        data_ += value;
    }
}

}  // namespace holdfast::sdk

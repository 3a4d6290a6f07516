#include "sdk/http/events.h"

#include <algorithm>
#include <utility>

#include "base/text/number.h"
#include "holdfast/boot_clock.h"
#include "net/client/url.h"

namespace holdfast::sdk {

namespace {

// After a stream that lasted for longer than this, patience begins anew.
constexpr std::chrono::seconds lasting{5};

LockEvent read_event(std::string_view id, std::string kind, std::string data) {
    const auto body = base::JsonValue::parse(data).value_or(base::JsonValue());
    const bool is_fence = !body["resource"].is_null(), is_act = !body["what"].is_null();
    const std::chrono::milliseconds at{body["at_ms"].number().value_or(0)};
    return {.id = base::parse_decimal<std::uint64_t>(id),
            .kind = std::move(kind),
            .lock_name = std::string(body[is_fence ? "resource"
                                          : is_act ? "what"
                                                   : "lock_name"]
                                         .text()),
            .lock_kind = std::string(body["kind"].text()),
            .holder = std::string(body["owner_id"].text()),
            .fencing_token = body["fencing_token"].natural().value_or(0),
            .metadata = std::string(body["metadata"].text()),
            .at = std::chrono::system_clock::time_point{at},
            .data = std::move(data)};
}

NoAnswer broken(const char* message) {
    return {.error = ServerUnavailable{.message = message}};
}

// Follows one stream to its end. `after` is the id of the last event.
Answered<void> follow_stream(Exchange& exchange, const EventReader& reader,
                             std::optional<std::uint64_t>& after) {
    EventParser parser;
    bool is_good = true;
    Exchange::Stream request{.target = reader.target, .stop = reader.stop};
    if (!reader.prefix.empty()) request.target += "?prefix=" + net::percent_encode(reader.prefix);
    request.headers = {{"Accept", "text/event-stream"}};
    if (after) request.headers.emplace_back("Last-Event-ID", std::to_string(*after));
    request.on_open = [&] { is_good = reader.on_open(); };
    request.on_bytes = [&](std::string_view bytes) {
        const bool is_understood = parser.parse(bytes, [&](const LockEvent& event) {
            if (!is_good || reader.stop.stop_requested()) return;
            if (event.id && !reader.begins_anew) after = event.id;
            is_good = reader.on_event(event);
        });
        is_good = is_good && is_understood;
        return is_good && !reader.stop.stop_requested();
    };
    auto done = exchange.stream(request);
    if (done && !is_good) return tl::unexpected(broken("the events could not be followed"));
    return done;
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
        add_line(line, on_event);
    }
    return true;
}

void EventParser::add_line(std::string_view line,
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

Answered<void> follow_events(Exchange& exchange, const EventReader& reader) {
    std::optional<std::uint64_t> after = reader.after;
    while (!reader.stop.stop_requested()) {
        const auto ended = follow_stream(exchange, reader, after);
        if (reader.stop.stop_requested()) break;
        NoAnswer failure = ended ? broken("the server ended the events") : ended.error();
        const bool is_tried_again = reader.on_break(failure);
        if (!is_tried_again && !reader.stop.stop_requested()) {
            return tl::unexpected(std::move(failure));
        }
    }
    return {};
}

LockResult<void> follow_patiently(Exchange& exchange, EventReader reader) {
    Patience patience(exchange.options().retry_for);
    auto begin = BootClock::now();
    reader.on_open = [&, on_open = std::move(reader.on_open)] {
        if (!on_open()) return false;
        patience.extend();
        return true;
    };
    reader.on_break = [&, on_break = std::move(reader.on_break)](const NoAnswer& failure) {
        if (on_break && !on_break(failure)) return false;
        if (BootClock::now() - begin > lasting) patience.reset();
        const bool is_tried_again = !failure.is_final && patience.pause(reader.stop);
        begin = BootClock::now();
        return is_tried_again;
    };
    auto followed = follow_events(exchange, reader);
    if (!followed) return std::move(followed).error().error;
    return {};
}

LockResult<void> watch(Exchange& exchange, const WatchOptions& options,
                       const std::function<void(const LockEvent&)>& on_event,
                       const std::stop_token& stop) {
    const auto open = [&] {
        if (options.on_open) options.on_open();
        return true;
    };
    const auto pass_on = [&](const LockEvent& event) {
        on_event(event);
        return true;
    };
    return follow_patiently(exchange, {.prefix = options.prefix,
                                       .after = options.after,
                                       .on_open = open,
                                       .on_event = pass_on,
                                       .on_break = {},
                                       .stop = stop});
}

}  // namespace holdfast::sdk

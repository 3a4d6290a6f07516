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

NoAnswer broken(const char* message) {
    return {.error = ServerUnavailable{.message = message}};
}

// Follows one stream to its end. `after` is the id of the last event.
Answered<void> follow_stream(Exchange& exchange, const EventReader& reader,
                             std::optional<std::uint64_t>& after) {
    EventParser parser;
    bool is_good = true;
    Exchange::Stream request{.target = "/v1/events", .stop = reader.stop};
    if (!reader.prefix.empty()) request.target += "?prefix=" + net::percent_encode(reader.prefix);
    request.headers = {{"Accept", "text/event-stream"}};
    if (after) request.headers.emplace_back("Last-Event-ID", std::to_string(*after));
    request.on_open = [&] { is_good = reader.on_open(); };
    request.on_bytes = [&](std::string_view bytes) {
        const bool is_understood = parser.parse(bytes, [&](const LockEvent& event) {
            if (!is_good || reader.stop.stop_requested()) return;
            if (event.id) after = event.id;
            is_good = reader.on_event(event);
        });
        is_good = is_good && is_understood;
        return is_good && !reader.stop.stop_requested();
    };
    auto done = exchange.stream(request);
    if (done && !is_good) return tl::unexpected(broken("the events could not be followed"));
    return done;
}

// Follows the events until they cannot be had for as long as the client tries.
LockResult<void> follow_patiently(Exchange& exchange, EventReader reader) {
    Patience patience(exchange.options().retry_for);
    auto begin = BootClock::now();
    reader.on_open = [&, on_open = std::move(reader.on_open)] {
        if (!on_open()) return false;
        patience.extend();
        return true;
    };
    reader.on_break = [&](const NoAnswer& failure) {
        if (BootClock::now() - begin > lasting) patience.reset();
        const bool is_tried_again = !failure.is_final && patience.pause(reader.stop);
        begin = BootClock::now();
        return is_tried_again;
    };
    auto followed = follow_events(exchange, reader);
    if (!followed) return std::move(followed).error().error;
    return {};
}

// Knows the leader of an election, from the server's view of the lock and from its events. An event
// may be older than the view; fencing numbers show which is newer.
class LeaderView {
  public:
    using OnChange = std::function<void(const std::optional<Leader>&)>;

    explicit LeaderView(const OnChange& on_change) : on_change_(on_change) {}

    void set(std::optional<Leader> leader) {
        if (leader) highest_ = std::max(highest_, leader->fencing_token);
        if (is_known_ && leader == leader_) return;
        is_known_ = true;
        leader_ = std::move(leader);
        on_change_(leader_);
    }

    void apply(const LockEvent& event) {
        if (event.kind == "granted" && event.fencing_token > highest_) {
            set(Leader{.candidate = event.owner,
                       .value = event.metadata,
                       .fencing_token = event.fencing_token});
        }
        const bool is_end = event.kind == "released" || event.kind == "expired";
        if (is_end && leader_ && leader_->fencing_token == event.fencing_token) {
            set(std::nullopt);
        }
    }

  private:
    const OnChange& on_change_;
    bool is_known_ = false;
    std::optional<Leader> leader_;
    std::uint64_t highest_ = 0;
};

// Sets the leader to the one that the server shows. False if there is no answer.
bool look(Exchange& exchange, const std::string& election, LeaderView& view,
          const std::stop_token& stop) {
    const ClientOptions& options = exchange.options();
    const auto answer =
        exchange.ask({.method = "GET",
                      .target = "/v1/locks/" + net::percent_encode(election) + "?kind=named",
                      .timeout = options.timeout,
                      .stop = stop},
                     Patience(options.retry_for));
    if (!answer || answer->status != 200) return false;
    const base::JsonValue& lock = answer->json;
    if (!lock["held"].is_true()) {
        view.set(std::nullopt);
    } else {
        view.set(Leader{.candidate = std::string(lock["owner_id"].text()),
                        .value = std::string(lock["metadata"].text()),
                        .fencing_token = lock["fencing_token"].natural().value_or(0)});
    }
    return true;
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

LockResult<void> observe(Exchange& exchange, std::string_view election,
                         const std::function<void(const std::optional<Leader>&)>& on_change,
                         const std::stop_token& stop) {
    const std::string name(election);
    LeaderView view(on_change);
    const auto look_again = [&] { return look(exchange, name, view, stop); };
    const auto follow_event = [&](const LockEvent& event) {
        if (event.kind == "gap") return look_again();
        if (event.lock_name == name && event.lock_kind == "named") view.apply(event);
        return true;
    };
    return follow_patiently(exchange, {.prefix = name,
                                       .after = {},
                                       .on_open = look_again,
                                       .on_event = follow_event,
                                       .on_break = {},
                                       .stop = stop});
}

}  // namespace holdfast::sdk

#include "sdk/http/watching.h"

#include <algorithm>
#include <string>
#include <utility>

#include "holdfast/boot_clock.h"
#include "net/client/url.h"
#include "sdk/http/event_parser.h"

namespace holdfast::sdk {

namespace {

// A stream that went on for so long was no accident.
constexpr std::chrono::seconds lasting{5};

// Where events go. False: this stream is of no use, try another.
struct Stream {
    std::function<bool()> on_open;
    std::function<bool(const LockEvent&)> on_event;
};

NoAnswer broken(const char* message) {
    return {.error = ServerUnavailable{.message = message}};
}

// Follows one stream to its end, and remembers the last event.
Answered<void> follow(Exchange& exchange, const std::string& prefix,
                      std::optional<std::uint64_t>& after, const Stream& stream,
                      const std::stop_token& stop) {
    EventParser parser;
    bool is_good = true;
    Exchange::Stream request{.target = "/v1/events", .stop = stop};
    if (!prefix.empty()) request.target += "?prefix=" + net::percent_encode(prefix);
    request.headers = {{"Accept", "text/event-stream"}};
    if (after) request.headers.emplace_back("Last-Event-ID", std::to_string(*after));
    request.on_head = [&] { is_good = stream.on_open(); };
    request.on_bytes = [&](std::string_view bytes) {
        const bool is_sense = parser.parse(bytes, [&](const LockEvent& event) {
            if (!is_good || stop.stop_requested()) return;
            if (event.id) after = event.id;
            is_good = stream.on_event(event);
        });
        is_good = is_good && is_sense;
        return is_good && !stop.stop_requested();
    };
    auto done = exchange.stream(request);
    if (done && !is_good) return tl::unexpected(broken("the events could not be followed"));
    return done;
}

// One stream after the other.
LockResult<void> follow_all(Exchange& exchange, const WatchOptions& options, const Stream& stream,
                            const std::stop_token& stop) {
    std::optional<std::uint64_t> after = options.after;
    Patience patience(exchange.options().retry_for);
    Stream patient = stream;
    patient.on_open = [&] {
        if (!stream.on_open()) return false;
        patience.extend();
        return true;
    };
    while (!stop.stop_requested()) {
        const auto begin = BootClock::now();
        const auto ended = follow(exchange, options.prefix, after, patient, stop);
        if (stop.stop_requested()) break;
        if (BootClock::now() - begin > lasting) patience.reset();
        const NoAnswer failure = ended ? broken("the server ended the events") : ended.error();
        if (failure.is_final) return failure.error;
        if (!patience.pause(stop) && !stop.stop_requested()) return failure.error;
    }
    return {};
}

// Knows who leads, from what the server shows and from what it tells. Fencing tokens put the two in
// order: what is told may be older than what was shown.
class LeaderView {
  public:
    using OnChange = std::function<void(const std::optional<Leader>&)>;

    explicit LeaderView(const OnChange& on_change) : on_change_(on_change) {}

    void show(std::optional<Leader> leader) {
        if (leader) highest_ = std::max(highest_, leader->fencing_token);
        if (is_known_ && leader == leader_) return;
        is_known_ = true;
        leader_ = std::move(leader);
        on_change_(leader_);
    }

    void tell(const LockEvent& event) {
        if (event.kind == "granted" && event.fencing_token > highest_) {
            show(Leader{.candidate = event.owner,
                        .value = event.metadata,
                        .fencing_token = event.fencing_token});
        }
        const bool is_end = event.kind == "released" || event.kind == "expired";
        if (is_end && leader_ && leader_->fencing_token == event.fencing_token) {
            show(std::nullopt);
        }
    }

  private:
    const OnChange& on_change_;
    bool is_known_ = false;
    std::optional<Leader> leader_;
    std::uint64_t highest_ = 0;
};

// False if the server does not say.
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
    const base::JsonValue& lock = answer->body;
    if (!lock["held"].is_true()) {
        view.show(std::nullopt);
    } else {
        view.show(Leader{.candidate = std::string(lock["owner_id"].text()),
                         .value = std::string(lock["metadata"].text()),
                         .fencing_token = lock["fencing_token"].natural().value_or(0)});
    }
    return true;
}

}  // namespace

LockResult<void> watch(Exchange& exchange, const WatchOptions& options,
                       const std::function<void(const LockEvent&)>& on_event,
                       const std::stop_token& stop) {
    return follow_all(exchange, options,
                      {.on_open =
                           [&] {
                               if (options.on_open) options.on_open();
                               return true;
                           },
                       .on_event =
                           [&](const LockEvent& event) {
                               on_event(event);
                               return true;
                           }},
                      stop);
}

LockResult<void> observe(Exchange& exchange, std::string_view election,
                         const std::function<void(const std::optional<Leader>&)>& on_change,
                         const std::stop_token& stop) {
    const std::string name(election);
    LeaderView view(on_change);
    const auto look_again = [&] { return look(exchange, name, view, stop); };
    const auto follow_event = [&](const LockEvent& event) {
        if (event.kind == "gap") return look_again();
        if (event.lock_name == name && event.lock_kind == "named") view.tell(event);
        return true;
    };
    return follow_all(exchange, {.prefix = name}, {.on_open = look_again, .on_event = follow_event},
                      stop);
}

}  // namespace holdfast::sdk

#pragma once

// Streams of events of a server, read over as many connections as it takes.

#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>

#include "holdfast/lock_event.h"
#include "sdk/http/exchange.h"

namespace holdfast::sdk {

// EventParser: reads server-sent events from pieces of any size.
class EventParser {
  public:
    // No event of a Holdfast server is as long as this.
    static constexpr std::size_t block_bytes_max = std::size_t{1024} * 1024;

    // Calls `on_event` with each complete event. False if an event is too long.
    [[nodiscard]] bool parse(std::string_view bytes,
                             const std::function<void(const LockEvent&)>& on_event);

  private:
    void add_line(std::string_view line, const std::function<void(const LockEvent&)>& on_event);

    std::string line_;  // not ended yet
    std::string id_, kind_, data_;
};

// Receives events.
struct EventReader {
    std::string target = "/v1/events";
    std::string prefix = {};                  // of the locks' names
    std::optional<std::uint64_t> after = {};  // the id of the last event that is known already
    bool begins_anew = false;                 // every stream begins with all there is to know
    // A stream was opened, or an event arrived. Returns false to try another stream.
    std::function<bool()> on_open;
    std::function<bool(const LockEvent&)> on_event;
    // A stream ended, or none could be opened. Returns true to try again; it may sleep first.
    std::function<bool(const NoAnswer&)> on_break;
    std::stop_token stop;
};

// Calls the reader with every event. A new stream goes on after the last event of the one before,
// unless it begins anew.
// Returns when the reader is stopped. Fails when on_break returned false.
[[nodiscard]] Answered<void> follow_events(Exchange& exchange, const EventReader& reader);

// The same, until no stream can be had for as long as the client tries. on_break may be absent; its
// false ends everything at once.
[[nodiscard]] LockResult<void> follow_patiently(Exchange& exchange, EventReader reader);

// As Client::watch() says.
LockResult<void> watch(Exchange& exchange, const WatchOptions& options,
                       const std::function<void(const LockEvent&)>& on_event,
                       const std::stop_token& stop);

}  // namespace holdfast::sdk

#pragma once

// EventParser: reads server-sent events, however they are cut.

#include <functional>
#include <string>
#include <string_view>

#include "holdfast/lock_event.h"

namespace holdfast::sdk {

class EventParser {
  public:
    // No event is as long; the server that sends one is not ours.
    static constexpr std::size_t block_bytes_max = std::size_t{1024} * 1024;

    // Calls `on_event` with each event that is complete. False when the bytes make no sense.
    [[nodiscard]] bool parse(std::string_view bytes,
                             const std::function<void(const LockEvent&)>& on_event);

  private:
    void take_line(std::string_view line, const std::function<void(const LockEvent&)>& on_event);

    std::string line_;  // not ended yet
    std::string id_, kind_, data_;
};

}  // namespace holdfast::sdk

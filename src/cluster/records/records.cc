#include "cluster/records/records.h"

#include <fmt/format.h>

#include <chrono>

#include "base/json/json_value.h"
#include "base/json/json_writer.h"
#include "base/text/number.h"
#include "base/text/rfc3339.h"
#include "core/values/ids.h"

namespace holdfast::cluster {

namespace {

std::string to_text(service::WallTime time) {
    std::string text;
    base::append_rfc3339_milliseconds(text, time);
    return text;
}

// A time that cannot be read is shown as 1970: nothing depends on it.
service::WallTime parse_time(std::string_view text) {
    const auto time = base::parse_rfc3339(text);
    return time ? service::WallTime{*time} : service::WallTime{};
}

}  // namespace

std::string to_text(const Leader& leader) {
    std::string text;
    base::JsonWriter(text)
        .begin_object()
        .field("node", leader.name)
        .field("peer", leader.peer)
        .field("epoch", leader.epoch)
        .field("since", to_text(leader.since))
        .end_object();
    return text;
}

base::Result<Leader> parse_leader(std::string_view text) {
    TRY(const base::JsonValue value, base::JsonValue::parse(text));
    Leader leader{.name = std::string(value["node"].text()),
                  .peer = std::string(value["peer"].text()),
                  .epoch = value["epoch"].natural().value_or(0),
                  .since = parse_time(value["since"].text())};
    if (leader.name.empty()) return base::fail("the key of the leader names no node");
    return leader;
}

std::string to_text(const Node& node) {
    std::string text;
    base::JsonWriter(text)
        .begin_object()
        .field("name", node.name)
        .field("peer", node.peer)
        .field("version", node.version)
        .field("started", to_text(node.started))
        .end_object();
    return text;
}

base::Result<Node> parse_node(std::string_view text) {
    TRY(const base::JsonValue value, base::JsonValue::parse(text));
    Node node{.name = std::string(value["name"].text()),
              .peer = std::string(value["peer"].text()),
              .version = std::string(value["version"].text()),
              .started = parse_time(value["started"].text())};
    if (node.name.empty()) return base::fail("the key of a node has no name in it");
    return node;
}

std::string to_text(const Counter& counter) {
    return fmt::format("{} {}", counter.number, counter.fence);
}

base::Result<Counter> parse_counter(std::string_view text) {
    const std::size_t space = text.find(' ');
    if (space != std::string_view::npos) {
        const auto number = base::parse_decimal<std::uint64_t>(text.substr(0, space));
        const auto fence = base::parse_decimal<std::uint64_t>(text.substr(space + 1));
        if (number && fence && *fence <= core::as_number(core::fence_max)) {
            const Counter counter{.number = *number, .fence = *fence};
            // Transactions compare the text.
            if (to_text(counter) == text) return counter;
        }
    }
    return base::fail(fmt::format("the counter of commits in etcd is damaged: '{}'", text));
}

base::Result<std::uint64_t> parse_epoch(std::string_view text) {
    if (const auto epoch = base::parse_decimal<std::uint64_t>(text)) return *epoch;
    return base::fail(fmt::format("the epoch in etcd is damaged: '{}'", text));
}

}  // namespace holdfast::cluster

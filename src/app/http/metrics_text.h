#pragma once

// The page that Prometheus reads.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "doors/hengdang/file_figures.h"
#include "net/loop/server.h"
#include "service/events/figures.h"
#include "service/store.h"

namespace holdfast::app {

// The connections of one listener.
struct ListenerFigures {
    std::string_view name;  // `http`
    net::Endpoint endpoint;
    net::ServerCounts counts;
};

// What the server has counted, from all its parts.
struct Figures {
    const service::ServiceFigures& service;
    service::StoreFigures store;
    std::vector<ListenerFigures> listeners;
    std::string_view version;
    std::optional<doors::hengdang::FileFigures> files = {};  // with the door for files
};

// The figures in Prometheus' text format. LockServer's seven metrics have its names, our own begin
// with holdfast_.
[[nodiscard]] std::string metrics_text(const Figures& figures);

}  // namespace holdfast::app

#pragma once

// The page that Prometheus reads.

#include <string>
#include <string_view>

#include "net/server.h"
#include "service/figures.h"
#include "service/store.h"

namespace holdfast::app {

// What the server has counted, from all its parts.
struct Figures {
    const service::ServiceFigures& service;
    service::StoreFigures store;
    net::ServerCounts http;
    std::string_view version;
};

// The figures in Prometheus' text format. LockServer's seven metrics have its names, our own begin
// with holdfast_.
[[nodiscard]] std::string metrics_text(const Figures& figures);

}  // namespace holdfast::app

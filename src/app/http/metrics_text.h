#pragma once

// `GET /metrics`: the page that Prometheus reads.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "app/http/process_figures.h"
#include "cluster/view.h"
#include "doors/hengdang/file_figures.h"
#include "net/http/request_counts.h"
#include "net/loop/server.h"
#include "net/tls/tls_context.h"
#include "rights/token_table.h"
#include "service/events/figures.h"
#include "service/store.h"

namespace holdfast::app {

// The connections of one listener.
struct ListenerFigures {
    std::string_view name;  // `http`
    net::Endpoint endpoint;
    net::ServerCounts counts;
};

// The HTTP requests of one listener.
struct ListenerRequests {
    std::string_view listener;  // `http`
    std::vector<net::RequestFigures> routes;
};

// A certificate that this server shows.
struct CertificateFigures {
    std::string_view shown_to;  // `clients`
    double days_left = 0;       // less than 0: it has ended
};
// Adds the certificate that the context shows, if it shows one.
void add_certificate(std::vector<CertificateFigures>& all, std::string_view shown_to,
                     const ssl_ctx_st& context);

// Everything that the server counts, from all its parts.
struct Figures {
    const service::ServiceFigures& service;
    service::StoreFigures store;
    std::vector<ListenerFigures> listeners;
    std::string_view version;
    std::optional<doors::hengdang::FileFigures> files = {};  // if there is a file door
    std::shared_ptr<const cluster::Picture> cluster = {};    // if there is a cluster
    std::string why_not_passed_on = {};                      // to the leader; empty: they are
    std::uint64_t relayed = 0;                               // connections passed on at present
    std::shared_ptr<const rights::TokenTable> tokens = {};   // null: nobody is denied anything
    std::vector<ListenerRequests> requests = {};
    std::optional<ProcessFigures> process = {};
    std::vector<CertificateFigures> certificates = {};
};

// The figures in Prometheus' text format. The seven metrics of LockServer have the names that they
// have there; those of HTTP requests and of the process the names that they have in most programs. The
// names of ours begin with holdfast_.
[[nodiscard]] std::string metrics_text(const Figures& figures);

}  // namespace holdfast::app

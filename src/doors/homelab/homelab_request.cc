#include "doors/homelab/homelab_request.h"

#include <array>
#include <span>
#include <utility>

#include "base/text/duration.h"
#include "net/syntax/query_parameters.h"

namespace holdfast::doors::homelab {

namespace {

// Go accepts zero and negative durations; a lease must last longer than zero.
base::Result<std::chrono::microseconds> parse_ttl(std::string_view text) {
    const auto duration = base::parse_duration(text);
    if (!duration || *duration <= std::chrono::nanoseconds::zero()) {
        return base::fail("invalid ttl format");
    }
    return std::chrono::ceil<std::chrono::microseconds>(*duration);
}

// How many of the parameters `job`, `client` and `ttl` the action uses.
std::size_t parameter_count(Action action) {
    switch (action) {
        case Action::status: return 1;
        case Action::release: return 2;
        case Action::acquire: break;
    }
    return 3;
}

base::Result<void> read_parameters(std::string_view query, HomelabRequest& request) {
    std::array parameters = {net::QueryParameter("job"), net::QueryParameter("client"),
                             net::QueryParameter("ttl")};
    net::find_parameters(query, std::span(parameters).first(parameter_count(request.action)));
    std::string memory;
    TRY(const auto job, parameters[0].decode(memory));
    request.job = job.empty() ? default_job : job;
    if (request.action == Action::status) return {};
    TRY(const auto client, parameters[1].decode(memory));
    if (client.empty()) return base::fail("client parameter required");
    request.client = client;
    if (request.action == Action::release) return {};
    TRY(const auto ttl, parameters[2].decode(memory));
    if (ttl.empty()) return {};
    TRY(request.ttl, parse_ttl(ttl));
    return {};
}

}  // namespace

std::string job_of(std::string_view query) {
    const auto request = parse_request(Action::status, query);
    return request ? request->job : std::string(default_job);
}

base::Result<HomelabRequest> parse_request(Action action, std::string_view query) {
    base::Result<HomelabRequest> request(HomelabRequest{.action = action});
    auto done = read_parameters(query, *request);
    if (!done) request = tl::unexpected(std::move(done).error());
    return request;
}

}  // namespace holdfast::doors::homelab

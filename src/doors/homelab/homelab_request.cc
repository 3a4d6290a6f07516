#include "doors/homelab/homelab_request.h"

#include <utility>

#include "base/text/duration.h"
#include "net/client/url.h"

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

}  // namespace

std::string job_of(std::string_view query) {
    const auto request = parse_request(Action::status, query);
    return request ? request->job : std::string(default_job);
}

base::Result<HomelabRequest> parse_request(Action action, std::string_view query) {
    HomelabRequest request{.action = action};
    TRY(auto job, net::query_parameter(query, "job"));
    request.job = job && !job->empty() ? std::move(*job) : std::string(default_job);
    if (action == Action::status) return request;
    TRY(auto client, net::query_parameter(query, "client"));
    if (!client || client->empty()) return base::fail("client parameter required");
    request.client = std::move(*client);
    if (action == Action::release) return request;
    TRY(const auto ttl, net::query_parameter(query, "ttl"));
    if (ttl && !ttl->empty()) {
        TRY(request.ttl, parse_ttl(*ttl));
    }
    return request;
}

}  // namespace holdfast::doors::homelab

#pragma once

// TerraformHandler: Terraform's `http` backend, `/v1/terraform/{name}`, on one loop.
//
//     LOCK, UNLOCK /v1/terraform/{name}        or POST, DELETE /v1/terraform/{name}/lock
//     GET, POST, DELETE /v1/terraform/{name}   the state; GET with ?version= an earlier one
//     GET /v1/terraform/{name}/versions        the versions that are kept
//     POST /v1/terraform/{name}/rollback?version=
//     GET /v1/terraform                        all states
//
// A request that changes a state shows the ID of the lock as `?ID=`. state_locks.h says who may do
// what.
//
// Thread safety: one handler per loop.

#include <memory>
#include <set>
#include <span>
#include <string>

#include "base/result.h"
#include "doors/terraform/state_requests.h"
#include "net/http/routes.h"

namespace holdfast::doors::terraform {

class TerraformHandler final : public net::RouteHandler {
  public:
    // Both outlive the handler and its connections.
    TerraformHandler(TerraformDoor& door, net::EventLoop& loop)
        : context_{.door = door, .loop = loop, .uploads = uploads_} {}
    TerraformHandler(const TerraformHandler&) = delete;
    TerraformHandler& operator=(const TerraformHandler&) = delete;

    // Breaks off the uploads that are under way, so that the next leader of a cluster can have the
    // store.
    void break_off();

    [[nodiscard]] static std::span<const net::Route> routes();

    void handle(const net::RoutedRequest& request, net::HttpReply& reply) override;
    [[nodiscard]] std::unique_ptr<net::BodySink> receive(const net::RoutedRequest& request,
                                                         net::HttpReply& reply,
                                                         net::BodySource& source) override;
    void refuse(const net::HttpRequest& request, const net::RouteRefusal& refusal,
                net::HttpReply& reply) override;

  private:
    void lock(const net::RoutedRequest& request, const std::string& name, net::HttpReply& reply);
    void unlock(const net::RoutedRequest& request, const std::string& name, net::HttpReply& reply);

    std::set<OpenUpload*> uploads_;
    const TerraformContext context_;
};

}  // namespace holdfast::doors::terraform

#pragma once

// What administrators do to others, and to the server: for the log and for observers, as an audit.
//
// An act is told once it is done. What it did to leases is told besides, by the events of those.

#include <cstdint>
#include <string_view>

#include "core/values/ids.h"

namespace holdfast::service {

enum class AdminAction : std::uint8_t {
    force_release,  // of a lock, whoever held it
    end_session,    // of somebody else
    resign,         // the node that leads hands over
    new_epoch,      // for an etcd that was restored from a backup
    roll_back,      // a state of Terraform is an earlier version again
};
inline constexpr AdminAction last_admin_action = AdminAction::roll_back;

[[nodiscard]] constexpr std::string_view to_text(AdminAction action) {
    switch (action) {
        case AdminAction::force_release: return "force_release";
        case AdminAction::end_session: return "end_session";
        case AdminAction::resign: return "resign";
        case AdminAction::new_epoch: return "new_epoch";
        case AdminAction::roll_back: return "roll_back";
    }
    return "";
}

// The texts are good during the call that tells of it.
struct AdminAct {
    core::Time at;
    AdminAction action{};
    std::string_view what;  // the text of a scope, the id of a session, a sentence of the cluster
    std::string_view by;    // who has asked for it (port.h)
};

}  // namespace holdfast::service

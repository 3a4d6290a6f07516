#pragma once

// The JSON with which Terraform describes a lock, in the request and in the refusal of others:
//
//     {"ID":"6c1d...","Operation":"OperationTypeApply","Info":"","Who":"ann@box","Version":"1.11.4",
//      "Created":"2026-01-15T10:30:00Z","Path":""}

#include <string>
#include <string_view>

#include "base/result.h"
#include "core/values/request.h"
#include "service/ports/clock.h"

namespace holdfast::doors::terraform {

struct LockInfo {
    std::string id;    // names the holder
    std::string json;  // all of it, on one line
};

// Reads the body of a LOCK or UNLOCK. Fails with a sentence if it is no JSON object with an `ID`, or if
// it has a field twice: it is shown to others as it came, and they might read the other one.
[[nodiscard]] base::Result<LockInfo> read_lock_info(std::string_view body);

// The JSON of a lease: what its holder has sent, or, if the lease is of another door, a description
// in the same form. Terraform needs an `ID` that is not empty.
[[nodiscard]] std::string describe_holder(const core::LeaseView& lease,
                                          const service::Clock& clock);

}  // namespace holdfast::doors::terraform

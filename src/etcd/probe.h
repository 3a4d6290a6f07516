#pragma once

// Probe: looks, before anything is built on it, whether there is a real etcd that is new enough.
//
// Other programs speak a part of etcd's API (kine is one). They know the few transactions of
// Kubernetes, and would fail at the first commit. So the probe tries a nested transaction under the
// prefix, which removes a key that does not exist, and therefore changes nothing. It also works when
// etcd's database is full.

#include <functional>
#include <string>
#include <vector>

#include "etcd/api.h"

namespace holdfast::etcd {

// For people; empty if everything is as it should be.
using Warnings = std::vector<std::string>;

// Asks the current member, and then calls `done` once. A failure as `rejected` is final: this is no
// etcd, or one that is too old. The Api outlives the probe, or drops its calls.
void probe(Api& api, const std::string& prefix, Api::Duration timeout, OnAnswer<Warnings> done);

// What there is to say about a version such as "3.4.23".
[[nodiscard]] Answer<Warnings> judge_version(const std::string& version);

}  // namespace holdfast::etcd

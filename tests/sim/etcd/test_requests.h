#pragma once

// Short ways to write the requests that tests of the simulated etcd send.

#include <string>
#include <utility>

#include "etcd/wire/messages.h"

namespace holdfast::sim {

inline etcd::Compare is_absent(std::string key) {
    return {.target = etcd::Compare::Target::create_revision, .key = std::move(key)};
}

inline etcd::Transaction put(std::string key, std::string value, etcd::LeaseId lease = 0) {
    return {.then = {etcd::Operation::put(std::move(key), std::move(value), lease)}};
}

}  // namespace holdfast::sim

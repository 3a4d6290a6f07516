#include "cluster/records/keys.h"

#include <fmt/format.h>

namespace holdfast::cluster {

namespace {

// FNV-1a. Written to etcd as a part of keys, so it stays as it is.
int bucket_of(std::string_view text) {
    std::uint64_t hash = 14695981039346656037U;
    for (const char c : text) {
        hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211U;
    }
    return static_cast<int>((hash ^ (hash >> 32U)) % Keys::buckets);
}

}  // namespace

Keys::Keys(std::string_view prefix) : prefix_(prefix) {
    if (!prefix_.ends_with('/')) prefix_ += '/';
}

std::string Keys::node(std::string_view name) const {
    return nodes().append(name);
}

std::string Keys::lease(std::uint64_t fence) const {
    return leases(static_cast<int>(fence % buckets)) + fmt::format("{:016x}", fence);
}

std::string Keys::fence(std::string_view resource) const {
    return fences(bucket_of(resource)).append(resource);
}

std::string Keys::login(std::string_view id) const {
    return logins(bucket_of(id)).append(id);
}

std::string Keys::history(std::uint64_t first) const {
    return histories() + fmt::format("{:016x}", first);
}

std::string Keys::leases(int bucket) const {
    return this->bucket("lease", bucket);
}
std::string Keys::fences(int bucket) const {
    return this->bucket("fence", bucket);
}
std::string Keys::logins(int bucket) const {
    return this->bucket("login", bucket);
}

std::string Keys::bucket(std::string_view kind, int bucket) const {
    return fmt::format("{}{}/{:02x}/", prefix_, kind, bucket);
}

}  // namespace holdfast::cluster

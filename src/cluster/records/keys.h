#pragma once

// Keys: where a cluster has what in etcd. Everything is below one prefix, so that several clusters
// can share an etcd.
//
//     format            the version of this layout: "1"
//     secret            what nodes prove to each other that they belong to the cluster
//     leader            who leads, bound to the lease of that node
//     epoch             how many leaders there have been
//     nothing           never there: removing it is how a transaction changes nothing
//     counter           the number of the last commit, and the largest fencing number given out
//     node/NAME         a node that is up, bound to its lease
//     lease/XX/FENCE    a lease, by its fencing number in 16 hexadecimal digits; XX its last two
//     fence/XX/RESOURCE the largest number that an outside resource has seen; XX from its hash
//     login/XX/ID       a login at the file door
//     history/NUMBER    holds that have ended, by the number of the first in 16 hexadecimal digits
//
// XX divides what may be many into 256 ranges. Reading them one after the other is many times faster
// than reading one large range in pages, because etcd counts a range to its end for every page.

#include <cstdint>
#include <string>
#include <string_view>

namespace holdfast::cluster {

class Keys {
  public:
    static constexpr int buckets = 256;

    // `prefix` may end with a slash or not.
    explicit Keys(std::string_view prefix);

    [[nodiscard]] const std::string& prefix() const { return prefix_; }
    [[nodiscard]] std::string format() const { return prefix_ + "format"; }
    [[nodiscard]] std::string secret() const { return prefix_ + "secret"; }
    [[nodiscard]] std::string leader() const { return prefix_ + "leader"; }
    [[nodiscard]] std::string epoch() const { return prefix_ + "epoch"; }
    [[nodiscard]] std::string counter() const { return prefix_ + "counter"; }
    [[nodiscard]] std::string nothing() const { return prefix_ + "nothing"; }
    [[nodiscard]] std::string nodes() const { return prefix_ + "node/"; }
    [[nodiscard]] std::string node(std::string_view name) const;
    [[nodiscard]] std::string lease(std::uint64_t fence) const;
    [[nodiscard]] std::string fence(std::string_view resource) const;
    [[nodiscard]] std::string login(std::string_view id) const;
    [[nodiscard]] std::string histories() const { return prefix_ + "history/"; }
    [[nodiscard]] std::string history(std::uint64_t first) const;

    // The beginning of the keys of a bucket. REQUIRES: 0 <= bucket < buckets.
    [[nodiscard]] std::string leases(int bucket) const;
    [[nodiscard]] std::string fences(int bucket) const;
    [[nodiscard]] std::string logins(int bucket) const;

  private:
    [[nodiscard]] std::string bucket(std::string_view kind, int bucket) const;

    std::string prefix_;
};

}  // namespace holdfast::cluster

#include "model/universe.h"

#include <chrono>
#include <string>

namespace holdfast::model {

using namespace core;
using std::chrono::milliseconds;

namespace {

const std::vector<Owner>& three_owners() {
    // The same name at two doors is two owners.
    static const std::vector<Owner> owners{{Door{0}, "ann"}, {Door{0}, "bob"}, {Door{1}, "ann"}};
    return owners;
}

TableOptions usual_options() {
    TableOptions options;
    options.limits.ttl_max = milliseconds{100};
    options.limits.key_length_max = 12;
    options.limits.owner_length_max = 8;
    options.limits.request_id_length_max = options.limits.metadata_length_max = 12;
    options.limits.value_length_max = options.limits.waiter_length_max = 12;
    options.limits.set_members_max = 4;
    options.limits.permits_max = 4;
    options.few_holders_max = 2;  // so that locks are often crowded
    return options;
}

std::vector<Scope> ranges_of(std::uint64_t inode) {
    return {Scope::of_inode(inode), Scope::of_range(inode, {0, 10}),
            Scope::of_range(inode, {10, 20}), Scope::of_range(inode, {5, 15}),
            Scope::of_range(inode, {12, 13}), Scope::of_range(inode, {0, 20}),
            Scope::of_range(inode, {19, Range::end_of_file}), Scope::of_range(inode, {30, 40}),
            // The whole inode by another name.
            Scope::of_range(inode, {0, Range::end_of_file})};
}

}  // namespace

Universe one_name() {
    return {.options = usual_options(), .scopes = {Scope::named("a")}, .owners = three_owners()};
}

Universe one_of_each() {
    return {
        .options = usual_options(),
        .scopes = {Scope::named("a"), Scope::semaphore("a"), Scope::path("a"), Scope::of_inode(1),
                   Scope::of_range(1, {0, 10}), Scope::of_range(1, {10, 20}),
                   Scope::of_range(1, {5, 15}), Scope::named("b")},
        .owners = three_owners()};
}

Universe one_inode() {
    return {.options = usual_options(), .scopes = ranges_of(7), .owners = three_owners()};
}

Universe crosswise() {
    return {
        .options = usual_options(),
        .scopes = {Scope::named("a"), Scope::semaphore("s"), Scope::path("b"),
                   Scope::of_range(1, {0, 10}), Scope::of_range(1, {10, 20}), Scope::named("c")},
        .owners = {{Door{0}, "ann"}, {Door{0}, "bob"}}};
}

Universe idle_permits() {
    Universe universe{.options = usual_options(),
                      .scopes = {Scope::semaphore("a"), Scope::semaphore("b"), Scope::named("a")},
                      .owners = three_owners()};
    universe.options.idle_retention = milliseconds{6};
    universe.options.first_fence = 1000;
    return universe;
}

Universe door_of_its_own() {
    Universe universe = one_of_each();
    universe.scopes.push_back(Scope::semaphore("b"));
    universe.options.door_limits = {.door = Door{0}, .locks_max = 3, .waiters_per_lock_max = 2};
    universe.options.idle_retention = milliseconds{6};
    universe.options.idle_door = Door{0};
    return universe;
}

Universe tight_limits() {
    Universe universe = one_of_each();
    for (const Scope& scope : {Scope::semaphore("b"), Scope::path("b"), Scope::of_inode(2)}) {
        universe.scopes.push_back(scope);
    }
    universe.options.limits.locks_max = 4;
    universe.options.limits.waiters_max = 5;
    universe.options.limits.waiters_per_lock_max = 3;

    universe.options.idle_retention = milliseconds{5};
    return universe;
}

Universe few_leases() {
    Universe universe = one_of_each();
    universe.options.limits.leases_max = 5;
    universe.options.limits.endless_leases_max = 1;
    universe.options.limits.sessions_max = 4;
    universe.options.limits.expired_entries_max = 2;
    return universe;
}

Universe many_locks() {
    static const std::vector<std::string> names = [] {
        std::vector<std::string> made;
        made.reserve(40);
        for (int number = 0; number < 40; ++number) {
            made.push_back("n" + std::to_string(number));
        }
        return made;
    }();
    Universe universe{.options = usual_options(), .scopes = {}, .owners = three_owners()};
    for (const std::string& name : names) {
        universe.scopes.push_back(Scope::named(name));
        universe.scopes.push_back(Scope::semaphore(name));
        universe.scopes.push_back(Scope::path(name));
    }
    for (std::uint64_t inode = 0; inode < 10; ++inode) {
        for (const Scope& scope : ranges_of(inode)) universe.scopes.push_back(scope);
    }
    return universe;
}

}  // namespace holdfast::model

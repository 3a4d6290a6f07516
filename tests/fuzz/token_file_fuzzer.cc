// token_file_fuzzer: any bytes as the file of --tokens.
//
// A file that is refused names a line that it has. A file that is accepted gives names that can be
// looked up, no two tokens with one name or secret, and rights that keep their order: whoever may
// administer may lock, whoever may lock may read, and a right on everything is a right on anything.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <string_view>

#include "base/check.h"
#include "base/text/number.h"
#include "rights/token_table.h"

namespace holdfast::rights {
namespace {

void check_fault(std::string_view message, std::string_view input) {
    constexpr std::string_view beginning = "line ";
    CHECK(message.starts_with(beginning));
    message.remove_prefix(beginning.size());
    const auto number = base::parse_decimal<std::uint64_t>(message.substr(0, message.find(':')));
    CHECK(number && *number >= 1);
    CHECK(*number <= 1 + static_cast<std::uint64_t>(std::count(input.begin(), input.end(), '\n')));
}

void check_grants(const Grants& grants) {
    for (const Door door : {Door::http, Door::dflockd, Door::redis, Door::files}) {
        for (const core::Scope& scope :
             {core::Scope::named("a"), core::Scope::semaphore("deploy/x"),
              core::Scope::path("/a/b"), core::Scope::of_inode(7),
              core::Scope::of_range(7, {1, 2})}) {
            const bool may_read = grants.may(Right::read, door, scope);
            const bool may_lock = grants.may(Right::lock, door, scope);
            const bool may_rule = grants.may(Right::admin, door, scope);
            CHECK((!may_rule || may_lock) && (!may_lock || may_read));
            CHECK(grants.everywhere(door) < Right::lock || may_lock);
            CHECK(!may_lock || grants.may_something(Right::lock, door));
            const bool is_path = scope.kind == core::ScopeKind::path;
            CHECK(!is_path || !may_lock || grants.may_below(Right::lock, door, "/a/"));
        }
    }
}

void run(std::string_view input) {
    const auto lines = parse_token_file(input);
    if (!lines) return check_fault(lines.error().message, input);
    std::set<std::string> names;
    std::set<Digest> digests;
    for (const TokenLine& line : *lines) {
        CHECK(is_token_name(line.name));
        CHECK(names.insert(line.name).second && digests.insert(line.digest).second);
        check_grants(line.grants);
    }
    const TokenTable table({.lines = *lines}, nullptr);
    CHECK(!table.is_open() && table.tokens().size() == lines->size());
    for (const TokenLine& line : *lines) CHECK(table.find_name(line.name)->digest() == line.digest);
}

}  // namespace
}  // namespace holdfast::rights

// The name is libFuzzer's. NOLINTNEXTLINE(readability-identifier-naming)
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    holdfast::rights::run({reinterpret_cast<const char*>(data), size});
    return 0;
}

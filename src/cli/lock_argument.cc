#include "cli/lock_argument.h"

#include <fmt/format.h>

#include "net/client/url.h"
#include "sdk/lease_calls.h"

namespace holdfast::cli {

namespace {

bool overlaps(const std::string& scope_text, const LockScope::ByteRange& range) {
    const auto scope = LockScope::parse(scope_text);
    if (!scope) return true;
    const auto* const other = std::get_if<LockScope::ByteRange>(&scope->value());
    return other == nullptr || (other->start < range.end && range.start < other->end);
}

void leave_only(LockRow& lock, const LockScope::ByteRange& range) {
    std::erase_if(lock.holders, [&](const HolderRow& row) { return !overlaps(row.scope, range); });
    std::erase_if(lock.waiters, [&](const WaiterRow& row) { return !overlaps(row.scope, range); });
    lock.waiter_count = lock.waiters.size();
}

// The kind of lock that a scope is on: a range is on its inode.
struct KindOf {
    std::string operator()(const LockScope::Named& /*scope*/) const { return "named"; }
    std::string operator()(const LockScope::Semaphore& /*scope*/) const { return "semaphore"; }
    std::string operator()(const LockScope::Path& /*scope*/) const { return "path"; }
    std::string operator()(const LockScope::Inode& /*scope*/) const { return "inode"; }
    std::string operator()(const LockScope::ByteRange& /*scope*/) const { return "inode"; }
};

// What the names of locks begin with whose scopes begin with `text`, as far as that is known: `path:/a`
// is `/a`, and `pat` may be the beginning of a name or of a kind.
std::string_view name_beginning(std::string_view text) {
    for (const std::string_view kind : {"named:", "semaphore:", "path:", "inode:", "range:"}) {
        if (text.starts_with(kind)) return text.substr(kind.size());
        if (kind.starts_with(text)) return "";
    }
    return text;
}

}  // namespace

Asked<LockScope> read_scope(const std::string& text) {
    auto scope = LockScope::parse(text);
    if (scope) return *std::move(scope);
    if (text.empty()) return tl::unexpected(Failure{exit_usage, "the name of the lock is missing"});
    return tl::unexpected(Failure{
        exit_usage, fmt::format("{} is not a valid lock: write a name, path:/a/b, inode:7, "
                                "range:7:0-4096 or semaphore:x. If it is a name, write named:{}",
                                text, text)});
}

Asked<std::string> shown_lock_target(const std::string& text) {
    TRY(const LockScope scope, read_scope(text));
    std::string target = sdk::lock_target(scope);
    target += target.find('?') == std::string::npos ? "?queue=true" : "&queue=true";
    return target;
}

Asked<LockRow> look_at(Server& server, const std::string& text) {
    TRY(const LockScope scope, read_scope(text));
    TRY(const std::string target, shown_lock_target(text));
    TRY(const Answer answer, server.get(target));
    LockRow lock = read_shown_lock(answer.json);
    lock.kind = std::visit(KindOf{}, scope.value());  // the answer does not name it
    const auto* const range = std::get_if<LockScope::ByteRange>(&scope.value());
    if (range != nullptr) lock.name = std::to_string(range->inode);
    TRY(add_other_holders(lock, server));
    if (range != nullptr) leave_only(lock, *range);
    return lock;
}

std::vector<std::string> find_locks(const ServerOptions& options, const std::string& beginning) {
    constexpr std::chrono::milliseconds timeout{400};
    std::vector<std::string> locks;
    auto server = Server::open(options, timeout);
    if (!server) return locks;
    const auto page = server->get("/v1/locks?limit=1000&prefix=" +
                                  net::percent_encode(name_beginning(beginning)));
    if (!page) return locks;
    for (const base::JsonValue& lock : page->json["locks"].items()) {
        std::string scope = scope_text(read_listed_lock(lock));
        if (scope.starts_with(beginning)) locks.push_back(std::move(scope));
    }
    return locks;
}

}  // namespace holdfast::cli

#include "files/login/session_book.h"

#include <sys/random.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <span>
#include <system_error>
#include <utility>

#include "base/check.h"
#include "base/crypto.h"
#include "base/log/log.h"
#include "base/text/hex.h"

namespace holdfast::files {
namespace {

constexpr std::size_t name_size = 16;

std::string make_id() {
    std::array<std::uint8_t, 32> bytes{};
    ssize_t got = 0;
    do {
        got = getrandom(bytes.data(), bytes.size(), 0);
    } while (got < 0 && errno == EINTR);
    CHECK(got == static_cast<ssize_t>(bytes.size()));  // so few bytes never fail
    return base::to_hex(bytes);
}

std::int64_t to_ms(service::WallTime time) {
    return std::chrono::floor<std::chrono::milliseconds>(time.time_since_epoch()).count();
}

bool is_over(const Session& session, service::WallTime now) {
    return session.expires_ms <= to_ms(now);
}

// On disk: `2 <created> <expires> <owner>`, where `2` is the kind of a session that may only read;
// others are of kind `1`. The name of the app follows in hexadecimal digits, if there is one.
std::string to_text(const Session& session) {
    std::string text = std::string(session.permission == Permission::read ? "2 " : "1 ") +
                       std::to_string(session.created_ms) + ' ' +
                       std::to_string(session.expires_ms) + ' ' + session.owner;
    if (!session.app_name.empty()) {
        const auto* const bytes = reinterpret_cast<const std::uint8_t*>(session.app_name.data());
        text.append(" ").append(base::to_hex(std::span(bytes, session.app_name.size())));
    }
    return text + '\n';
}

// The text that to_hex() wrote as `digits`. False for anything else.
bool read_app_name(std::string_view digits, std::string& name) {
    if (digits.size() % 2 != 0 || digits.size() > 2 * app_name_bytes_max) return false;
    std::vector<std::uint8_t> bytes(digits.size() / 2);
    if (!base::parse_hex_bytes(digits, bytes)) return false;
    name.assign(bytes.begin(), bytes.end());
    return true;
}

// Reads a session from the name and the text of its file.
std::optional<Session> parse(const std::pair<const std::string, std::string>& file) {
    const std::string& id_hash = file.first;
    std::string_view text = file.second;
    std::array<std::uint8_t, 32> digest{};
    if (!base::parse_hex_bytes(id_hash, digest)) return std::nullopt;
    const bool is_reader = text.starts_with("2 ");
    if ((!is_reader && !text.starts_with("1 ")) || !text.ends_with('\n')) return std::nullopt;
    text.remove_prefix(2);
    text.remove_suffix(1);
    Session session{.name = id_hash.substr(0, name_size),
                    .permission = is_reader ? Permission::read : Permission::read_write};
    for (std::int64_t* number : {&session.created_ms, &session.expires_ms}) {
        const auto [end, error] = std::from_chars(text.begin(), text.end(), *number);
        if (error != std::errc() || end == text.end() || *end != ' ') return std::nullopt;
        text.remove_prefix(static_cast<std::size_t>(end - text.begin()) + 1);
    }
    const std::size_t owner_end = std::min(text.find(' '), text.size());
    session.owner = text.substr(0, owner_end);
    if (owner_end < text.size() && !read_app_name(text.substr(owner_end + 1), session.app_name)) {
        return std::nullopt;
    }
    session.last_used_ms = session.created_ms;
    return session;
}

tl::unexpected<base::Error> fail_at(std::string_view doing, int error) {
    return base::fail("cannot " + std::string(doing) + ": " +
                      std::generic_category().message(error));
}

}  // namespace

base::Result<std::unique_ptr<SessionBook>> SessionBook::open(StateFolder& folder,
                                                             std::size_t sessions_max) {
    TRY(auto sessions, folder.open_folder("sessions"));
    std::unique_ptr<SessionBook> book(new SessionBook(folder, std::move(sessions), sessions_max));
    TRY(book->read());
    return book;
}

base::Result<void> SessionBook::read() {
    const auto files = StateFolder::read_small_files(sessions_.get());
    if (!files) return fail_at("read the sessions", files.error());
    for (const auto& file : *files) {
        auto session = parse(file);
        if (!session) {
            base::log(base::LogLevel::warning, "a file that is no session", {{"name", file.first}});
            continue;
        }
        std::string name = session->name;
        entries_.emplace(std::move(name),
                         Entry{.session = std::move(*session), .id_hash = file.first});
    }
    return {};
}

base::Result<SessionBook::NewSession> SessionBook::create(const NewLogin& login,
                                                          service::WallTime now) {
    CHECK(std::all_of(login.owner.begin(), login.owner.end(),
                      [](char c) { return c > ' ' && c <= '~'; }));
    CHECK(login.app_name.size() <= app_name_bytes_max);
    auto made = begin(login, now);
    if (made && made->replaced) wait_for_changes(made->replaced->name);
    return made;
}

base::Result<SessionBook::NewSession> SessionBook::begin(const NewLogin& login,
                                                         service::WallTime now) {
    const std::lock_guard disk_lock(disk_mutex_);
    const auto surplus = surplus_of(login.owner, now);
    if (!surplus && count(now) >= sessions_max_) {
        return base::fail("there are " + std::to_string(sessions_max_) +
                          " sessions already; end one, or wait until one expires");
    }
    NewSession made{.id = make_id()};
    const std::string id_hash = base::sha256_hex(made.id);
    made.session = {.name = id_hash.substr(0, name_size),
                    .owner = std::string(login.owner),
                    .created_ms = to_ms(now),
                    .expires_ms = to_ms(now + session_time),
                    .permission = login.permission,
                    .last_used_ms = to_ms(now),
                    .app_name = login.app_name};
    const auto written = folder_.write_small_file(sessions_.get(), id_hash, to_text(made.session));
    if (!written) return fail_at("keep the session", written.error());
    if (surplus) {
        if (const auto removed = remove(*surplus); !removed) {
            static_cast<void>(StateFolder::remove_small_file(sessions_.get(), id_hash));
            return tl::unexpected(removed.error());
        }
        made.replaced = surplus->session;
    }
    const std::lock_guard lock(mutex_);
    // Two sessions have the same name once in 2^64 times.
    CHECK(entries_.emplace(made.session.name, Entry{made.session, id_hash}).second);
    return made;
}

std::optional<Session> SessionBook::find(std::string_view id, service::WallTime now) {
    const std::string id_hash = base::sha256_hex(id);
    const std::lock_guard lock(mutex_);
    const auto found = entries_.find(id_hash.substr(0, name_size));
    if (found == entries_.end()) return std::nullopt;
    if (!base::equal_in_constant_time(found->second.id_hash, id_hash)) return std::nullopt;
    if (is_over(found->second.session, now)) return std::nullopt;
    found->second.session.last_used_ms = to_ms(now);
    return found->second.session;
}

bool SessionBook::is_live(const std::string& name, service::WallTime now) const {
    const std::lock_guard lock(mutex_);
    const auto found = entries_.find(name);
    return found != entries_.end() && !is_over(found->second.session, now);
}

std::optional<SessionBook::Change> SessionBook::begin_change(const std::string& name,
                                                             service::WallTime now) {
    const std::lock_guard lock(mutex_);
    const auto found = entries_.find(name);
    if (found == entries_.end() || is_over(found->second.session, now)) return std::nullopt;
    ++changes_[name];
    return Change(*this, name);
}

void SessionBook::end_change(const std::string& name) {
    const std::lock_guard lock(mutex_);
    const auto found = changes_.find(name);
    CHECK(found != changes_.end());
    if (--found->second > 0) return;
    changes_.erase(found);
    change_ended_.notify_all();
}

// REQUIRES: the session is over, so that no further change of it begins.
void SessionBook::wait_for_changes(const std::string& name) {
    std::unique_lock lock(mutex_);
    change_ended_.wait(lock, [&] { return !changes_.contains(name); });
}

std::vector<Session> SessionBook::list(service::WallTime now) const {
    std::vector<Session> sessions;
    {
        const std::lock_guard lock(mutex_);
        for (const auto& [name, entry] : entries_) {
            if (!is_over(entry.session, now)) sessions.push_back(entry.session);
        }
    }
    std::stable_sort(sessions.begin(), sessions.end(), [](const Session& a, const Session& b) {
        return a.created_ms < b.created_ms;
    });
    return sessions;
}

base::Result<bool> SessionBook::end(const std::string& name) {
    {
        const std::lock_guard disk_lock(disk_mutex_);
        std::optional<Entry> entry;
        {
            const std::lock_guard lock(mutex_);
            const auto found = entries_.find(name);
            if (found != entries_.end()) entry = found->second;
        }
        if (!entry) return false;
        TRY(remove(*entry));
    }
    wait_for_changes(name);
    return true;
}

SessionBook::Expired SessionBook::remove_expired(service::WallTime now) {
    Expired expired = remove_expired_entries(now);
    for (const Session& session : expired.removed) wait_for_changes(session.name);
    return expired;
}

SessionBook::Expired SessionBook::remove_expired_entries(service::WallTime now) {
    const std::lock_guard disk_lock(disk_mutex_);
    std::vector<Entry> over;
    {
        const std::lock_guard lock(mutex_);
        for (const auto& [name, entry] : entries_) {
            if (is_over(entry.session, now)) over.push_back(entry);
        }
    }
    Expired expired;
    for (const Entry& entry : over) {
        if (const auto done = remove(entry); done) {
            expired.removed.push_back(entry.session);
        } else if (expired.failed_count++ == 0) {
            expired.failure = done.error();
        }
    }
    return expired;
}

std::optional<service::WallTime> SessionBook::next_expiry() const {
    const std::lock_guard lock(mutex_);
    const auto first =
        std::min_element(entries_.begin(), entries_.end(), [](const auto& a, const auto& b) {
            return a.second.session.expires_ms < b.second.session.expires_ms;
        });
    if (first == entries_.end()) return std::nullopt;
    return service::WallTime{std::chrono::milliseconds(first->second.session.expires_ms)};
}

// Removes the file first: a session that is gone from memory must not come back with a restart.
base::Result<void> SessionBook::remove(const Entry& entry) {
    const auto removed = StateFolder::remove_small_file(sessions_.get(), entry.id_hash);
    if (!removed) return fail_at("remove the session", removed.error());
    const std::lock_guard lock(mutex_);
    entries_.erase(entry.session.name);
    return {};
}

// The session that the owner loses with the next login; none while the owner has a share left.
std::optional<SessionBook::Entry> SessionBook::surplus_of(std::string_view owner,
                                                          service::WallTime now) const {
    const std::lock_guard lock(mutex_);
    const Entry* least_used = nullptr;
    std::size_t count = 0;
    for (const auto& [name, entry] : entries_) {
        const Session& session = entry.session;
        if (session.owner != owner || is_over(session, now)) continue;
        ++count;
        if (least_used == nullptr || session.last_used_ms < least_used->session.last_used_ms) {
            least_used = &entry;
        }
    }
    if (count < std::max<std::size_t>(sessions_max_ / session_shares, 1)) return std::nullopt;
    return *least_used;
}

std::size_t SessionBook::count(service::WallTime now) const {
    const std::lock_guard lock(mutex_);
    return static_cast<std::size_t>(
        std::count_if(entries_.begin(), entries_.end(),
                      [now](const auto& entry) { return !is_over(entry.second.session, now); }));
}

}  // namespace holdfast::files

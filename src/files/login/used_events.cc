#include "files/login/used_events.h"

#include <unistd.h>

#include <system_error>

#include "base/text/number.h"

namespace holdfast::files {

base::Result<std::unique_ptr<UsedEvents>> UsedEvents::open(StateFolder& folder,
                                                           std::size_t events_max) {
    TRY(auto events, folder.open_folder("used_events"));
    const auto files = StateFolder::read_small_files(events.get());
    if (!files) {
        return base::fail("cannot read the used events: " +
                          std::generic_category().message(files.error()));
    }
    std::unique_ptr<UsedEvents> used(new UsedEvents(folder, std::move(events), events_max));
    for (const auto& [id, text] : *files) {
        // One that cannot be read is as old as can be, and forgotten at the next use.
        used->created_s_[id] = base::parse_decimal<std::int64_t>(text).value_or(0);
    }
    return used;
}

base::Result<bool> UsedEvents::use(const NostrEvent& event, service::WallTime now) {
    const std::lock_guard lock(mutex_);
    forget_old(now);
    if (created_s_.contains(event.id)) return false;
    if (created_s_.size() >= events_max_) {
        return base::fail("there have been too many logins within a minute");
    }
    const auto written =
        folder_.write_small_file(events_.get(), event.id, std::to_string(event.created_s));
    if (!written) {
        return base::fail("cannot note the used event: " +
                          std::generic_category().message(written.error()));
    }
    created_s_.emplace(event.id, event.created_s);
    return true;
}

std::size_t UsedEvents::size() const {
    const std::lock_guard lock(mutex_);
    return created_s_.size();
}

void UsedEvents::forget_old(service::WallTime now) {
    const std::int64_t now_s =
        std::chrono::floor<std::chrono::seconds>(now.time_since_epoch()).count();
    std::erase_if(created_s_, [&](const auto& entry) {
        if (entry.second >= now_s - nostr_window.count()) return false;
        unlinkat(events_.get(), entry.first.c_str(), 0);  // if it stays, it is tried again
        return true;
    });
}

}  // namespace holdfast::files

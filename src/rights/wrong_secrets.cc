#include "rights/wrong_secrets.h"

#include "base/log/log.h"

namespace holdfast::rights {

void WrongSecrets::add(Door door, std::string_view host) {
    counts_[static_cast<std::size_t>(door)].fetch_add(1, std::memory_order_relaxed);
    std::optional<std::uint64_t> occasions;
    {
        const std::lock_guard guard(mutex_);
        occasions = occasions_.count(Clock::now());
    }
    if (!occasions) return;
    base::log(base::LogLevel::warning, "a wrong secret",
              {{"door", to_text(door)}, {"from", host}, {"left_out", *occasions - 1}});
}

}  // namespace holdfast::rights

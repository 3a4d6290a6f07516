#include "cluster/view.h"

#include <cstddef>

namespace holdfast::cluster {

std::string_view to_text(NodeRole role) {
    switch (role) {
        case NodeRole::joining: return "joining";
        case NodeRole::following: return "following";
        case NodeRole::taking_over: return "taking over";
        case NodeRole::leading: return "leading";
        case NodeRole::leaving: return "leaving";
        case NodeRole::stopped: return "stopped";
    }
    return "";
}

bool Picture::serves(std::uint64_t epoch) const {
    return is_leading() && leader.epoch == epoch;
}

void View::set(Picture picture) {
    const std::shared_ptr<const Picture> before = this->picture();
    if (*before == picture) return;
    const auto now = std::make_shared<const Picture>(std::move(picture));
    {
        const std::lock_guard guard(mutex_);
        picture_ = now;
    }
    const bool is_same =
        before->role == now->role && before->leader == now->leader && before->secret == now->secret;
    if (is_same) return;
    // By index: whoever is told may add another.
    for (std::size_t index = 0; index < on_change_.size(); ++index) on_change_[index](*now);
}

}  // namespace holdfast::cluster

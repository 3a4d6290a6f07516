#include "files/tree/path_gates.h"

namespace holdfast::files {

PathGates::Pass PathGates::enter(const std::string& path) {
    Gates::value_type* entry = nullptr;
    {
        const std::lock_guard lock(mutex_);
        entry = &*gates_.try_emplace(path).first;
        ++entry->second.users;
    }
    entry->second.mutex.lock();
    return {*this, *entry};
}

void PathGates::leave(Gates::value_type& entry) {
    entry.second.mutex.unlock();
    const std::lock_guard lock(mutex_);
    if (--entry.second.users == 0) gates_.erase(gates_.find(entry.first));
}

std::size_t PathGates::size() const {
    const std::lock_guard lock(mutex_);
    return gates_.size();
}

}  // namespace holdfast::files

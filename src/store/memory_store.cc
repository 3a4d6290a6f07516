#include "store/memory_store.h"

namespace holdfast::store {

service::StoreResult<service::Recovered> MemoryStore::recover(
    const std::function<bool(const core::RestoreRequest&)>& /*on_lease*/) {
    return service::Recovered{};
}

void MemoryStore::commit(const service::Commit& /*commit*/, service::CommitDone done) {
    done({});
}

}  // namespace holdfast::store

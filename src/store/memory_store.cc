#include "store/memory_store.h"

namespace holdfast::store {

void MemoryStore::recover(service::OnRecoveredLease /*on_lease*/, service::RecoverDone done) {
    done(service::Recovered{});
}

void MemoryStore::commit(const service::Commit& /*commit*/, service::CommitDone done) {
    done({});
}

}  // namespace holdfast::store

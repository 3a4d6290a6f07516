#include "store/memory_store.h"

namespace holdfast::store {

void MemoryStore::commit(core::Changes /*changes*/, std::function<void(base::Result<void>)> done) {
    done({});
}

}  // namespace holdfast::store

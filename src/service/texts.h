#pragma once

#include <memory_resource>
#include <string_view>

#include "service/request.h"

namespace holdfast::service {

// Texts: a place for strings that many requests or responses point into, freed together.
//
// Move and swap keep the texts where they are. Not thread-safe; may be handed from thread to
// thread.
class Texts {
  public:
    Texts() : memory_(std::make_unique<std::pmr::monotonic_buffer_resource>()) {}

    // The same text, good for as long as this object.
    [[nodiscard]] std::string_view keep(std::string_view text);

    // The same request or response, with all its texts kept.
    [[nodiscard]] Request keep(const Request& request);
    [[nodiscard]] Response keep(Response response);

  private:
    void keep(core::Scope& scope) { scope.name = keep(scope.name); }
    void keep(core::Owner& owner) { owner.name = keep(owner.name); }
    void keep(core::Notes& notes) {
        notes.request_id = keep(notes.request_id);
        notes.metadata = keep(notes.metadata);
    }
    void keep(core::LeaseView& lease);
    void keep(core::LockView& lock);

    std::unique_ptr<std::pmr::monotonic_buffer_resource> memory_;
};

}  // namespace holdfast::service

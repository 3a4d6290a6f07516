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
    // Puts kept texts in the place of others.
    void replace(std::string_view& text) { text = keep(text); }
    void replace(core::Scope& scope) { replace(scope.name); }
    void replace(core::Owner& owner) { replace(owner.name); }
    void replace(core::Notes& notes) {
        replace(notes.request_id);
        replace(notes.metadata);
    }
    void replace(core::LeaseView& lease);
    void replace(core::LockView& lock);

    std::unique_ptr<std::pmr::monotonic_buffer_resource> memory_;
};

}  // namespace holdfast::service

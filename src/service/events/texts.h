#pragma once

#include <string_view>
#include <vector>

#include "base/text/text_arena.h"
#include "service/request.h"

namespace holdfast::service {

// Texts: a place for strings that many requests or responses point into, freed together.
//
// Move and swap keep the texts where they are. Not thread-safe; may be handed from thread to
// thread.
class Texts {
  public:
    // The same text, good until all are forgotten.
    [[nodiscard]] std::string_view keep(std::string_view text) { return arena_.keep(text); }

    // Lets a request or response have kept texts in the place of its own.
    void keep_texts_of(Request& request);
    void keep_texts_of(Response& response);

    void clear() {
        arena_.clear();
        sets_.clear();
    }

  private:
    // Puts kept texts in the place of others.
    void replace(std::string_view& text) { text = keep(text); }
    void replace(core::Scope& scope) { replace(scope.name); }
    void replace(core::Owner& owner) { replace(owner.name); }
    void replace(core::Notes& notes) {
        replace(notes.request_id);
        replace(notes.metadata);
        replace(notes.waiter);
    }
    void replace(std::span<const core::SetMember>& members);
    void replace(core::LeaseView& lease);
    void replace(core::LockView& lock);

    base::TextArena arena_;
    std::vector<std::vector<core::SetMember>> sets_;  // the members of requests
};

}  // namespace holdfast::service

#pragma once

// Deadlocks in the JSON of answers and events.

#include <string>
#include <string_view>
#include <vector>

#include "base/json/json_writer.h"
#include "core/values/cycle.h"
#include "core/values/cycle_sentence.h"
#include "core/values/view.h"
#include "doors/answers/scope_object.h"
#include "service/doors.h"

namespace holdfast::doors::answers {

// A cycle as one client may see it. Members that wait for something that the client may not read have
// no names: they are hidden.
class ShownCycle {
  public:
    // `text`: the cycle as core::cycle_to_text() writes it. `filter`: what the client may read; null:
    // everything. The text outlives this.
    ShownCycle(std::string_view text, const core::ScopeFilter* filter)
        : members_(core::parse_cycle(text).value_or(std::vector<core::CycleMember>())) {
        for (core::CycleMember& member : members_) {
            const bool is_shown = filter == nullptr || filter->includes(member.waits_for);
            if (is_shown) ++shown_;
            if (!is_shown) member = {};
        }
    }

    [[nodiscard]] const std::vector<core::CycleMember>& members() const { return members_; }
    // Whether the client may see anything of it.
    [[nodiscard]] bool is_anything_shown() const { return shown_ > 0; }
    // `ann waits for bob, who holds b and waits for ann`.
    [[nodiscard]] std::string sentence() const { return core::cycle_sentence(members_); }

    // Appends `"cycle":[..]`.
    void append(base::JsonWriter& json) const {
        json.begin_array("cycle");
        for (const core::CycleMember& member : members_) {
            json.begin_object();
            if (core::is_hidden(member)) {
                json.field("hidden", true);
            } else {
                append(json, member);
            }
            json.end_object();
        }
        json.end_array();
    }

  private:
    static void append(base::JsonWriter& json, const core::CycleMember& member) {
        json.field("holder", member.owner.name);
        if (!member.waiter.empty()) json.field("waiter", member.waiter);
        json.field("door", service::to_text(member.owner.door));
        append_scope(json, "waits_for", member.waits_for);
        json.field("held_by", member.held_by.name);
        const std::uint64_t fence = core::as_number(member.fence);
        if (fence > 0) json.field("fencing_token", fence);
    }

    std::vector<core::CycleMember> members_;
    std::size_t shown_ = 0;
};

}  // namespace holdfast::doors::answers

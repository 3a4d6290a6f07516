#pragma once

// Picture: who waits for whom, and who of them waits for ever.
//
// Rules D1 to D5 of rules.md, by looking at everybody again and again. It shares no code with the
// engine.

#include <string_view>
#include <vector>

#include "core/values/ids.h"
#include "core/values/scope_set.h"

namespace holdfast::model {

class Picture {
  public:
    // Rule D1.
    struct Client {
        core::SessionId session;
        core::Owner owner;
        std::string_view waiter;

        bool operator==(const Client& other) const {
            if (session || other.session) return session == other.session;
            return owner == other.owner && waiter == other.waiter;
        }
    };
    struct Waiting {
        Client client;
        std::vector<core::SetMember> members;
    };
    struct Holding {
        Client client;
        std::vector<core::SetMember> members;
        bool is_in_grace = false;
    };

    std::vector<Waiting> waiting;  // in the order in which they came
    std::vector<Holding> holding;

    // Finds out who is stuck: the largest set of waiters of whom none can be granted unless another
    // one of them gives up.
    void find_stuck();

    // Rules D3 and D5: whether there is a way from this waiter back to it, by way of another
    // client. REQUIRES: find_stuck() was called.
    [[nodiscard]] bool is_on_cycle(std::size_t start) const;

  private:
    void find_reasons();
    [[nodiscard]] bool is_plain(std::size_t index) const;
    void add_earlier(std::size_t earlier, const core::SetMember& member,
                     const core::SetMember& wanted, std::vector<std::size_t>& found) const;
    void add_holder(const Holding& holder, const core::SetMember& wanted,
                    std::vector<std::size_t>& found) const;
    void add_permits(const core::SetMember& wanted, std::vector<std::size_t>& found) const;
    void add_waits_of(const Client& client, const core::SetMember& place,
                      std::vector<std::size_t>& found) const;

    std::vector<bool> is_stuck_;
    std::vector<std::vector<std::size_t>> reasons_;  // of each waiter
};

}  // namespace holdfast::model

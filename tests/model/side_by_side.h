#pragma once

// SideBySide: makes the same calls on the engine and on the naive model, and lets the auditor read
// the events. After every call it compares everything that the two show.

#include <string>

#include "core/lock_table.h"
#include "model/auditor.h"
#include "model/naive_table.h"
#include "model/steps.h"

namespace holdfast::model {

class SideBySide {
  public:
    explicit SideBySide(const Universe& universe);
    // If a CHECK of the engine stops the program, the calls so far are printed, because RapidCheck
    // cannot do it any more.
    ~SideBySide();
    SideBySide(const SideBySide&) = delete;
    SideBySide& operator=(const SideBySide&) = delete;

    // Makes the call on both. Returns a description of the first difference, with all calls that led
    // to it, for a test; empty if there is no difference.
    [[nodiscard]] std::string run(const Step& step);

  private:
    [[nodiscard]] Witness bear_witness() const;
    [[nodiscard]] std::string find_difference(const Call& call, const Reply& answer,
                                              const Reply& expected) const;
    [[nodiscard]] std::string find_difference_of_answers(const Call& call, const Reply& answer,
                                                         const Reply& expected) const;
    [[nodiscard]] std::string find_difference_of_deadlocks(const Call& call) const;
    [[nodiscard]] std::string find_difference_of_events() const;
    [[nodiscard]] std::string find_difference_of_locks() const;
    [[nodiscard]] std::string find_difference_of_leases() const;
    [[nodiscard]] std::string find_difference_of_sessions() const;
    [[nodiscard]] std::string find_difference_of_deadlines() const;
    [[nodiscard]] std::string ask_auditor();

    const Universe& universe_;
    core::LockTable engine_;
    NaiveTable model_;
    Auditor auditor_;
    Names engine_names_, model_names_;
    History history_;
    std::uint64_t serial_ = 0;
    std::string calls_;
};

}  // namespace holdfast::model

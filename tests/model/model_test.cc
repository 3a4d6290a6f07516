// Random calls on the engine and on the naive model must look the same.
//
// Every case is some hundred runs of up to 400 calls each. RapidCheck prints the seed at the start
// and, when a case fails, the shrunk calls and the RC_PARAMS with which to run it again.

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "model/side_by_side.h"

namespace holdfast::model {
namespace {

void run_side_by_side(const Universe& universe) {
    const std::vector<Step> steps = *arbitrary_steps();
    SideBySide both(universe);
    for (const Step& step : steps) {
        const std::string difference = both.run(step);
        if (!difference.empty()) RC_FAIL(difference);
    }
}

RC_GTEST_PROP(LockTableModel, AgreesOnOneName, ()) {
    run_side_by_side(one_name());
}
RC_GTEST_PROP(LockTableModel, AgreesOnEveryKindOfScope, ()) {
    run_side_by_side(one_of_each());
}
RC_GTEST_PROP(LockTableModel, AgreesOnRangesOfAnInode, ()) {
    run_side_by_side(one_inode());
}
RC_GTEST_PROP(LockTableModel, AgreesOnIdleSemaphores, ()) {
    run_side_by_side(idle_permits());
}
RC_GTEST_PROP(LockTableModel, AgreesWithinTightLimits, ()) {
    run_side_by_side(tight_limits());
}
RC_GTEST_PROP(LockTableModel, AgreesOnFewLeases, ()) {
    run_side_by_side(few_leases());
}
RC_GTEST_PROP(LockTableModel, AgreesOnManyLocks, ()) {
    run_side_by_side(many_locks());
}

}  // namespace
}  // namespace holdfast::model

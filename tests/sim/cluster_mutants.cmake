# Bugs that the simulator must find in worlds with a cluster. docs/simulator.md says by which seed it does.

holdfast_mutant(serving_before_the_first_commit
    cluster/cluster_store_recovery.cc
    "make_first_commit();"
    "recovery_->is_confirmed = true;
    candidate_.confirmed({.name = self_.name, .epoch = recovery_->snapshot.epoch + 1});
    if (is_leading()) visit_leases();")

holdfast_mutant(reading_at_another_revision_than_that_of_the_election
    cluster/snapshot_reader.cc
    "request.revision = reading_->revision;"
    "request.revision = 0;")

holdfast_mutant(page_of_reading_that_never_shrinks
    cluster/snapshot_reader.cc
    "part.limit = std::max<std::int64_t>(1, std::min(part.limit, first_page_keys) / 2);"
    "")

holdfast_mutant(deadline_counted_from_the_arrival_of_the_answer
    cluster/leading/leadership.cc
    "deadline_ = renewal_sent_at_ + usable("
    "deadline_ = now + usable(")

holdfast_mutant(no_deadline_for_answers_from_memory
    cluster/leading/leadership.cc
    "return may_answer() ? authority_ : core::Time::min();"
    "return may_answer() ? core::Time::max() : core::Time::min();")

holdfast_mutant(authority_without_the_key
    cluster/leading/confirmation.cc
    "if (answer->is_true) {"
    "if (answer->is_true || !answer->is_true) {"
    cluster/leading/leadership.cc
    "return event.is_removal || event.entry.create_revision != elected_at_;"
    "return event.is_removal && elected_at_ == 0;")

holdfast_mutant(leader_that_goes_on_in_a_new_epoch
    cluster/cluster_store.cc
    "if (candidate_.leadership().has_lead()) candidate_.retire(\"a new epoch begins\");"
    "")

holdfast_mutant(next_commit_after_an_unknown_one
    cluster/guarded_commit.cc
    "case etcd::Failure::Kind::unknown:"
    "case etcd::Failure::Kind::unknown: return Verdict::done;"
    cluster/guarded_writer.cc
    "result.revision = answer->revision;"
    "if (answer) result.revision = answer->revision;")

holdfast_mutant(no_space_taken_for_not_done
    cluster/guarded_writer.cc
    "if (result.verdict == Verdict::full && full_.empty()) {"
    "if (result.verdict == Verdict::full && !full_.empty()) {")

holdfast_mutant(fencing_numbers_from_the_revision_of_etcd
    cluster/cluster_store_recovery.cc
    ".next_fence = recovery.snapshot.last_fence + 1,"
    ".next_fence = static_cast<std::uint64_t>(candidate_.leadership().elected_at()),")

holdfast_mutant(epoch_not_raised
    cluster/cluster_store_recovery.cc
    ".epoch = recovery_->snapshot.epoch + 1,"
    ".epoch = std::max<std::uint64_t>(recovery_->snapshot.epoch, 1),")

holdfast_mutant(renewal_acknowledged_after_the_lead_is_lost
    service/lock_service_failure.cc
    "return deadline == core::Time::max() || clock_.now() < deadline;"
    "return deadline <= core::Time::max();")

holdfast_mutant(waiters_kept_over_a_change_of_leader
    service/lock_service_failure.cc
    "withheld_.push_back({.promise = promise});"
    "")

holdfast_mutant(relayed_connection_served_by_a_node_that_no_longer_leads
    cluster/view.cc
    "return is_leading() && leader.epoch == epoch;"
    "return epoch > 0;")

holdfast_mutant(commit_that_does_not_compare_its_number
    cluster/guarded_commit.cc
    "const bool has_raised = after != term.counter;"
    "transaction.conditions.pop_back();
    const bool has_raised = after != term.counter;")

holdfast_mutant(history_not_taken_over_by_the_next_leader
    cluster/cluster_store_recovery.cc
    "history_.begin(recovery.snapshot.history, leases, parts_.clock.wall(parts_.clock.now()));"
    "")

holdfast_mutant(recovery_that_ends_deposed_and_is_left
    service/lock_service_failure.cc
    "fail(StoreFailure(result.error()));"
    "state_ = Role::deposed;
        failure_ = result.error();")

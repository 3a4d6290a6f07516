# Bugs that the simulator must find. docs/simulator.md says by which seed it does.

holdfast_mutant(fence_reused_after_restart
    FILE service/lock_service.cc
    REPLACE "table->skip_fences_below(recovered->next_fence);"
    WITH "")

holdfast_mutant(answer_before_commit
    FILE service/lock_service.cc
    REPLACE "Batch* const batch = has_changes ? &after_next_commit_ : batch_of(response_.outcome);"
    WITH "Batch* const batch = has_changes ? &ready_ : nullptr;")

holdfast_mutant(expired_waiter_granted
    FILE core/lock_table_end.cc
    REPLACE "if (next.deadline <= now_) {"
    WITH "if (next.deadline == Time::min()) {")

holdfast_mutant(queue_served_from_its_end
    FILE core/lock_table_end.cc
    REPLACE "grant_waiter(resource.waiters.first);"
    WITH "grant_waiter(resource.waiters.last);")

holdfast_mutant(abandon_does_not_cancel
    FILE service/lock_service.cc
    REPLACE "table_->cancel(clock_.now(), promise.waiter);"
    WITH "")

holdfast_mutant(abandon_looks_too_late
    FILE service/lock_service.cc
    REPLACE "table_->advance(clock_.now());"
    WITH "")

holdfast_mutant(abandon_takes_the_lease_of_another_request
    FILE service/lock_service.cc
    REPLACE "if (Promise* const other = find_promise_of(*promise.grant)) {"
    WITH "if (Promise* const other = nullptr; other != nullptr) {")

holdfast_mutant(renewal_answered_before_its_terms_are_written
    FILE service/lock_service.cc
    REPLACE "|| this_terms_.contains(fence)"
    WITH "")

holdfast_mutant(renewal_falls_short
    FILE core/lock_table_end.cc
    REPLACE "Time expires_at = add_saturating(now_, ttl);"
    WITH "Time expires_at = add_saturating(now_, ttl / 2);")

holdfast_mutant(restored_lease_cut_short
    FILE core/lock_table_restore.cc
    REPLACE "std::max(request.remaining, Duration{1})"
    WITH "Duration{1}")

holdfast_mutant(wake_up_forgotten
    FILE service/lock_service.cc
    REPLACE "wake_at_.reset();"
    WITH "")

holdfast_mutant(repeated_request_runs_again
    FILE service/lock_service_run.cc
    REPLACE "if (known == nullptr) return false;"
    WITH "if (known == nullptr || known->state == RequestMemory::Known::State::ended) return false;")

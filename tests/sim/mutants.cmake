# Bugs that the simulator must find. docs/simulator.md says by which seed it does.

holdfast_mutant(fence_reused_after_restart
    service/lock_service_failure.cc
    "recovery.table->skip_fences_below(recovered.next_fence);"
    "")

holdfast_mutant(answer_before_commit
    service/lock_service.cc
    "const CommitNumber commit = pipeline_.rests_on(statement_, response_.outcome);"
    "const CommitNumber commit = no_commit;")

holdfast_mutant(expired_waiter_granted
    core/lock_table.cc
    "if (is_part_over()) return false;\n        changes_.begin_step();\n        remove_waiter"
    "const auto lease = lease_deadlines_.top();
        if (lease && lease->deadline <= now_) break;
        remove_waiter"
    core/lock_table_end.cc
    "return waiter.deadline <= now_ ||"
    "return")

holdfast_mutant(queue_served_from_its_end
    core/lock_table_end.cc
    "grant_waiter(next_slot);"
    "grant_waiter(resource.waiters.last);")

holdfast_mutant(abandon_does_not_cancel
    service/lock_service_abandon.cc
    "cancel_wait(clock_.now(), promise.waiter);"
    "")

holdfast_mutant(abandon_takes_the_lease_of_another_request
    service/lock_service_abandon.cc
    "if (renewals > 0 && ++given_up_[core::as_number(token.fence)] <= renewals) return;"
    "")

holdfast_mutant(abandon_forgets_the_lease_of_two_requests
    service/lock_service_abandon.cc
    "if (renewals > 0 && ++given_up_[core::as_number(token.fence)] <= renewals) return;"
    "if (renewals > 0) return;")

holdfast_mutant(renewal_answered_before_its_terms_are_written
    service/commit_pipeline.cc
    "return terms == nullptr ? number : std::max(number, *terms);"
    "return terms == nullptr ? number : number;")

holdfast_mutant(renewal_falls_short
    core/lock_table_end.cc
    "Time expires_at = add_saturating(now_, ttl);"
    "Time expires_at = add_saturating(now_, ttl / 2);")

holdfast_mutant(restored_lease_cut_short
    core/lock_table_restore.cc
    "std::max(request.remaining, Duration{1})"
    "Duration{1}")

holdfast_mutant(wake_up_forgotten
    service/lock_service.cc
    "wake_at_.reset();"
    "")

holdfast_mutant(repeated_request_runs_again
    service/lock_service_run.cc
    "if (known == nullptr) return false;"
    "if (known == nullptr || known->state == RequestMemory::Known::State::ended) return false;")

holdfast_mutant(entry_outlives_its_lease
    core/lock_table_session.cc
    "if (earlier != no_slot && !entries_[earlier].is_expired) {"
    "if (earlier != no_slot) {")

# Numbers of transient leases are told without a commit: neither a crash nor a failed commit may lead to one
# being given out again.
holdfast_mutant(number_of_a_transient_lease_not_reserved
    service/commit_pipeline.cc
    "must_be_committed = fence > reserving_fence_;"
    "must_be_committed = false;")

holdfast_mutant(refusal_answered_before_its_commit
    service/commit_pipeline.cc
    "default: return rests_on_everything();"
    "default: return no_commit;")

holdfast_mutant(transient_waiter_told_before_what_made_way_for_it
    service/commit_pipeline.cc
    "if (is_open && lease.is_transient && is_reserved) return rests_on_everything();"
    "if (is_open && lease.is_transient && is_reserved) return no_commit;")

holdfast_mutant(unknown_commit_treated_as_not_done
    service/lock_service_failure.cc
    "const bool is_unknown = why.kind != StoreFailure::Kind::not_done;"
    "const bool is_unknown = false;")

holdfast_mutant(answer_from_memory_without_authority
    service/lock_service_failure.cc
    "return deadline == core::Time::max() || clock_.now() < deadline;"
    "return deadline <= core::Time::max();")

holdfast_mutant(commit_split_inside_a_request
    service/commit_pipeline.cc
    "const std::size_t end = end_of_step(changes, begin);"
    "const std::size_t end = std::min(begin + 1, end_of_step(changes, begin));")

# A set stands in all its queues, and is granted as a whole or not at all.
holdfast_mutant(set_overtaken_in_one_queue
    core/lock_table_end.cc
    "if (!hand_on_to_set(next_slot)) return true;"
    "const Slot later = next.next;
            if (hand_on_to_set(next_slot)) continue;
            if (later == no_slot || waiters_[later].is_of_set()) return true;
            if (!has_room_for(resource, waiters_[later].mode)) return true;
            grant_waiter(later);")

holdfast_mutant(set_granted_in_part
    core/lock_table_set_queue.cc
    "if (leader.blocked > 0) return false;"
    "")

# Whoever got its lock from a queue is not known to be waited for.
holdfast_mutant(deadlock_not_seen
    core/lock_table_acquire.cc
    "if (resources_[lease.resource].waiter_count > 0) mark_holder(slot);"
    "if (resources_[lease.resource].waiter_count > 0) lease.is_marked = true;")

# The history tells of each hold that has ended, once, and of nothing that a crash undid or nobody was told of.
holdfast_mutant(history_row_of_an_undone_lease
    service/commit_effect.cc
    "if (earlier->hold) holds_[*earlier->hold] = nullptr;"
    "holds_.push_back(&change);")

holdfast_mutant(history_forgets_what_expires_with_grace
    service/commit_effect.cc
    "if (change.kind == core::EventKind::expired) holds_.push_back(&change);"
    "")

# Whoever was told of a value is never told of an older one.
holdfast_mutant(value_told_before_its_commit
    service/commit_pipeline.cc
    "if (event.kind == core::EventKind::renewed || event.kind == core::EventKind::value_set) {"
    "if (event.kind == core::EventKind::renewed) {")

holdfast_mutant(value_forgotten_by_a_restart
    core/lock_table_restore.cc
    "if (request.revision > 0) lease.notes.set_value(request.value, request.revision);"
    "")

# While long work is under way, what is due counts as done, and nobody overtakes (core/lock_table_parts.cc).
holdfast_mutant(due_lease_renewed
    core/lock_table_end.cc
    "if (!is_live(lease)) return {no_slot, Refusal::lease_ended};"
    ""
    core/lock_table_parts.cc
    "if (slot == no_slot || is_live(leases_[slot])) return;"
    "if (slot == no_slot || next_fence_ > 0) return;")

holdfast_mutant(due_lease_blocks
    core/lock_table_parts.cc
    "if (request.members.empty()) settle(request.scope);"
    "")

set(mutants_are_for_the_table ON)

holdfast_mutant(ending_session_granted
    core/lock_table_end.cc
    "return waiter.deadline <= now_ ||
           (waiter.session != no_slot && sessions_[waiter.session].is_ending);"
    "return waiter.deadline <= now_;")

holdfast_mutant(overtaken_in_a_hand_over
    core/lock_table_acquire.cc
    "return resource.waiter_count == 0 && has_room_for(resource, mode);"
    "if (resource.waiter_count == 0) return has_room_for(resource, mode);
        const Waiter& first = waiters_[resource.waiters.first];
        return !first.is_of_set() && has_room_for(resource, first.mode) && has_room_for(resource, mode);")

holdfast_mutant(step_is_cut
    core/lock_table_parts.cc
    "if (!is_one_step_) changes_.begin_step();"
    "changes_.begin_step();")

set(mutants_are_for_the_table OFF)

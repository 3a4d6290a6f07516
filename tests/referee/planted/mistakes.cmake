# Mistakes that the referee must find: docs/referee.md. holdfast_mistake(file text other_text ...) replaces texts, each of which must be in
# its file exactly once. The other text is wrong if holdfast_planted("its name") says so. planted.go says what shows each of them.

holdfast_mistake(core/lock_table_end.cc
    "Time expires_at = add_saturating(now_, ttl);"
    "Time expires_at = add_saturating(now_, holdfast_planted(\"renewal_falls_short\") ? ttl / 4 : ttl);"

    "lease.notes.set_value(request.value, lease.notes.revision() + 1);"
    "lease.notes.set_value(holdfast_planted(\"value_not_kept\") ? lease.notes.value() : request.value,
                          lease.notes.revision() + (holdfast_planted(\"value_without_revision\") ? 0 : 1));"

    "end_lease(found.slot, EventKind::released, request.cause);"
    "if (!holdfast_planted(\"release_forgotten\")) end_lease(found.slot, EventKind::released, request.cause);"

    "end_lease(lead(holder), is_held ? EventKind::released : EventKind::grace_ended,"
    "if (!holdfast_planted(\"release_by_name_forgotten\")) end_lease(lead(holder), is_held ? EventKind::released : EventKind::grace_ended,"

    "if (!is_meant || is_over(leases_[lease])) {"
    "if (!is_meant || is_over(leases_[lease]) || holdfast_planted(\"force_passes_leases_over\")) {"

    "if (lease.state == LeaseState::held && lease.grace > Duration::zero()) {"
    "if (lease.state == LeaseState::held && lease.grace > Duration::zero() && !holdfast_planted(\"no_grace\")) {"

    "is_to_end(next) || has_room_for(resource, next.mode);"
    "is_to_end(next) || holdfast_planted(\"granted_while_held\") || has_room_for(resource, next.mode);"

    "grant_waiter(next_slot);"
    "grant_waiter(holdfast_planted(\"queue_served_from_its_end\") && !waiters_[resource.waiters.last].is_of_set()
                             ? resource.waiters.last : next_slot);"

    "if (blocker != no_slot) {"
    "if (blocker != no_slot && !holdfast_planted(\"range_granted_while_held\")) {")

holdfast_mistake(core/lock_table_acquire.cc
    "lease.expires_at = add_saturating(now_, lease.ttl);"
    "lease.expires_at = add_saturating(now_, holdfast_planted(\"grant_falls_short\") ? lease.ttl / 4 : lease.ttl);"

    "return !conflicts(mode, leases_[resource.holders.first].mode);"
    "if (holdfast_planted(\"exclusive_joins_shared\")) return leases_[resource.holders.first].mode == Mode::shared;
    if (holdfast_planted(\"shared_excludes_shared\")) return false;
    return !conflicts(mode, leases_[resource.holders.first].mode);"

    "return resource.holder_count < resource.limit;"
    "return resource.holder_count + (holdfast_planted(\"one_permit_too_few\") ? 1 : 0) <
               resource.limit + (holdfast_planted(\"one_permit_too_many\") ? 1 : 0);"

    "return ranges_.find_conflict(resource.ranges, range, mode, after_everybody) == no_slot;"
    "return holdfast_planted(\"ranges_do_not_conflict\") ||
           ranges_.find_conflict(resource.ranges, range, mode, after_everybody) == no_slot;"

    "lease.token = {.fence = Fence{next_fence_++}, .secret = secret};"
    "lease.token = {.fence = Fence{next_fence_++}, .secret = secret};
    if (holdfast_planted(\"a_new_lease_has_no_time\") && as_number(lease.token.fence) % 8 == 0) lease.ttl = Duration{1};")

holdfast_mistake(core/lock_table_own.cc
    "if (leader.door != query.owner.door || leader.owner != query.owner.name) return false;"
    "if (leader.door != query.owner.door) return false;
    if (leader.owner != query.owner.name && !holdfast_planted(\"any_owner_is_the_same\")) return false;")

holdfast_mistake(core/lock_table_set.cc
    "one.is_free = one.resource == no_slot ||"
    "one.is_free = (holdfast_planted(\"set_looks_at_its_first_lock_only\") && !asked.empty()) || one.resource == no_slot ||")

holdfast_mistake(core/lock_table_set_queue.cc
    "if (leader.blocked > 0) return false;"
    "if (leader.blocked > 0 && !holdfast_planted(\"set_granted_in_part\")) return false;")

holdfast_mistake(core/lock_table_restore.cc
    "std::max(request.remaining, Duration{1})"
    "holdfast_planted(\"restored_lease_cut_short\") ? Duration{1} : std::max(request.remaining, Duration{1})")

holdfast_mistake(service/books/fence.cc
    "if (number < mark.highest) return answer(Kind::stale, mark);"
    "if (number < mark.highest) return answer(holdfast_planted(\"stale_fence_accepted\") ? Kind::accepted : Kind::stale, mark);"

    "if (number > mark.highest) set("
    "if (number > mark.highest && (mark.highest == 0 || !holdfast_planted(\"fence_not_raised\"))) set(")

holdfast_mistake(service/lock_service.cc
    "const CommitNumber commit = pipeline_.rests_on(statement_, response_.outcome);"
    "const CommitNumber commit = holdfast_planted(\"answer_before_its_commit\")
                                    ? no_commit : pipeline_.rests_on(statement_, response_.outcome);")

holdfast_mistake(service/lock_service_failure.cc
    "recovery.table->skip_fences_below(recovered.next_fence);"
    "if (!holdfast_planted(\"numbers_used_again_after_a_restart\")) recovery.table->skip_fences_below(recovered.next_fence);")

holdfast_mistake(service/commit_effect.cc
    "if (core::is_kept(change)) add(change);"
    "const bool is_forgotten = holdfast_planted(\"every_fourth_grant_not_written\") &&
                                  core::as_number(change.lease.token.fence) % 4 == 0;
        if (core::is_kept(change) && !is_forgotten) add(change);"

    "ends_.push_back(&change);\n    if (change.kind"
    "if (!holdfast_planted(\"end_not_written\")) ends_.push_back(&change);\n    if (change.kind")

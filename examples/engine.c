// A storage engine in C that writes under locks only. It is compiled and run by the tests, with the shared
// library and with the static one.

#include <holdfast/holdfast.h>
#include <stdio.h>
#include <string.h>

static char file[32] = "......................";

static int fail(const char* what, const holdfast_error* why) {
    fprintf(stderr, "%s: %s (%d)\n", what, why->message, (int)why->code);
    return 1;
}

// Refused unless the token is good for exactly these bytes of inode 7.
static holdfast_code write_with_lock(holdfast_locks* locks, const char* token, size_t start,
                                     const char* bytes, holdfast_error* why) {
    char scope[64];
    snprintf(scope, sizeof scope, "range:7:%zu-%zu", start, start + strlen(bytes));
    const holdfast_code code = holdfast_check(locks, token, scope, HOLDFAST_EXCLUSIVE, NULL, why);
    if (code == HOLDFAST_OK) memcpy(file + start, bytes, strlen(bytes));
    return code;
}

// Two writers on two regions of one file are not in each other's way.
static int write_two_regions(holdfast_locks* locks) {
    const holdfast_request head = {.scope = "range:7:0-5", .holder = "writer-1"};
    const holdfast_request tail = {.scope = "range:7:5-", .holder = "writer-2"};
    holdfast_error why;
    holdfast_lease *first, *second;
    if (holdfast_try_acquire(locks, &head, &first, &why)) return fail("head", &why);
    if (holdfast_try_acquire(locks, &tail, &second, &why)) return fail("tail", &why);

    const char* token = holdfast_lease_token(first);
    if (write_with_lock(locks, token, 0, "hold ", &why)) return fail("write", &why);
    if (write_with_lock(locks, holdfast_lease_token(second), 5, "fast", &why)) {
        return fail("write", &why);
    }
    if (write_with_lock(locks, token, 3, "----", &why) != HOLDFAST_SCOPE_MISMATCH) return 1;
    printf("refused: %s\n", why.message);

    holdfast_lease* another;
    if (holdfast_try_acquire(locks, &tail, &another, &why) != HOLDFAST_HELD) return 1;
    printf("refused: the rest of the file is held by %s\n", why.holder);

    // The lease lasts for a minute from now on.
    if (holdfast_renew(locks, token, 60000, NULL, &why)) return fail("renew", &why);
    if (holdfast_release(locks, token, &why)) return fail("release", &why);
    if (write_with_lock(locks, token, 0, "late ", &why) != HOLDFAST_EXPIRED) return 1;
    printf("refused: %s\n", why.message);
    if (holdfast_release(locks, holdfast_lease_token(second), &why)) return fail("release", &why);
    holdfast_lease_free(first);
    holdfast_lease_free(second);
    return 0;
}

static void stop_working(void* context, const holdfast_error* why) {
    (void)context;
    fprintf(stderr, "lost the lock: %s\n", why->message);
}

// A long job keeps the whole file, renewing its lease, and stops when it can no longer be sure.
static int count_letters(holdfast_locks* locks) {
    const holdfast_request whole = {.scope = "inode:7", .holder = "counter", .ttl_ms = 10000};
    const holdfast_heartbeat heartbeat = {.on_lost = stop_working};
    holdfast_error why;
    holdfast_guard* guard;
    if (holdfast_hold(locks, &whole, 60000, &heartbeat, NULL, &guard, &why)) {
        return fail("hold", &why);
    }
    int letters = 0;
    for (const char* at = file; *at != '.' && holdfast_guard_is_guaranteed(guard); ++at) {
        if (*at != ' ') ++letters;
    }
    // Storage that cannot compare fencing tokens itself asks before every use.
    const uint64_t number = holdfast_guard_fencing_token(guard);
    if (holdfast_pass_fence(locks, "bucket", number, &why)) return fail("fence", &why);
    if (holdfast_pass_fence(locks, "bucket", number - 1, &why) != HOLDFAST_STALE_FENCE) return 1;
    // An error if the lock was lost before: then the count may be wrong.
    const holdfast_code released = holdfast_guard_release(guard, &why);
    holdfast_guard_free(guard);
    if (released != HOLDFAST_OK) return fail("release", &why);
    printf("%d letters in \"%.9s\"\n", letters, file);
    return letters == 8 ? 0 : 1;
}

// With a path, locks and fencing tokens survive the program. Of a server: holdfast_connect().
int main(int count, char** words) {
    holdfast_error why;
    holdfast_locks* locks;
    if (holdfast_open(count > 1 ? words[1] : NULL, &locks, &why)) return fail("open", &why);
    const int failed = write_two_regions(locks) || count_letters(locks);
    holdfast_close(locks);
    return failed;
}

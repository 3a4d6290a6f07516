/* A library that is loaded before all others (LD_PRELOAD) into a program whose disk and clock are to fail: docs/referee.md.
 *
 * It stands between the program and the calls of the kernel that write files and tell the time of day. What it does is in a small
 * file that the referee changes while the program runs (REFEREE_CONTROL). Only files beneath REFEREE_FOLDER are touched. If
 * REFEREE_RECORD is set, each write, sync, cut, rename and removal there is appended to that file, so that the referee can build what
 * a loss of power at any moment leaves behind.
 *
 * Monotonic clocks are left alone. The program must write with the calls below: neither through a mapped file nor through io_uring.
 */

#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

/* The file of REFEREE_CONTROL. The order and the sizes are those of preload.go. */
struct control {
    _Atomic int64_t write_error; /* an errno for every write; 0: none */
    _Atomic int64_t sync_error;  /* an errno for every sync; 0: none */
    _Atomic int64_t
        sync_ms; /* how long every sync, and every write that syncs, takes in addition */
    _Atomic int64_t clock_ns; /* what the time of day is ahead */
    _Atomic int64_t writes;   /* counts writes */
    _Atomic int64_t failures; /* counts writes and syncs that were refused */
};

/* What precedes the path, and the bytes, of each entry of REFEREE_RECORD. */
struct entry {
    uint32_t kind;
    uint32_t path_size;
    int64_t offset; /* of a write; the new size of a cut; the size of the new path of a rename */
    int64_t size;   /* of the bytes that follow the path */
};
enum { WRITE = 1, DURABLE_WRITE = 2, SYNC = 3, CUT = 4, RENAME = 5, REMOVE = 6 };

static struct control nothing;
static struct control* control = &nothing;
static const char* folder;
static int record = -1;

__attribute__((constructor)) static void begin(void) {
    const char* path = getenv("REFEREE_CONTROL");
    folder = getenv("REFEREE_FOLDER");
    if (path != NULL) {
        int file = (int)syscall(SYS_openat, AT_FDCWD, path, O_RDWR | O_CLOEXEC, 0);
        if (file >= 0) {
            void* mapped =
                mmap(NULL, sizeof(struct control), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
            if (mapped != MAP_FAILED) control = mapped;
            syscall(SYS_close, file);
        }
    }
    path = getenv("REFEREE_RECORD");
    if (path != NULL) {
        record = (int)syscall(SYS_openat, AT_FDCWD, path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC,
                              0600);
    }
}

static int is_ours(const char* path) {
    return folder != NULL && strncmp(path, folder, strlen(folder)) == 0;
}

/* The path of a descriptor, if it is a file beneath the folder. */
static int path_of(int descriptor, char* path, size_t size) {
    char link[64];
    if (folder == NULL) return 0;
    snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
    ssize_t length = syscall(SYS_readlink, link, path, size - 1);
    if (length <= 0) return 0;
    path[length] = 0;
    return is_ours(path);
}

/* One call for each entry: appended as a whole, also if several threads write. */
static void note(uint32_t kind, const char* path, int64_t offset, const void* bytes, size_t size) {
    if (record < 0) return;
    struct entry head = {kind, (uint32_t)strlen(path), offset, (int64_t)size};
    struct iovec parts[] = {
        {&head, sizeof head}, {(void*)path, head.path_size}, {(void*)bytes, size}};
    (void)!syscall(SYS_writev, record, parts, 3);
}

static int refuse(_Atomic int64_t* error) {
    int64_t number = atomic_load(error);
    if (number == 0) return 0;
    atomic_fetch_add(&control->failures, 1);
    errno = (int)number;
    return 1;
}

static void wait_for_disk(void) {
    int64_t ms = atomic_load(&control->sync_ms);
    struct timespec rest = {ms / 1000, ms % 1000 * 1000000};
    while (ms > 0 && syscall(SYS_nanosleep, &rest, &rest) != 0 && errno == EINTR) {
    }
}

static ssize_t write_at(int descriptor, const void* bytes, size_t size, int64_t offset,
                        int has_offset) {
    char path[4096];
    int ours = path_of(descriptor, path, sizeof path);
    int64_t place = offset;
    int is_durable = 0;
    if (ours) {
        atomic_fetch_add(&control->writes, 1);
        if (refuse(&control->write_error)) return -1;
        is_durable = (fcntl(descriptor, F_GETFL) & O_DSYNC) != 0;
        if (!has_offset) place = syscall(SYS_lseek, descriptor, 0, SEEK_CUR);
        if (is_durable) wait_for_disk();
    }
    ssize_t written = has_offset ? syscall(SYS_pwrite64, descriptor, bytes, size, offset)
                                 : syscall(SYS_write, descriptor, bytes, size);
    if (ours && written > 0)
        note(is_durable ? DURABLE_WRITE : WRITE, path, place, bytes, (size_t)written);
    return written;
}

ssize_t write(int descriptor, const void* bytes, size_t size) {
    return write_at(descriptor, bytes, size, 0, 0);
}
ssize_t pwrite(int descriptor, const void* bytes, size_t size, off_t offset) {
    return write_at(descriptor, bytes, size, offset, 1);
}
ssize_t pwrite64(int descriptor, const void* bytes, size_t size, off64_t offset) {
    return write_at(descriptor, bytes, size, offset, 1);
}

static int sync_with(long call, int descriptor) {
    char path[4096];
    int ours = path_of(descriptor, path, sizeof path);
    if (ours) {
        wait_for_disk();
        if (refuse(&control->sync_error)) return -1;
    }
    int result = (int)syscall(call, descriptor);
    if (ours && result == 0) note(SYNC, path, 0, NULL, 0);
    return result;
}

int fsync(int descriptor) {
    return sync_with(SYS_fsync, descriptor);
}
int fdatasync(int descriptor) {
    return sync_with(SYS_fdatasync, descriptor);
}

static int cut(int descriptor, int64_t size) {
    char path[4096];
    int ours = path_of(descriptor, path, sizeof path);
    if (ours && refuse(&control->write_error)) return -1;
    int result = (int)syscall(SYS_ftruncate, descriptor, size);
    if (ours && result == 0) note(CUT, path, size, NULL, 0);
    return result;
}

int ftruncate(int descriptor, off_t size) {
    return cut(descriptor, size);
}
int ftruncate64(int descriptor, off64_t size) {
    return cut(descriptor, size);
}

int rename(const char* from, const char* to) {
    int result = (int)syscall(SYS_rename, from, to);
    if (result == 0 && is_ours(from)) note(RENAME, from, (int64_t)strlen(to), to, strlen(to));
    return result;
}

int unlink(const char* path) {
    int result = (int)syscall(SYS_unlink, path);
    if (result == 0 && is_ours(path)) note(REMOVE, path, 0, NULL, 0);
    return result;
}

int clock_gettime(clockid_t clock, struct timespec* time) {
    int result = (int)syscall(SYS_clock_gettime, clock, time);
    if (result == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) {
        int64_t ahead = time->tv_nsec + atomic_load(&control->clock_ns);
        int64_t seconds = ahead / 1000000000;
        if (ahead % 1000000000 < 0) --seconds;
        time->tv_sec += seconds;
        time->tv_nsec = ahead - seconds * 1000000000;
    }
    return result;
}

int gettimeofday(struct timeval* time, void* zone) {
    struct timespec now;
    (void)zone;
    if (clock_gettime(CLOCK_REALTIME, &now) != 0) return -1;
    time->tv_sec = now.tv_sec;
    time->tv_usec = now.tv_nsec / 1000;
    return 0;
}

time_t time(time_t* result) {
    struct timespec now;
    if (clock_gettime(CLOCK_REALTIME, &now) != 0) return -1;
    if (result != NULL) *result = now.tv_sec;
    return now.tv_sec;
}

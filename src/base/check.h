#pragma once

// CHECK: a bug found is a program stopped.
//
// A lock given twice is worse than a server that is down, so checks are on in every build. They are
// for what our own code has promised, never for what a user, a peer or a disk may do.

namespace holdfast::base {

// Prints the place and the broken promise to standard error, behind what is in the log, and aborts.
// A reader of standard error that does not keep up delays that by two seconds at most.
[[noreturn]] void check_failed(const char* file, int line, const char* promise);

}  // namespace holdfast::base

#define CHECK(promise)                                                    \
    do {                                                                  \
        if (!(promise)) [[unlikely]] {                                    \
            ::holdfast::base::check_failed(__FILE__, __LINE__, #promise); \
        }                                                                 \
    } while (false)

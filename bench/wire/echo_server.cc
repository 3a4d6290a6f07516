// echo_server REQUEST_BYTES ANSWER_BYTES: what the kernel alone allows.
//
// An EchoLoop. No server that reads its requests can do less, so its rate is the honest upper bound
// for one with the same message sizes.

#include <cstdio>
#include <cstdlib>

#include "wire/echo_loop.h"

int main(int argument_count, char** arguments) {
    holdfast::bench::EchoOptions options;
    if (argument_count == 3) {
        options.request_bytes = std::strtoul(arguments[1], nullptr, 10);
        options.answer_bytes = std::strtoul(arguments[2], nullptr, 10);
    }
    if (options.request_bytes == 0 || options.answer_bytes == 0) {
        std::fputs("usage: echo_server REQUEST_BYTES ANSWER_BYTES\n", stderr);
        return 2;
    }
    holdfast::bench::EchoLoop(options).run();
}

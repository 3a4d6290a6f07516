#include <cstdlib>
#include <cstring>

// Whether this mistake was planted: the environment names one. Of a program for tests alone (mistakes.cmake).
bool holdfast_planted(const char* name);

bool holdfast_planted(const char* name) {
    static const char* const chosen = std::getenv("HOLDFAST_PLANTED");
    return chosen != nullptr && std::strcmp(chosen, name) == 0;
}

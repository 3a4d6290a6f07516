#include "sim/history.h"

#include <utility>

namespace holdfast::sim {

void History::add(std::string line) {
    for (const char letter : line) {  // FNV-1a: the same on every machine
        hash_ = (hash_ ^ static_cast<unsigned char>(letter)) * 0x100000001b3;
    }
    lines_.push_back(std::move(line));
    if (lines_.size() > lines_max_) lines_.pop_front();
}

}  // namespace holdfast::sim

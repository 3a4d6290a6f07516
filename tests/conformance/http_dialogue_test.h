#pragma once

// Dialogues as the rows of a test. Each is held with one I/O thread and with three.

#include <gtest/gtest.h>

#include <cstddef>
#include <ostream>
#include <string>
#include <tuple>
#include <vector>

#include "http_dialogue.h"

namespace holdfast::conformance {

struct Row {
    std::string name;
    std::string text;
};

inline void PrintTo(const Row& row, std::ostream* out) {  // NOLINT(readability-identifier-naming)
    *out << row.name;
}

class DialogueTest : public ::testing::TestWithParam<std::tuple<Row, std::size_t>> {
  protected:
    static void hold() {
        const auto& [row, threads] = GetParam();
        TestHost host(threads);
        Dialogue(host).hold(row.text);
    }
};

inline auto with_threads(const std::vector<Row>& rows) {
    return ::testing::Combine(::testing::ValuesIn(rows), ::testing::Values(1, 3));
}

inline std::string name_of(const ::testing::TestParamInfo<DialogueTest::ParamType>& info) {
    return std::get<0>(info.param).name + "With" + std::to_string(std::get<1>(info.param));
}

}  // namespace holdfast::conformance

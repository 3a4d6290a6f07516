// write_scripts SEED COUNT: prints so many scripts of the grammar, one on each line.

#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <random>
#include <string>
#include <vector>

#include "script_grammar.h"

int main(int count, char** words) {
    if (count != 3) return EXIT_FAILURE;
    std::mt19937 random(static_cast<std::uint32_t>(std::strtoul(words[1], nullptr, 10)));
    for (long left = std::strtol(words[2], nullptr, 10); left > 0; --left) {
        std::vector<std::uint8_t> choices(16 + random() % 240);
        for (std::uint8_t& choice : choices) choice = static_cast<std::uint8_t>(random());
        std::cout << holdfast::doors::redis::ScriptGrammar(choices).script() << '\n';
    }
    return EXIT_SUCCESS;
}

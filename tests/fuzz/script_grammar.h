#pragma once

// ScriptGrammar: scripts of Redis clients, made from choices. A fuzzer chooses by the bytes of its
// input, the comparison with Redis at random.
//
// Every script is one that the Redis door understands, unless it is beyond a limit: the grammar
// makes chains, loops, calls and lists of any size on purpose. A script that runs to its end at the
// Redis door does the same at Redis, with the same reply and the same keys. So a value is only set
// where the key has that value or none, lists have no holes, and no text of an error is looked at.
// It expects two or more keys, the value in ARGV[1] and a time in milliseconds in ARGV[2].

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast::doors::redis {

class ScriptGrammar {
  public:
    // Without bytes left, every choice is the first, which never leads deeper.
    explicit ScriptGrammar(std::vector<std::uint8_t> choices) : choices_(std::move(choices)) {}

    // The next script. On one line.
    std::string script();
    [[nodiscard]] bool is_used_up() const { return used_ >= choices_.size(); }

  private:
    std::size_t choose(std::size_t count);
    std::string one_of(std::initializer_list<std::string_view> texts);
    // How often something is repeated: a few times, or about as often as a limit allows.
    int times();

    std::string key();
    std::string number();
    std::string text();
    std::string list();
    std::string look();
    std::string change();
    std::string value();
    std::string nested_value();
    std::string chain();
    std::string condition();
    std::string statement();
    std::string doubling();
    std::string block();
    std::string function();

    // Something is within something else, as long as the object lives.
    class Level {
      public:
        explicit Level(int& depth) : depth_(depth) { ++depth_; }
        ~Level() { --depth_; }
        Level(const Level&) = delete;
        Level& operator=(const Level&) = delete;

      private:
        int& depth_;
    };
    [[nodiscard]] bool may_nest() const { return depth_ < 6; }

    const std::vector<std::uint8_t> choices_;
    std::size_t used_ = 0;
    int depth_ = 0;
    bool has_function_ = false;  // f(a) can be called
};

}  // namespace holdfast::doors::redis

// redis_run_fuzzer: runs scripts of Redis clients, made by a grammar from the bytes of the input.
//
// The scripts of an input share one budget, as those of an EXEC do. They run on a thread with a stack
// of 256 KiB, and what they allocate is counted: a script ends with a reply within its budget, its
// stack and its memory, and the same scripts give the same replies again. Under AddressSanitizer and
// UndefinedBehaviorSanitizer, where a level of recursion takes more stack than in the program.

#include <pthread.h>
#include <sanitizer/allocator_interface.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/check.h"
#include "doors/redis/script/evaluator.h"
#include "doors/redis/script/parser.h"
#include "doors/redis/script/value.h"
#include "script_grammar.h"

namespace holdfast::doors::redis {
namespace {

constexpr std::size_t stack_bytes = std::size_t{256} * 1024;
// A budget of 1 MiB, the variant of each of 20 000 steps, and the tree and tokens of a script.
constexpr std::int64_t memory_bytes_max = std::int64_t{6} << 20;
constexpr std::size_t scripts_max_in_step = 4;

// What the thread that runs scripts has allocated.
struct Memory {
    std::int64_t alive = 0;
    std::int64_t most = 0;
};
thread_local Memory* memory = nullptr;

void on_allocation(const volatile void* /*place*/, std::size_t size) {
    if (memory == nullptr) return;
    memory->alive += static_cast<std::int64_t>(size);
    memory->most = std::max(memory->most, memory->alive);
}

void on_release(const volatile void* place) {
    if (memory == nullptr || place == nullptr) return;
    const void* const allocated = const_cast<const void*>(place);
    memory->alive -= static_cast<std::int64_t>(__sanitizer_get_allocated_size(allocated));
}

// The commands of the grammar, on a map without times.
class MapCommands final : public ScriptCommands {
  public:
    Reply call(const std::vector<std::string_view>& words) override {
        CHECK(!words.empty());
        if (words.size() < 2) return Reply::error("ERR wrong number of arguments");
        const std::string name(words[0]), key(words[1]);
        if (name == "get" || name == "getrange") return get(key);
        if (name == "type") return Reply::status(values_.contains(key) ? "string" : "none");
        if (name == "exists") return Reply::integer(count(words));
        if (name == "pttl") return Reply::integer(values_.contains(key) ? 30'000 : -2);
        if (name == "pexpire" || name == "persist") return Reply::integer(count(words));
        if (name == "del") {
            const std::int64_t before = count(words);
            for (std::size_t index = 1; index < words.size(); ++index) {
                values_.erase(std::string(words[index]));
            }
            return Reply::integer(before);
        }
        if (name == "mget") {
            Reply list = Reply::array({});
            for (std::size_t index = 1; index < words.size(); ++index) {
                list.items.push_back(get(std::string(words[index])));
            }
            return list;
        }
        if ((name == "set" || name == "setnx") && words.size() > 2) {
            values_[key] = words[2];
            return Reply::ok();
        }
        return Reply::error("ERR unknown command");
    }

  private:
    [[nodiscard]] Reply get(const std::string& key) const {
        const auto found = values_.find(key);
        return found == values_.end() ? Reply::null() : Reply::bulk(found->second);
    }
    [[nodiscard]] std::int64_t count(const std::vector<std::string_view>& words) const {
        std::int64_t count = 0;
        for (std::size_t index = 1; index < words.size(); ++index) {
            count += values_.contains(std::string(words[index])) ? 1 : 0;
        }
        return count;
    }
    std::map<std::string, std::string> values_{{"a", "me"}};
};

// Whether the parser has refused the script because of a limit: the grammar makes no other mistakes.
bool is_of_a_limit(std::string_view fault) {
    constexpr std::array limits{"levels", "nested more than", "words and signs", "bytes",
                                "local variables"};
    return std::any_of(limits.begin(), limits.end(), [&](const char* limit) {
        return fault.find(limit) != std::string_view::npos;
    });
}

// The replies of the scripts of one step, as a client reads them.
std::string run_scripts(const std::vector<std::uint8_t>& choices) {
    ScriptGrammar grammar(choices);
    StepBudget budget;
    MapCommands commands;
    const std::string large(60'000, 'm');
    std::string written;
    for (std::size_t count = 0; count < scripts_max_in_step && !grammar.is_used_up(); ++count) {
        const std::string text = grammar.script();
        if (std::getenv("SHOW_SCRIPTS") != nullptr) std::cerr << text << '\n';
        const auto script = parse_script(text);
        if (!script) {
            CHECK(is_of_a_limit(script.error().message));
            continue;
        }
        CHECK(script->bytes < std::size_t{512} * 1024);
        const std::string_view value = count % 2 == 0 ? std::string_view("me") : large;
        const Reply reply = run_script(*script, {.keys = {"a", "b", "c"}, .args = {value, "30000"}},
                                       commands, budget);
        append_reply(written, reply, RespVersion::resp2);
        CHECK(budget.steps() <= step_steps_max && budget.bytes() <= step_bytes_max);
    }
    return written;
}

// The same on a thread with a small stack, with its memory counted.
struct Task {
    std::vector<std::uint8_t> choices;
    std::string written;
    Memory used;

    static void* enter(void* given) {
        auto& task = *static_cast<Task*>(given);
        memory = &task.used;
        task.written = run_scripts(task.choices);
        memory = nullptr;
        return nullptr;
    }
};

std::string run_on_small_stack(const std::vector<std::uint8_t>& choices) {
    Task task{.choices = choices, .written = {}, .used = {}};
    pthread_attr_t attributes;
    CHECK(pthread_attr_init(&attributes) == 0);
    CHECK(pthread_attr_setstacksize(&attributes, stack_bytes) == 0);
    pthread_t thread{};
    CHECK(pthread_create(&thread, &attributes, Task::enter, &task) == 0);
    CHECK(pthread_join(thread, nullptr) == 0);
    pthread_attr_destroy(&attributes);
    CHECK(task.used.most <= memory_bytes_max);
    return task.written;
}

}  // namespace
}  // namespace holdfast::doors::redis

// The names are libFuzzer's. NOLINTBEGIN(readability-identifier-naming)
extern "C" int LLVMFuzzerInitialize(int* /*count*/, char*** /*arguments*/) {
    using namespace holdfast::doors::redis;
    CHECK(__sanitizer_install_malloc_and_free_hooks(on_allocation, on_release) != 0);
    return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace holdfast::doors::redis;
    const std::vector<std::uint8_t> choices(data, data + size);
    CHECK(run_on_small_stack(choices) == run_on_small_stack(choices));
    return 0;
}
// NOLINTEND(readability-identifier-naming)

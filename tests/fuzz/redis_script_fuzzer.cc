// redis_script_fuzzer: any text as a script of a Redis client.
//
// The script is refused, or it runs and ends; the same script in the same state gives the same reply.
// Under AddressSanitizer and UndefinedBehaviorSanitizer.

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/check.h"
#include "doors/redis/script/evaluator.h"
#include "doors/redis/script/parser.h"

namespace holdfast::doors::redis {
namespace {

// A few commands on a map.
class MapCommands final : public ScriptCommands {
  public:
    Reply call(const std::vector<std::string_view>& words) override {
        CHECK(!words.empty());
        const std::string key(words.size() > 1 ? words[1] : "");
        if (words[0] == "get") {
            const auto found = values_.find(key);
            return found == values_.end() ? Reply::null() : Reply::bulk(found->second);
        }
        if (words[0] == "set" && words.size() > 2) {
            values_[key] = words[2];
            return Reply::ok();
        }
        if (words[0] == "del") {
            return Reply::integer(static_cast<std::int64_t>(values_.erase(key)));
        }
        if (words[0] == "mget") return Reply::array({Reply::bulk(key), Reply::null()});
        return Reply::error("ERR unknown");
    }

  private:
    std::map<std::string, std::string> values_{{"a", "me"}};
};

std::string run(const Script& script) {
    MapCommands commands;
    std::string written;
    const ScriptInput input{.keys = {"a", "b"}, .args = {"me", "30000", "0"}};
    StepBudget budget;
    append_reply(written, run_script(script, input, commands, budget), RespVersion::resp3);
    return written;
}

}  // namespace
}  // namespace holdfast::doors::redis

// The name is libFuzzer's. NOLINTNEXTLINE(readability-identifier-naming)
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace holdfast::doors::redis;
    const auto script = parse_script({reinterpret_cast<const char*>(data), size});
    if (script) {
        CHECK(run(*script) == run(*script));
    } else {
        CHECK(!script.error().message.empty());
    }
    return 0;
}

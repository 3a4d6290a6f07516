// A client of the SDK for C++. Arguments: server, file of the token, name, seed, the beginning of the run in nanoseconds.

#include <holdfast/client.h>
#include <time.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <random>
#include <string>
#include <thread>
#include <variant>

namespace {

using namespace std::chrono_literals;

constexpr std::int64_t generation_ns = 4'000'000'000;  // as long, all recorders use the same names
constexpr auto ttl = 2000ms;

// CLOCK_MONOTONIC, as all recorders have it.
std::int64_t now() {
    timespec at{};
    clock_gettime(CLOCK_MONOTONIC, &at);
    return std::int64_t{at.tv_sec} * 1'000'000'000 + at.tv_nsec;
}

// Writes the lines. What is written has no character that JSON would write in another way.
class Lines {
  public:
    explicit Lines(std::string owner) : owner_(std::move(owner)) {}

    int invoke(const std::string& kind, const std::string& scope, const std::string& more = "") {
        std::printf(
            R"({"event":"invoked","op":%d,"at_ns":%lld,"client":"%s","door":"cpp","kind":"%s",)"
            R"("scopes":["%s"],"owner":"%s"%s})"
            "\n",
            ++next, static_cast<long long>(now()), owner_.c_str(), kind.c_str(), scope.c_str(),
            owner_.c_str(), more.c_str());
        std::fflush(stdout);
        return next;
    }
    static void end(int operation, const char* outcome, const std::string& more = "") {
        std::printf(R"({"event":"%s","op":%d,"at_ns":%lld%s})"
                    "\n",
                    outcome, operation, static_cast<long long>(now()), more.c_str());
        std::fflush(stdout);
    }
    [[nodiscard]] const std::string& owner() const { return owner_; }

    inline static int next = 0;

  private:
    std::string owner_;
};

class Recorder {
  public:
    Recorder(holdfast::Client& client, std::mt19937_64& random)
        : client_(client), random_(random) {}

    void cycle(Lines& lines, std::int64_t start_ns) {
        const std::string scope = "sdk" + std::to_string((now() - start_ns) / generation_ns) + "-" +
                                  std::to_string(below(3));
        const bool is_shared = below(4) == 0;
        const auto wait = 500ms * below(4);
        const std::int64_t began_ns = now();
        int operation =
            lines.invoke("acquire", scope,
                         R"(,"ttl_ms":2000,"wait_ms":)" + std::to_string(wait.count() + 1) +
                             (is_shared ? R"(,"shared":true)" : ""));
        auto guard = client_.hold(
            {.scope = holdfast::LockScope::Named{scope},
             .holder = lines.owner(),
             .ttl = ttl,
             .mode = is_shared ? holdfast::LockMode::shared : holdfast::LockMode::exclusive},
            wait);
        if (!guard) {
            const auto* const held = std::get_if<holdfast::LockHeld>(&guard.error());
            // The SDK asks again when there is no answer. If that took long, the first request may have been granted, and its
            // lease may have ended since: then the refusal does not say that there was no effect.
            const bool is_prompt = now() - began_ns < (wait + 1000ms) / 1ns;
            if (held == nullptr || !is_prompt) return Lines::end(operation, "unknown");
            return Lines::end(operation, "refused", R"(,"holder":")" + held->holder + "\"");
        }
        const std::string token = guard->lease().token,
                          number = std::to_string(guard->fencing_token());
        Lines::end(operation, "ok", R"(,"granted_token":")" + token + R"(","number":)" + number);
        for (int step = below(8); step > 0; --step) {
            std::this_thread::sleep_for(1ms * below(600));
            operation = lines.invoke("look", scope);
            if (guard->is_guaranteed()) {
                Lines::end(operation, "ok",
                           R"(,"holder":")" + lines.owner() + R"(","number":)" + number);
            } else {
                Lines::end(operation, "failed");
            }
        }
        operation = lines.invoke("release", scope, R"(,"token":")" + token + "\"");
        Lines::end(operation, guard->release() ? "ok" : "unknown");
    }

    int below(int limit) { return static_cast<int>(random_() % static_cast<unsigned>(limit)); }

  private:
    holdfast::Client& client_;
    std::mt19937_64& random_;
};

}  // namespace

int main(int count, char** arguments) {
    if (count < 6) return 2;
    std::mt19937_64 random(std::stoull(arguments[4]));
    auto client = holdfast::Client::open({.servers = {arguments[1]},
                                          .token_file = arguments[2],
                                          .timeout = 2000ms,
                                          .retry_for = 3000ms});
    if (!client) return 1;
    Recorder recorder(*client, random);
    for (int life = 1;; ++life) {
        Lines lines(std::string(arguments[3]) + "-" + std::to_string(life));
        recorder.cycle(lines, std::stoll(arguments[5]));
        std::this_thread::sleep_for(10ms + 1ms * recorder.below(90));
    }
}

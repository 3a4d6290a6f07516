#include "wire/round.h"

#include <algorithm>

namespace holdfast::bench {

namespace {

constexpr auto warm_up = std::chrono::milliseconds(250);

double microseconds(std::chrono::nanoseconds time) {
    return std::chrono::duration<double, std::micro>(time).count();
}

}  // namespace

base::Result<void> run_round(LoadClient& client, const ServerProcess& server,
                             std::chrono::duration<double> duration, Figures& figures) {
    TRY(client.run(warm_up));
    const auto cpu_before = server.cpu_time();
    const auto first_thread_before = server.first_thread_time();
    const auto sleeps_before = server.sleeps();
    TRY(const auto result,
        client.run(std::chrono::duration_cast<std::chrono::nanoseconds>(duration)));
    const auto cpu = server.cpu_time() - cpu_before;
    const auto first_thread = server.first_thread_time() - first_thread_before;
    const auto sleeps = server.sleeps() - sleeps_before;
    figures.per_second.push_back(result.answers_per_second());
    figures.p50_us.push_back(microseconds(result.latency.quantile(0.5)));
    figures.p99_us.push_back(microseconds(result.latency.quantile(0.99)));
    const auto answers = static_cast<double>(result.latency.count());
    figures.cpu_us.push_back(microseconds(cpu) / answers);
    figures.first_thread_cpu_us.push_back(microseconds(first_thread) / answers);
    figures.sleeps.push_back(static_cast<double>(sleeps) / answers);
    return {};
}

double median(std::vector<double> values) {
    std::sort(values.begin(), values.end());
    const std::size_t middle = values.size() / 2;
    return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

double median_ratio(const std::vector<double>& values, const std::vector<double>& others) {
    std::vector<double> ratios;
    for (std::size_t round = 0; round < values.size(); ++round) {
        ratios.push_back(values[round] / others[round]);
    }
    return median(std::move(ratios));
}

}  // namespace holdfast::bench

#include "doors/redis/step_budget.h"

#include <fmt/format.h>

namespace holdfast::doors::redis {

base::Error StepBudget::explain(Meter meter) {
    constexpr std::array what{"takes more than {} steps", "makes more than {} bytes",
                              "looks at more than {} keys", "returns more than {} values"};
    const auto index = static_cast<std::size_t>(meter);
    const std::string reason = fmt::format(fmt::runtime(what[index]), limits[index]);
    return {.message = "ERR the script or transaction " + reason};
}

}  // namespace holdfast::doors::redis

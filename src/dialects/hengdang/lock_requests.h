#pragma once

// `GET /<file>?lock=acquire|release|refresh|status`.

#include <memory>
#include <string>

#include "dialects/hengdang/exchange.h"
#include "dialects/hengdang/request_parts.h"

namespace holdfast::dialects::hengdang {

struct LockOrder {
    LockWish wish;
    files::FilePath path;
    std::string session_id;  // of a session that lives
    std::string session_name;
};

// Answers it. On the loop.
void run_lock_order(const std::shared_ptr<Exchange>& exchange, LockOrder order);

}  // namespace holdfast::dialects::hengdang

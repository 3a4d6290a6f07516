#pragma once

// `GET /<file>?lock=acquire|release|refresh|status`.

#include <memory>
#include <string>

#include "doors/hengdang/exchange.h"
#include "doors/hengdang/http/request_parts.h"

namespace holdfast::doors::hengdang {

struct LockRequest {
    LockAction action;
    files::FilePath path;
    std::string session_id;  // of a session that lives
    std::string session_name;
};

// Answers it. On the loop.
void run_lock_request(const std::shared_ptr<Exchange>& exchange, LockRequest lock);

}  // namespace holdfast::doors::hengdang

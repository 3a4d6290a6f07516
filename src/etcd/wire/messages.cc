#include "etcd/wire/messages.h"

#include <utility>

namespace holdfast::etcd {

std::string end_of_prefix(std::string_view prefix) {
    std::string end(prefix);
    while (!end.empty() && static_cast<unsigned char>(end.back()) == 0xff) end.pop_back();
    if (end.empty()) return std::string(1, '\0');  // to the end of all keys
    end.back() = static_cast<char>(static_cast<unsigned char>(end.back()) + 1);
    return end;
}

Operation Operation::range(std::string key) {
    return {.kind = Kind::range, .key = std::move(key)};
}

Operation Operation::put(std::string key, std::string value, LeaseId lease) {
    return {.kind = Kind::put, .key = std::move(key), .value = std::move(value), .lease = lease};
}

Operation Operation::remove(std::string key) {
    return {.kind = Kind::remove, .key = std::move(key)};
}

Operation Operation::transaction(Transaction nested) {
    return {.kind = Kind::transaction,
            .key = {},
            .nested = std::make_shared<const Transaction>(std::move(nested))};
}

}  // namespace holdfast::etcd

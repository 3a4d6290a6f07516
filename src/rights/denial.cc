#include "rights/denial.h"

#include <string_view>

#include "base/check.h"
#include "base/json/json.h"
#include "base/log/log.h"

namespace holdfast::rights {

namespace {

// `what`: for people, what the right is missing on.
Denial make_denial(const Token& client, const Denial& denial, Door door, std::string_view what) {
    client.count_denial(denial.right);
    if (const auto left_out = client.may_log_denial(Token::LogClock::now())) {
        base::log(base::LogLevel::warning, "denied",
                  {{"token", client.name()},
                   {"right", to_text(denial.right)},
                   {"scope", denial.scope},
                   {"door", to_text(door)},
                   {"left_out", *left_out}});
    }
    Denial whole = denial;
    whole.sentence.append("the token ").append(client.name()).append(" lacks the right ");
    whole.sentence.append(to_text(denial.right)).append(" on ").append(what);
    whole.sentence.append(" at the door ").append(to_text(door));
    return whole;
}

}  // namespace

Denial refuse(const Token& client, const Need& need) {
    const Denial denial{.right = need.right, .scope = core::to_text(need.scope), .sentence = {}};
    return make_denial(client, denial, need.door, denial.scope);
}

Denial refuse_lease(const Token& client, const Need& need) {
    if (client.may(Right::read, need.door, need.scope)) return refuse(client, need);
    const Denial denial{.right = need.right, .scope = core::to_text(need.scope), .sentence = {}};
    Denial told = make_denial(client, denial, need.door, "what this lease is on");
    told.scope.clear();
    return told;
}

Denial refuse_everything(const Token& client, Right right, Door door) {
    return make_denial(client, {.right = right, .scope = "*", .sentence = {}}, door, "everything");
}

Denial refuse_anything(const Token& client, Right right, Door door) {
    return make_denial(client, {.right = right, .scope = "*", .sentence = {}}, door, "anything");
}

void add_to_json(std::string& body, const Denial& denial) {
    const bool has_line_end = body.ends_with('\n');
    if (has_line_end) body.pop_back();
    CHECK(body.ends_with('}'));
    body.pop_back();
    body.append(",\"right\":\"").append(to_text(denial.right)).append("\"");
    if (!denial.scope.empty()) {
        body.append(",\"on\":");
        base::append_json_string(body, denial.scope);
    }
    body.append(has_line_end ? "}\n" : "}");
}

}  // namespace holdfast::rights

#include "http_dialogue.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <regex>

#include "base/text/rfc3339.h"

namespace holdfast::conformance {

namespace {

constexpr std::int64_t start_ms = 1'705'314'600'000;  // 2024-01-15T10:30:00Z

bool is_digit(char c) {
    return c >= '0' && c <= '9';
}
bool is_of_name(char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
}

// What of a text belongs together, from its beginning.
template <class Belongs>
std::string_view leading(std::string_view text, Belongs belongs) {
    const auto end = std::find_if_not(text.begin(), text.end(), belongs);
    return text.substr(0, static_cast<std::size_t>(end - text.begin()));
}

// The first word; it and the space behind it are taken away.
std::string_view take_word(std::string_view& text) {
    const std::string_view word = text.substr(0, text.find(' '));
    text.remove_prefix(std::min(text.size(), word.size() + 1));
    return word;
}

bool is_uuid_4(const std::string& text) {
    static const std::regex form(
        "[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}");
    return std::regex_match(text, form);
}

}  // namespace

void Dialogue::hold(std::string_view text) {
    while (!text.empty() && !::testing::Test::HasFatalFailure()) {
        std::string_view line = text.substr(0, text.find('\n'));
        text.remove_prefix(std::min(text.size(), line.size() + 1));
        line.remove_prefix(std::min(line.size(), line.find_first_not_of(' ')));
        if (line.empty() || line.starts_with('#')) continue;
        const ::testing::ScopedTrace trace(__FILE__, __LINE__, std::string(line.substr(0, 300)));
        say(line);
    }
}

std::string Dialogue::blank(const std::string& name) const {
    const auto found = blanks_.find(name);
    return found == blanks_.end() ? "" : found->second;
}

void Dialogue::say(std::string_view line) {
    if (line.starts_with('+')) {
        host_.advance(std::chrono::milliseconds{std::stoll(std::string(line.substr(1)))});
        return;
    }
    if (line.starts_with("queue ")) {
        take_word(line);
        const std::string lock(take_word(line));
        return wait_for_queue(lock, line);
    }
    if (line.starts_with("waiting ")) {
        take_word(line);
        return wait_for("GET /metrics", "\nholdfast_waiters " + std::string(line) + "\n");
    }
    const std::string name(leading(line, is_of_name));
    line.remove_prefix(name.size());
    ASSERT_FALSE(line.empty());
    const char what = line.front();
    line.remove_prefix(std::min<std::size_t>(line.size(), 2));
    switch (what) {
        case '>': return send(name, line);
        case '<': return expect(name, line);
        case '/': return client(name).finish_sending();
        case '!':
            client(name).reset();
            clients_.erase(name);
            return;
        default: FAIL() << "not a line of a dialogue";
    }
}

void Dialogue::send(const std::string& name, std::string_view request) {
    const std::string_view method = take_word(request);
    const std::string path = fill_in(take_word(request));
    client(name).send(http(std::string(method) + " " + path, fill_in(request)));
}

void Dialogue::expect(const std::string& name, std::string_view answer) {
    const std::string status(take_word(answer));
    const net::TestResponse response = client(name).response();
    EXPECT_EQ(response.status, std::stoi(status));
    const std::string body = without_position(response.body);
    EXPECT_EQ(body, fill_from(answer, body) + "\n");
    EXPECT_NE(response.header.find("Content-Type: application/json\r\n"), std::string::npos);
}

void Dialogue::wait_for_queue(const std::string& lock, std::string_view length) {
    wait_for("GET /v1/locks/" + lock + "?queue=true",
             "\"queue_length\":" + std::string(length) + ",");
}

void Dialogue::wait_for(const std::string& request, const std::string& wanted) {
    const auto deadline = std::chrono::steady_clock::now() + 10s;
    std::string body;
    do {
        ASSERT_LT(std::chrono::steady_clock::now(), deadline) << body;
        client("the one who looks").send(http(request));
        body = client("the one who looks").response().body;
    } while (body.find(wanted) == std::string::npos);
}

net::TestClient& Dialogue::client(const std::string& name) {
    const auto found = clients_.find(name);
    return found != clients_.end() ? found->second
                                   : clients_.emplace(name, host_.connect()).first->second;
}

std::string Dialogue::fill_in(std::string_view text) const {
    std::string filled;
    while (!text.empty()) {
        const std::string_view plain = text.substr(0, text.find('$'));
        filled += plain;
        text.remove_prefix(plain.size());
        if (text.empty()) break;
        const std::string_view name = leading(text.substr(1), is_of_name);
        filled += blank(std::string(name));
        text.remove_prefix(1 + name.size());
    }
    return filled;
}

std::string Dialogue::fill_from(std::string_view expected, std::string_view said) {
    std::string filled;
    while (!expected.empty()) {
        const std::string_view plain = expected.substr(0, expected.find_first_of("$@"));
        filled += plain;
        expected.remove_prefix(plain.size());
        if (expected.empty()) break;
        const bool is_time = expected.front() == '@';
        const bool is_rfc3339 = expected.starts_with("@@");
        if (is_rfc3339) expected.remove_prefix(1);
        const std::string word(is_time ? leading(expected.substr(1), is_digit)
                                       : leading(expected.substr(1), is_of_name));
        expected.remove_prefix(1 + word.size());
        if (is_time) {
            const std::chrono::milliseconds time{start_ms + std::stoll(word)};
            if (is_rfc3339) {
                base::append_rfc3339(filled,
                                     std::chrono::sys_time<std::chrono::milliseconds>{time});
            } else {
                filled += std::to_string(time.count());
            }
            continue;
        }
        // Where it is to be found: as far on as what was expected before it.
        if (!blanks_.contains(word) && filled.size() <= said.size()) {
            fill_blank(word, said.substr(filled.size()));
        }
        filled += blank(word);
    }
    return filled;
}

void Dialogue::fill_blank(const std::string& name, std::string_view said) {
    const bool is_lease = name.starts_with("lease"), is_secret = name.starts_with("secret");
    const std::string value(is_lease || is_secret ? said.substr(0, said.find('"'))
                                                  : leading(said, is_digit));
    if (is_lease) {
        EXPECT_TRUE(is_uuid_4(value)) << value;
    } else if (is_secret) {
        EXPECT_TRUE(std::regex_match(value, std::regex("[0-9a-f]{32}"))) << value;
    } else {
        EXPECT_FALSE(value.empty()) << name;
    }
    if (name.starts_with("token") && !value.empty()) {
        const std::uint64_t token = std::stoull(value);
        EXPECT_GT(token, newest_token_);
        newest_token_ = token;
    }
    blanks_[name] = value;
}

}  // namespace holdfast::conformance

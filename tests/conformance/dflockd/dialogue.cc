#include "dialogue.h"

#include <sstream>

namespace holdfast::conformance {

namespace {

bool is_token(const std::string& word) {
    return word.size() == 32 && word.find_first_not_of("0123456789abcdef") == word.npos;
}

std::vector<std::string> words_of(const std::string& text) {
    std::istringstream stream(text);
    std::vector<std::string> words;
    for (std::string word; stream >> word;) words.push_back(word);
    return words;
}

}  // namespace

void DialogueRunner::run(const std::vector<Step>& steps) {
    for (const Step& step : steps) {
        SCOPED_TRACE(step.who + ": " + step.says.substr(0, 80) + " -> " + step.hears);
        run(step);
        if (::testing::Test::HasFailure()) return;
    }
}

void DialogueRunner::run(const Step& step) {
    if (step.at > now_) host_.advance(step.at - now_);
    now_ = step.at;
    if (step.who == "?") {
        EXPECT_TRUE(host_.comes_to(step.hears));
        return;
    }
    if (step.says == "close" || step.says == "reset") {
        if (step.says == "reset") client(step.who).reset();
        clients_.erase(step.who);
        return;
    }
    if (step.says == "half") return client(step.who).finish_sending();
    if (step.says.starts_with("sends ")) {
        // Both are read at once, so when the first is answered the second has been read.
        const std::string request = lines_of(with_tokens(step.says.substr(6)));
        client(step.who).send(lines_of("ping|_|") + request);
        EXPECT_EQ(client(step.who).hear(), "ok");
        return host_.settle();
    }
    if (step.hears.empty()) return begin_to_wait(step);
    if (!step.says.empty()) client(step.who).send(lines_of(with_tokens(step.says)));
    compare(step.hears, client(step.who).hear());
}

void DialogueRunner::begin_to_wait(const Step& step) {
    const auto count_waiters = [this] {
        const std::string tally = host_.tally();
        return std::stoi(tally.substr(tally.find("locks ") + 6));
    };
    const int before = count_waiters();
    client(step.who).send(lines_of(with_tokens(step.says)));
    const auto end = std::chrono::steady_clock::now() + 30s;
    while (count_waiters() == before) ASSERT_LT(std::chrono::steady_clock::now(), end);
}

DflockdClient& DialogueRunner::client(const std::string& name) {
    const auto found = clients_.find(name);
    if (found != clients_.end()) return found->second;
    return clients_.emplace(name, host_.connect()).first->second;
}

std::string DialogueRunner::with_tokens(std::string text) const {
    for (const auto& [name, token] : tokens_) {
        for (auto at = text.find(name); at != text.npos; at = text.find(name)) {
            text.replace(at, name.size(), token);
        }
    }
    return text;
}

void DialogueRunner::compare(const std::string& expected, const std::string& heard) {
    const auto expected_words = words_of(expected);
    const auto heard_words = words_of(heard);
    ASSERT_EQ(expected_words.size(), heard_words.size()) << heard;
    for (std::size_t i = 0; i < expected_words.size(); ++i) {
        const std::string& expectation = expected_words[i];
        const std::string& word = heard_words[i];
        if (!expectation.starts_with('$')) {
            EXPECT_EQ(word, expectation) << heard;
        } else if (const auto known = tokens_.find(expectation); known != tokens_.end()) {
            EXPECT_EQ(word, known->second) << expectation;
        } else {
            EXPECT_TRUE(is_token(word)) << heard;
            EXPECT_LT(newest_token_.substr(0, 16), word.substr(0, 16)) << "fencing numbers grow";
            newest_token_ = word;
            tokens_.emplace(expectation, word);
        }
    }
    EXPECT_EQ(heard.find("  "), heard.npos) << "one space between words";
}

}  // namespace holdfast::conformance

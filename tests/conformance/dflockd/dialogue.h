#pragma once

// Dialogue: what clients say to a dflockd server, when, and what they hear.
//
//     {0s, "a", "l|key|10", "ok $1 33"}   client a says it, and hears that; $1 is the token's name
//     {0s, "b", "l|key|10", ""}           b says it, and joins a queue
//     {0s, "b", "sends w|key|10", ""}     b says it, and is in that queue already
//     {5s, "a", "r|key|$1", "ok"}
//     {5s, "b", "", "ok $2 33"}           b hears something
//     {6s, "b", "close", ""}              b hangs up (`reset`: dies; `half`: sends no more)
//     {6s, "?", "", "0 locks 0 waiters"}  what the server comes to
//
// A token is learnt by the name it is first heard under. Every token is larger than those before.

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "dflockd_host.h"

namespace holdfast::conformance {

struct Step {
    core::Duration at;
    std::string who;
    std::string says;
    std::string hears;
};

struct Dialogue {
    std::string name;
    std::vector<Step> steps;
    std::function<void(app::ServeOptions&)> adjust = {};
};

class DialogueRunner {
  public:
    explicit DialogueRunner(DflockdHost& host) : host_(host) {}

    void run(const std::vector<Step>& steps);

  private:
    void run(const Step& step);
    void begin_to_wait(const Step& step);
    [[nodiscard]] DflockdClient& client(const std::string& name);
    [[nodiscard]] std::string with_tokens(std::string text) const;
    void compare(const std::string& expected, const std::string& heard);

    DflockdHost& host_;
    core::Duration now_{0};
    std::map<std::string, DflockdClient> clients_;
    std::map<std::string, std::string> tokens_;  // by name: `$1`
    std::string newest_token_;
};

}  // namespace holdfast::conformance

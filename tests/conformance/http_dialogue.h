#pragma once

// A dialogue between clients and a server, as text: what is sent, what is answered, when.
//
//     > POST /v1/locks/x/acquire {"owner_id":"w1","ttl_ms":5000}
//     < 200 {"acquired":true,"lock_name":"x",..,"lease_id":"$lease","fencing_token":$token}
//     +1000                                     the clock moves by so many milliseconds
//     b> GET /v1/locks/x                        another client, with a connection of its own
//     b< 200 {"lock_name":"x","held":true,..}
//     queue x 1                                 waits until so many are in the queue of x
//     waiting 2                                 waits until so many wait, for whatever
//     b/                                        stops sending, but still reads
//     b!                                        its connection breaks
//
// An answer must be the text, byte for byte, and end in a newline. In it `@5000` is the time 5000
// ms after the start, `@@5000` the same as RFC 3339 has it, and `$name` is a blank: the first time
// it stands for any number, or, if its name begins with `lease`, for any UUID of version 4, or with
// `secret`, for 32 hexadecimal digits; afterwards for what it stood for then. A blank that begins
// with `token` is larger than every such blank before it.

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "test_host.h"

namespace holdfast::conformance {

class Dialogue {
  public:
    // The host outlives this.
    explicit Dialogue(TestHost& host) : host_(host) {}

    // Holds the dialogue; what does not go as written fails the test, with its line. May be called
    // again: connections and blanks are kept.
    void hold(std::string_view text);

    // What a blank stands for; empty for one that was not filled.
    [[nodiscard]] std::string blank(const std::string& name) const;

  private:
    void say(std::string_view line);
    void send(const std::string& client, std::string_view request);
    void expect(const std::string& client, std::string_view answer);
    void wait_for_queue(const std::string& lock, std::string_view length);
    // Asks again and again, until the answer says so.
    void wait_for(const std::string& request, const std::string& wanted);
    net::TestClient& client(const std::string& name);
    std::string fill_in(std::string_view text) const;
    // The text with blanks filled in from what was really said.
    std::string fill_from(std::string_view expected, std::string_view said);
    void fill_blank(const std::string& name, std::string_view said);

    TestHost& host_;
    std::map<std::string, net::TestClient> clients_;
    std::map<std::string, std::string> blanks_;
    std::uint64_t newest_token_ = 0;
};

}  // namespace holdfast::conformance

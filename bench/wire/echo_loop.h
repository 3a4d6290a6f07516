#pragma once

// EchoLoop: the least a server can do, as something to measure servers against.
//
// Answers every request_bytes it receives with answer_bytes, all of them the letter x, without
// looking at anything: one epoll set, one receive and one send per wake-up and connection. With
// `keep`, the answers to all requests that one wake-up brought leave after it was told how many
// there are: where a server would write them down.
//
// Thread safety: none.

#include <array>
#include <cstddef>
#include <functional>
#include <string>
#include <vector>

namespace holdfast::bench {

struct EchoOptions {
    std::size_t request_bytes = 0;
    std::size_t answer_bytes = 0;
    std::function<void(std::size_t requests)> keep;  // may be empty
};

class EchoLoop {
  public:
    explicit EchoLoop(EchoOptions options);
    EchoLoop(const EchoLoop&) = delete;
    EchoLoop& operator=(const EchoLoop&) = delete;

    // Listens on a free port of 127.0.0.1, prints `listening echo 127.0.0.1:PORT`, and runs until
    // the process is ended.
    [[noreturn]] void run();

  private:
    struct Owed {
        int descriptor;
        std::size_t answers;
    };

    void listen();
    void watch(int descriptor) const;
    void accept();
    [[nodiscard]] Owed receive(int descriptor);
    void answer(const Owed& owed);
    void answer_all(const std::vector<Owed>& owed);

    const EchoOptions options_;
    std::array<char, std::size_t{64} * 1024> buffer_;
    const std::string answers_;
    std::vector<std::size_t> partial_bytes_;  // of a request begun, by descriptor
    const int poll_;
    const int listener_;
};

}  // namespace holdfast::bench

#include "process.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <thread>

namespace holdfast::e2e {

namespace {

constexpr std::chrono::seconds patience{60};

std::array<int, 2> make_pipe() {
    std::array<int, 2> ends{-1, -1};
    EXPECT_EQ(::pipe2(ends.data(), O_CLOEXEC), 0);
    return ends;
}

// The child's side of fork(). The test programs have no other threads, so it may do as it likes.
[[noreturn]] void become(const Command& command, int output, int error) {
    ::setpgid(0, 0);
    ::dup2(output, STDOUT_FILENO);
    ::dup2(error, STDERR_FILENO);
    const int nothing = ::open("/dev/null", O_RDONLY);
    ::dup2(nothing, STDIN_FILENO);
    for (const auto& [name, value] : command.environment) {
        if (value.empty()) {
            ::unsetenv(name.c_str());
        } else {
            ::setenv(name.c_str(), value.c_str(), 1);
        }
    }
    if (::chdir(command.folder.c_str()) != 0) ::_exit(127);
    std::vector<char*> words;
    for (const std::string& word : command.words) words.push_back(const_cast<char*>(word.c_str()));
    words.push_back(nullptr);
    ::execvp(words[0], words.data());
    ::_exit(127);
}

}  // namespace

Process::Process(const Command& command) {
    const auto output = make_pipe();
    const auto error = make_pipe();
    pid_ = ::fork();
    if (pid_ == 0) become(command, output[1], error[1]);
    EXPECT_GT(pid_, 0);
    ::setpgid(pid_, pid_);  // in both processes, so that it is done in either when they go on
    ::close(output[1]);
    ::close(error[1]);
    output_.descriptor = output[0];
    error_.descriptor = error[0];
}

Process::~Process() {
    ::kill(-pid_, SIGKILL);
    if (!is_reaped_) ::waitpid(pid_, nullptr, 0);
    for (const Stream* stream : {&output_, &error_}) {
        if (stream->descriptor >= 0) ::close(stream->descriptor);
    }
}

// Reads what there is, waiting for it. False at the end of both streams and after the deadline.
bool Process::read_some(TimePoint deadline) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
        deadline - std::chrono::steady_clock::now());
    if (left.count() <= 0) return false;
    std::array<pollfd, 2> waiting{{{.fd = output_.descriptor, .events = POLLIN, .revents = 0},
                                   {.fd = error_.descriptor, .events = POLLIN, .revents = 0}}};
    if (output_.descriptor < 0 && error_.descriptor < 0) return false;
    ::poll(waiting.data(), waiting.size(), static_cast<int>(left.count()));
    for (Stream* stream : {&output_, &error_}) {
        if (waiting[stream == &output_ ? 0 : 1].revents == 0) continue;
        std::array<char, 4096> bytes;
        const auto count = ::read(stream->descriptor, bytes.data(), bytes.size());
        if (count > 0) {
            stream->text.append(bytes.data(), static_cast<std::size_t>(count));
        } else if (count == 0) {
            ::close(stream->descriptor);
            stream->descriptor = -1;
        }
    }
    return true;
}

std::string Process::wait_for(const Stream& stream, const std::string& part) {
    const TimePoint deadline = std::chrono::steady_clock::now() + patience;
    do {
        const auto at = stream.text.find(part);
        const auto end = at == std::string::npos ? at : stream.text.find('\n', at);
        if (end == std::string::npos) continue;
        const auto begin = stream.text.rfind('\n', at) + 1;  // npos + 1 is the first line's
        return stream.text.substr(begin, end - begin);
    } while (read_some(deadline));
    ADD_FAILURE() << "no line with '" << part << "' but: " << output_.text << error_.text;
    return "";
}

std::string Process::wait_for_output(const std::string& part) {
    return wait_for(output_, part);
}
std::string Process::wait_for_error(const std::string& part) {
    return wait_for(error_, part);
}

void Process::signal(int number) const {
    ::kill(pid_, number);
    if (number != SIGSTOP) return;
    // Until all its threads stand still it may still answer.
    siginfo_t state{};
    ::waitid(P_PID, static_cast<id_t>(pid_), &state, WSTOPPED | WEXITED | WNOWAIT);
}
void Process::signal_group(int number) const {
    ::kill(-pid_, number);
}

int Process::wait() {
    const TimePoint deadline = std::chrono::steady_clock::now() + patience;
    while (read_some(deadline)) {
    }
    int status = 0;
    pid_t ended = 0;
    while ((ended = ::waitpid(pid_, &status, WNOHANG)) == 0 &&
           std::chrono::steady_clock::now() < deadline) {
        std::this_thread::sleep_for(std::chrono::milliseconds{1});  // its output has ended already
    }
    if (ended != pid_) {
        ADD_FAILURE() << "the program does not end";
        return -1;
    }
    is_reaped_ = true;
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

Finished run(const Command& command) {
    Process process(command);
    const int exit_code = process.wait();
    return {exit_code, process.output(), process.error()};
}

}  // namespace holdfast::e2e

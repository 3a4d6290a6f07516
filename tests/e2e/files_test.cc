// Files: the real program, killed during uploads and started again; and the walk through two
// sessions that everybody begins with, typed with curl.

#include <gmock/gmock.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "durable.h"

namespace holdfast::e2e {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

const std::string secret = "the-secret-of-the-house";

// A server with a door for files. Everything it keeps is in `folder`.
struct FilesServer {
    explicit FilesServer(const DataFolder& folder, const std::vector<std::string>& more = {})
        : server([&] {
              const std::string token = folder.path() + "/token";
              std::ofstream(token) << secret << "\n";
              std::vector<std::string> flags = flags_for(folder.path() + "/data");
              for (const std::string& flag :
                   {std::string("--files"), std::string("127.0.0.1:0"), std::string("--files-root"),
                    folder.path() + "/root", std::string("--auth-token-file"), token}) {
                  flags.push_back(flag);
              }
              flags.insert(flags.end(), more.begin(), more.end());
              return serve_command(flags);
          }()) {
        const std::string line = server.process.wait_for_output("listening files");
        address = line.substr(line.rfind(' ') + 1);
    }

    ServerProcess server;
    std::string address;
};

std::string between(const std::string& text, const std::string& start, char end) {
    const auto at = text.find(start);
    if (at == std::string::npos) return "";
    const auto begin = at + start.size();
    return text.substr(begin, text.find(end, begin) - begin);
}

// Sends a request over a connection of its own and returns all that is answered, which is nothing
// or a part if the server dies.
std::string try_send(const std::string& address, const std::string& bytes) {
    const net::Endpoint server = net::parse_endpoint(address).value();
    const int descriptor =
        ::socket(server.socket_address().protocol().family(), SOCK_STREAM | SOCK_CLOEXEC, 0);
    std::string answer;
    if (::connect(descriptor, server.socket_address().data(),
                  static_cast<socklen_t>(server.socket_address().size())) == 0) {
        std::size_t sent = 0;
        while (sent < bytes.size()) {
            const ssize_t count =
                ::send(descriptor, bytes.data() + sent, bytes.size() - sent, MSG_NOSIGNAL);
            if (count <= 0) break;
            sent += static_cast<std::size_t>(count);
        }
        std::array<char, 65536> buffer;
        ssize_t count = 0;
        while ((count = ::recv(descriptor, buffer.data(), buffer.size(), 0)) > 0) {
            answer.append(buffer.data(), static_cast<std::size_t>(count));
        }
    }
    ::close(descriptor);
    return answer;
}

std::string ask(const std::string& address, const std::string& id, const std::string& line,
                const std::string& body = "") {
    return try_send(
        address,
        line + " HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nAuthorization: " + "Bearer " +
            id + "\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body);
}

std::string log_in(const std::string& address) {
    const std::string answer = ask(address, secret, "POST /auth/session");
    std::string id = between(answer, "\"sessionId\":\"", '"');
    EXPECT_EQ(id.size(), 64U) << answer;
    return id;
}

std::string body_of(const std::string& answer) {
    const auto end = answer.find("\r\n\r\n");
    return end == std::string::npos ? "" : answer.substr(end + 4);
}

// A content that tells whether it is whole: its number, its length, and letters that follow from
// these. Some are written in one go, others in many.
std::string content_of(int version) {
    const std::size_t bytes = static_cast<std::size_t>(version % 7) * 60'000 + 100;
    std::string content = std::to_string(version) + " ";
    while (content.size() < bytes) {
        content +=
            static_cast<char>('a' + (content.size() + static_cast<std::size_t>(version)) % 26);
    }
    return content;
}

TEST(Files, WhatWasAcknowledgedIsThereAfterAKillAndNothingIsTorn) {
    constexpr int writers = 6, rounds = 3;
    const DataFolder folder;
    std::array<int, writers> acknowledged{}, begun{};
    for (int round = 0; round < rounds; ++round) {
        FilesServer files(folder);
        const std::string id = log_in(files.address);
        std::atomic<int> count = 0;
        std::atomic<bool> is_killed = false;
        std::vector<std::thread> threads;
        for (std::size_t writer = 0; writer < writers; ++writer) {
            threads.emplace_back([&, writer] {
                for (bool is_up = true; is_up;) {
                    const int version = ++begun[writer];
                    const std::string answer = ask(
                        files.address, id, "PUT /d/" + std::to_string(writer), content_of(version));
                    is_up = answer.starts_with("HTTP/1.1 20");
                    EXPECT_TRUE(is_up || answer.empty() || is_killed) << answer;
                    if (is_up) acknowledged[writer] = version, ++count;
                }
            });
        }
        while (count < 40 + 10 * round && !HasFailure())
            std::this_thread::sleep_for(std::chrono::milliseconds{1});
        is_killed = true;
        kill_at_once(files.server);
        for (std::thread& thread : threads) thread.join();

        FilesServer again(folder);
        for (std::size_t writer = 0; writer < writers; ++writer) {
            const std::string content =
                body_of(ask(again.address, id, "GET /d/" + std::to_string(writer)));
            const int version = content.empty() ? 0 : std::stoi(content);
            EXPECT_GE(version, acknowledged[writer]);
            EXPECT_LE(version, begun[writer]);
            EXPECT_TRUE(version == 0 || content == content_of(version)) << "torn: " << version;
            // A lock that was taken for a write has gone with it: anybody may write.
            const std::string next = std::to_string(writer);
            EXPECT_THAT(ask(again.address, log_in(again.address), "PUT /d/" + next,
                            content_of(++begun[writer])),
                        HasSubstr("HTTP/1.1 20"));
            acknowledged[writer] = begun[writer];
        }
        kill_at_once(again.server);
    }
    const FilesServer last(folder);  // tidies up
    EXPECT_EQ(std::distance(
                  std::filesystem::directory_iterator(folder.path() + "/root/.holdfast/tmp"), {}),
              0);
}

TEST(Files, SessionsAndTheirLocksOutliveTheServer) {
    const DataFolder folder;
    std::string a, b;
    {
        FilesServer files(folder);
        a = log_in(files.address);
        b = log_in(files.address);
        EXPECT_THAT(ask(files.address, a, "GET /x?lock=acquire"), HasSubstr("Lock acquired"));
        EXPECT_THAT(ask(files.address, a, "GET /y?lock=acquire"), HasSubstr("Lock acquired"));
        kill_at_once(files.server);
    }
    FilesServer files(folder);
    EXPECT_THAT(ask(files.address, b, "PUT /x", "hi"), HasSubstr("423 Locked"));
    EXPECT_THAT(ask(files.address, a, "PUT /x", "hi"), HasSubstr("201 Created"));
    EXPECT_THAT(ask(files.address, b, "PUT /x", "ho"), HasSubstr("200 OK"));
    EXPECT_THAT(ask(files.address, b, "PUT /y", "ho"), HasSubstr("423 Locked"));
    EXPECT_THAT(ask(files.address, a, "DELETE /auth/session"), HasSubstr("204 No Content"));
    EXPECT_THAT(ask(files.address, b, "PUT /y", "ho"), HasSubstr("201 Created"));
}

TEST(Files, AnUploadIsAbandonedWhenTheServerIsToldToStop) {
    const DataFolder folder;
    {
        FilesServer files(folder, {"--shutdown-timeout", "100ms"});
        const std::string id = log_in(files.address);
        net::TestClient client(net::parse_endpoint(files.address).value());
        client.send("PUT /x HTTP/1.1\r\nHost: files\r\nAuthorization: Bearer " + id +
                    "\r\nContent-Length: 10000000\r\n\r\n" + std::string(1'000'000, 'x'));
        while (ask(files.address, id, "GET /x?lock=status").find("\"locked\":true") ==
               std::string::npos) {
            ASSERT_FALSE(HasFailure());
        }
        files.server.process.signal(SIGTERM);
        EXPECT_EQ(files.server.process.wait(), 0);
    }
    FilesServer files(folder);
    const std::string id = log_in(files.address);
    EXPECT_THAT(ask(files.address, id, "GET /x"), HasSubstr("404 Not Found"));
    EXPECT_THAT(ask(files.address, id, "PUT /x", "hi"), HasSubstr("201 Created"));
}

// As it stands in docs/protocols/hengdang.md.
TEST(Files, TheWalkThroughWithCurl) {
    const DataFolder folder;
    const FilesServer files(folder);
    const std::string script =
        "set -eu\n"
        "at=http://" +
        files.address +
        "\n"
        "login() { curl -s -X POST -H 'Authorization: Bearer " +
        secret +
        "' $at/auth/session | sed 's/.*\"sessionId\":\"\\([0-9a-f]*\\)\".*/\\1/'; }\n"
        "a=\"Authorization: Bearer $(login)\"; b=\"Authorization: Bearer $(login)\"\n"
        "curl -s -H \"$a\" \"$at/notes.txt?lock=acquire\"\n"
        "curl -s -H \"$b\" -T /dev/stdin $at/notes.txt <<< from-b || true\n"
        "echo from-a | curl -s -H \"$a\" -T - $at/notes.txt\n"
        "echo from-b | curl -s -H \"$b\" -T - $at/notes.txt\n"
        "curl -s -H \"$a\" $at/notes.txt\n"
        "curl -s -H \"$a\" \"$at/other.txt?lock=acquire\"\n"
        "curl -s -w '%{http_code}\\n' -H \"$a\" -X DELETE $at/auth/session\n"
        "curl -s -H \"$b\" \"$at/other.txt?lock=status\"\n";
    const Finished finished =
        run({.words = {"bash", "-c", script}, .environment = {{"no_proxy", "127.0.0.1"}}});
    EXPECT_EQ(finished.exit_code, 0) << finished.error;
    EXPECT_THAT(finished.output,
                AllOf(HasSubstr("{\"message\":\"Lock acquired\",\"path\":\"/notes.txt\""),
                      HasSubstr("{\"error\":\"File is locked\",\"message\":\"This file is "
                                "currently being edited by another session\",\"lockedBy\":\""),
                      HasSubstr("\"created\":true}\n"), HasSubstr("\"created\":false}\nfrom-b\n"),
                      HasSubstr("\n204\n{\"locked\":false,\"ownedByThisSession\":false}\n")));
}

TEST(Files, ThatNobodyCouldReachAreRefusedAtTheStart) {
    const DataFolder folder;
    const Finished finished =
        run(serve_command({"--http", "127.0.0.1:0", "--files-root", folder.path() + "/root"}));
    EXPECT_EQ(finished.exit_code, 1);
    EXPECT_THAT(finished.error, HasSubstr("nobody could log in"));
}

}  // namespace
}  // namespace holdfast::e2e

#pragma once

// Servers whose answers a test chooses.

#include <functional>
#include <string>
#include <string_view>
#include <utility>

#include "net/http/http_protocol.h"
#include "net/loop/test_server.h"

namespace holdfast::load {

// Answers every line. `-` sends no answer, an empty text closes the connection.
class LineServer {
  public:
    using Answer = std::function<std::string(const std::string& line)>;

    // Every connection has a copy of `answer`.
    explicit LineServer(Answer answer)
        : server_([answer = std::move(answer)](net::Channel& channel, net::EventLoop&) {
              return std::make_unique<Lines>(channel, answer);
          }) {}

    [[nodiscard]] std::string address() { return net::to_text(server_.server().endpoint()); }

  private:
    class Lines final : public net::Protocol {
      public:
        Lines(net::Channel& channel, Answer answer)
            : channel_(channel), answer_(std::move(answer)) {}

        std::size_t on_input(std::string_view input) override {
            std::size_t taken = 0;
            for (std::size_t end; (end = input.find('\n', taken)) != std::string_view::npos;) {
                const std::string said = answer_(std::string(input.substr(taken, end - taken)));
                taken = end + 1;
                if (said == "-") continue;
                if (said.empty()) {
                    channel_.close_after_flush();
                    break;
                }
                channel_.output() += said + "\n";
            }
            return taken;
        }
        void on_read_timeout() override {}
        bool idle() const override { return true; }

      private:
        net::Channel& channel_;
        Answer answer_;
    };

    net::TestServer server_;
};

// Answers HTTP requests with a status and JSON. `answer` is called on one thread.
class JsonServer {
  public:
    using Answer = std::function<std::pair<int, std::string>(const net::HttpRequest& request)>;

    explicit JsonServer(Answer answer)
        : handler_(std::move(answer)), server_([this](net::Channel& channel, net::EventLoop&) {
              return std::make_unique<net::HttpProtocol>(channel, handler_, limits_);
          }) {}

    [[nodiscard]] std::string url() {
        return "http://" + net::to_text(server_.server().endpoint());
    }

  private:
    struct Handler final : net::HttpHandler {
        explicit Handler(Answer what) : answer(std::move(what)) {}
        void handle(const net::HttpRequest& request, net::HttpReply& reply) override {
            const auto [status, body] = answer(request);
            reply.send(status, "application/json", body);
        }
        const Answer answer;
    };

    Handler handler_;
    net::HttpLimits limits_;
    net::TestServer server_;
};

}  // namespace holdfast::load

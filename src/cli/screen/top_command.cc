// `holdfast top`: the holders and waiters of all locks, live.

#include <poll.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <deque>
#include <mutex>
#include <thread>

#include "base/result.h"
#include "cli/command.h"
#include "cli/event_feed.h"
#include "cli/screen/screen.h"
#include "cli/screen/terminal_text.h"
#include "cli/screen/top_view.h"
#include "cli/server.h"
#include "net/client/url.h"
#include "options/options.h"

namespace holdfast::cli {

namespace {

constexpr std::chrono::milliseconds frame_time{100};
constexpr std::size_t locks_max = 10'000;  // more than anybody reads
constexpr std::size_t queues_max = 100;    // how many queues are read at the start

struct TopOptions {
    ServerOptions server;
    std::string prefix;
};

// What the thread of the feed has for the thread that draws.
struct News {
    std::deque<LockEvent> events;
    std::optional<std::vector<LockRow>> listing;  // comes before the events
    std::optional<std::chrono::milliseconds> clock_offset;
    std::optional<std::string> trouble;
    std::optional<Failure> failure;  // the feed has ended
};

// LiveFeed: a thread that follows the events of the server, and collects them.
class LiveFeed {
  public:
    LiveFeed(Server& server, std::string prefix)
        : server_(server),
          prefix_(std::move(prefix)),
          thread_([this](const std::stop_token& stop) { follow(stop); }) {}

    News take() {
        const std::lock_guard guard(mutex_);
        return std::exchange(news_, {});
    }

  private:
    void follow(const std::stop_token& stop) {
        const auto followed = follow_events(
            server_, {.prefix = prefix_,
                      .on_open = [this] { list(); },
                      .on_event = [this](const LockEvent& event) { hear(event); },
                      .on_trouble = [this](const std::string& trouble) { complain_of(trouble); },
                      .stop = stop});
        const std::lock_guard guard(mutex_);
        if (!followed) news_.failure = followed.error();
    }

    void hear(const LockEvent& event) {
        if (event.kind == "gap") return list();
        const std::lock_guard guard(mutex_);
        news_.events.push_back(event);
    }

    void complain_of(const std::string& trouble) {
        const std::lock_guard guard(mutex_);
        news_.trouble = trouble;
    }

    // Reads the locks anew. The stream of events is open already, so no event is missed.
    void list() {
        std::vector<LockRow> locks;
        std::string after;
        do {
            const auto page =
                server_.get("/v1/locks?limit=1000&prefix=" + net::percent_encode(prefix_) +
                            (after.empty() ? "" : "&after=" + net::percent_encode(after)));
            if (!page) return complain_of(page.error().message);
            for (const base::JsonValue& lock : page->json["locks"].items()) {
                locks.push_back(read_listed_lock(lock));
                const auto all = add_other_holders(locks.back(), server_);
                if (!all) return complain_of(all.error().message);
            }
            const auto next = next_page(page->json["next"], after);
            if (!next) return complain_of(next.error().message);
            after = *next;
        } while (!after.empty() && locks.size() < locks_max);
        std::size_t asked = 0;
        for (LockRow& lock : locks) {
            if (lock.waiter_count == 0 || ++asked > queues_max) continue;
            const auto shown = server_.get("/v1/locks/" + net::percent_encode(lock.name) +
                                           "?queue=true&kind=" + lock.kind);
            if (shown) lock.waiters = read_queue(shown->json["queue"]);
        }
        const auto offset = server_.clock_offset();
        const std::lock_guard guard(mutex_);
        news_.events.clear();
        news_.listing = std::move(locks);
        if (offset) news_.clock_offset = *offset;
    }

    Server& server_;
    const std::string prefix_;
    std::mutex mutex_;
    News news_;
    std::jthread thread_;  // last: it uses the others
};

// These signals are read in the loop, so that the terminal is restored first.
int open_signals() {
    sigset_t signals;
    sigemptyset(&signals);
    for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP, SIGWINCH}) {
        sigaddset(&signals, signal);
    }
    ::pthread_sigmask(SIG_BLOCK, &signals, nullptr);
    return ::signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
}

class Top {
  public:
    Top(Screen& screen, LiveFeed& feed, int signals, const std::string& address)
        : screen_(screen), feed_(feed), signals_(signals) {
        state_.server = address;
        state_.has_colour = wants_colour(STDOUT_FILENO);
    }

    // Returns the exit code when the user quits.
    Asked<int> run() {
        while (true) {
            if (const auto failure = apply_news()) return finish(*failure);
            draw();
            std::array<pollfd, 2> waiting{{{.fd = STDIN_FILENO, .events = POLLIN, .revents = 0},
                                           {.fd = signals_, .events = POLLIN, .revents = 0}}};
            ::poll(waiting.data(), waiting.size(), static_cast<int>(frame_time.count()));
            if (waiting[1].revents != 0) {
                if (const auto exit_code = handle_signals()) return *exit_code;
            }
            if (waiting[0].revents != 0 && handle_keys() == TopStep::quit) return exit_success;
        }
    }

  private:
    std::optional<Failure> apply_news() {
        News news = feed_.take();
        if (news.clock_offset) clock_offset_ = *news.clock_offset;
        if (news.listing) board_.replace(std::move(*news.listing));
        for (const LockEvent& event : news.events) {
            board_.apply(event.kind,
                         base::JsonValue::parse(event.data).value_or(base::JsonValue()));
        }
        if (news.trouble) state_.trouble = *news.trouble;
        return news.failure;
    }

    void draw() {
        const auto [width, height] = screen_.size();
        state_.width = width;
        state_.height = height;
        state_.now_ms = unix_now_ms() + clock_offset_.count();
        picture_ = draw_top(board_, state_);
        // The list may have become shorter.
        const std::size_t last =
            picture_.row_count > picture_.rows_shown ? picture_.row_count - picture_.rows_shown : 0;
        if (state_.first_row > last) {
            state_.first_row = last;
            picture_ = draw_top(board_, state_);
        }
        screen_.draw(picture_.lines);
    }

    std::optional<int> handle_signals() {
        signalfd_siginfo signal{};
        while (::read(signals_, &signal, sizeof signal) == sizeof signal) {
            const int number = static_cast<int>(signal.ssi_signo);
            if (number == SIGTSTP) {
                screen_.leave();
                ::raise(SIGSTOP);
                screen_.enter();
            } else if (number != SIGWINCH) {
                return number == SIGINT ? exit_success : exit_by_signal_base + number;
            }
        }
        return std::nullopt;
    }

    TopStep handle_keys() {
        std::array<char, 256> bytes;
        const ssize_t count = ::read(STDIN_FILENO, bytes.data(), bytes.size());
        if (count <= 0)
            return TopStep::quit;  // poll() reported input, but there is none: the terminal is gone
        for (const std::string& key : read_keys({bytes.data(), static_cast<std::size_t>(count)})) {
            if (press_key(state_, picture_, key) == TopStep::quit) return TopStep::quit;
        }
        return TopStep::go_on;
    }

    Asked<int> finish(const Failure& failure) {
        screen_.leave();
        return tl::unexpected(failure);
    }

    Screen& screen_;
    LiveFeed& feed_;
    const int signals_;
    LockBoard board_;
    TopState state_;
    TopPicture picture_;
    std::chrono::milliseconds clock_offset_{0};
};

Asked<int> show_top(const TopOptions& options) {
    TRY(auto server, Server::open(options.server));
    TRY(server.get("/v1/status"));
    const int signals = open_signals();
    LiveFeed feed(server, options.prefix);
    auto screen = Screen::open();
    if (!screen) return fail(exit_usage, screen.error().message);
    return Top(*screen, feed, signals, server.address()).run();
}

}  // namespace

Command declare_top(const options::Command& program) {
    const auto options = std::make_shared<TopOptions>();
    const options::Command command =
        program.add_command("top", "show holders, queues and countdowns on the whole screen, live");
    command.add_option("prefix", options->prefix, "only locks whose names begin with this")
        .takes("PREFIX");
    declare_server_options(command, options->server);
    command.footer(
        "Keys: q quits, / filters by lock or owner, s sorts by name, time left or queue; arrows,\n"
        "page up and down, home and end scroll.\n"
        "\n"
        "  holdfast top\n"
        "  holdfast top nightly-");
    return {.options = command, .run = [options] { return show_top(*options); }};
}

}  // namespace holdfast::cli

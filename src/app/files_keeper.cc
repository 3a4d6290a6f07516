#include "app/files_keeper.h"

#include <chrono>
#include <utility>

#include "base/log/log.h"

namespace holdfast::app {

namespace {

using doors::hengdang::HengdangDoor;

// The node that has led before closes its door within a fraction of a second.
constexpr std::chrono::milliseconds retry_interval{200};
// Sessions end by the wall clock, which may be set: so it is looked at now and then.
constexpr std::chrono::seconds tend_interval{1};

}  // namespace

FilesKeeper::FilesKeeper(Parts parts)
    : parts_(std::move(parts)),
      timer_(std::make_unique<net::LoopTimer>(parts_.loop, [this] { on_timer(); })) {}

base::Result<void> FilesKeeper::open_now() {
    TRY(door_, HengdangDoor::open(parts_.options, parts_.door, grave_));
    opened_.emplace_back(door_);
    base::Result<void> released;
    door_->release_locks_of_ended_sessions([&](const auto& result) { released = result; });
    TRY(released);
    for (const Server& server : parts_.servers) server.open(door_);
    on_timer();
    return {};
}

void FilesKeeper::listen_at(const net::Endpoint& endpoint) {
    endpoint_ = endpoint;
    if (door_) door_->listen_at(endpoint);
}

void FilesKeeper::lead() {
    if (std::exchange(is_leading_, true)) return;
    refuse_requests("this node has just begun to lead the cluster and is opening the files");
    begin_opening();
}

// With a quota the sizes of all files are added up, so opening may take long.
void FilesKeeper::begin_opening() {
    if (!opener_) opener_ = std::make_unique<base::WorkPool>(1);
    opener_->run([this, attempt = ++attempt_] {
        auto opened = HengdangDoor::open(parts_.options, parts_.door, grave_);
        parts_.loop.post([this, attempt, opened = std::move(opened)]() mutable {
            on_opened(attempt, std::move(opened));
        });
    });
}

void FilesKeeper::on_opened(std::uint64_t attempt, base::Result<DoorPointer> opened) {
    if (attempt != attempt_ || !is_leading_) return;
    if (!opened) return try_later(opened.error().message);
    const DoorPointer& door = *opened;
    if (endpoint_) door->listen_at(*endpoint_);
    door->release_locks_of_ended_sessions(
        [this, attempt, door](const base::Result<void>& released) {
            if (attempt != attempt_ || !is_leading_) return;
            released ? serve(door) : try_later(released.error().message);
        });
}

void FilesKeeper::serve(const DoorPointer& opened) {
    door_ = opened;
    std::erase_if(opened_, [](const auto& earlier) { return earlier.expired(); });
    opened_.emplace_back(door_);
    for (const Server& server : parts_.servers) {
        server.loop->post([&server, door = door_] { server.open(door); });
    }
    trouble_.clear();
    base::log(base::LogLevel::info, "the files are open", {{"root", parts_.options.root}});
    on_timer();
}

void FilesKeeper::try_later(const std::string& why) {
    if (why != trouble_) {
        trouble_ = why;
        refuse_requests("this node leads the cluster but cannot open the files yet: " + why);
        base::log(base::LogLevel::warning, "cannot open the files; trying again",
                  {{"root", parts_.options.root}, {"error", why}});
    }
    timer_->call_at(net::EventLoop::Clock::now() + retry_interval);
}

void FilesKeeper::stop_leading() {
    if (!std::exchange(is_leading_, false)) return;
    timer_->cancel();
    trouble_.clear();
    door_.reset();
    refuse_requests(
        "this node does not lead the cluster any more, and the next leader is not known");
}

void FilesKeeper::refuse_requests(const std::string& why) {
    for (const Server& server : parts_.servers) {
        server.loop->post([&server, why] { server.close(why); });
    }
}

void FilesKeeper::on_timer() {
    if (!door_) return begin_opening();
    door_->tend();
    timer_->call_at(net::EventLoop::Clock::now() + tend_interval);
}

void FilesKeeper::close() {
    timer_.reset();
    opener_.reset();
    for (const auto& each : opened_) {
        if (const auto door = each.lock()) door->close();
    }
}

}  // namespace holdfast::app

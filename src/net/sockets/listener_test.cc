#include "net/sockets/listener.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <vector>

#include "base/descriptor.h"
#include "net/loop/event_loop.h"

namespace holdfast::net {
namespace {

// Lets the process open no descriptor more, for as long as it lives.
class NoDescriptors {
  public:
    NoDescriptors() {
        EXPECT_EQ(::getrlimit(RLIMIT_NOFILE, &before_), 0);
        set(0);
    }
    ~NoDescriptors() { set(before_.rlim_cur); }
    NoDescriptors(const NoDescriptors&) = delete;
    NoDescriptors& operator=(const NoDescriptors&) = delete;

  private:
    void set(rlim_t soft) const {
        const rlimit limit{.rlim_cur = soft, .rlim_max = before_.rlim_max};
        EXPECT_EQ(::setrlimit(RLIMIT_NOFILE, &limit), 0);
    }

    rlimit before_{};
};

// It reports the fault once, does not use up the processor, and goes on by itself.
TEST(Listener, RestsWithoutDescriptorsAndGoesOnWhenThereAreSome) {
#ifdef __SANITIZE_ADDRESS__
    // UBSan opens a pipe to look at an object's type, and if it gets none, reports a bad object.
    GTEST_SKIP() << "the sanitizers need descriptors of their own";
#endif
    EventLoop loop;
    const auto listener = Listener::open(loop, parse_endpoint("127.0.0.1:0").value()).value();
    const base::Descriptor client(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    int accepted = 0;
    std::vector<std::string> faults;
    listener->start([&](const Transport&) { ++accepted, loop.stop(); },
                    [&](const base::Error& fault) {
                        faults.push_back(fault.message);
                        loop.stop();
                    });
    const auto address = listener->endpoint().socket_address();
    ASSERT_EQ(::connect(client.get(), address.data(), static_cast<socklen_t>(address.size())), 0);
    {
        const NoDescriptors none;
        loop.run();
        ASSERT_EQ(faults.size(), 1U);
        EXPECT_NE(faults[0].find("Too many open files"), std::string::npos) << faults[0];
        LoopTimer soon(loop, [&] { loop.stop(); });
        soon.call_at(loop.now() + std::chrono::milliseconds{350});
        loop.run();
        EXPECT_EQ(faults.size(), 1U) << "it has tried again, and has said nothing";
        EXPECT_EQ(accepted, 0);
    }
    loop.run();
    EXPECT_EQ(accepted, 1);
    listener->stop();
}

}  // namespace
}  // namespace holdfast::net

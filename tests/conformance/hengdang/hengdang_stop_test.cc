// The door for files on a server that is told to end.

#include <gmock/gmock.h>

#include "files_host.h"

namespace holdfast::conformance {
namespace {

using ::testing::HasSubstr;

class HengdangStop : public ::testing::TestWithParam<std::size_t> {
  protected:
    FilesHost host_{GetParam(), [](app::ServeOptions& options) {
                        options.http_request_timeout = 1h;
                        options.shutdown_timeout = 1h;
                    }};
    FilesClient a_ = FilesClient::logged_in(host_), b_ = FilesClient::logged_in(host_),
                c_ = FilesClient::logged_in(host_);
};
INSTANTIATE_TEST_SUITE_P(Threads, HengdangStop, ::testing::Values(1, 3));

TEST_P(HengdangStop, FinishesUploadsAndGivesNoMoreLocks) {
    EXPECT_EQ(b_.get("/kept?lock=acquire").status, 200);
    a_.connection().send("PUT /x HTTP/1.1\r\nHost: files\r\nAuthorization: Bearer " + a_.id +
                         "\r\nContent-Length: 5\r\nExpect: 100-continue\r\n\r\n");
    EXPECT_EQ(a_.connection().read(25), "HTTP/1.1 100 Continue\r\n\r\n") << "it has the lock";
    host_.begin_stop();
    const net::TestResponse refused = c_.get("/y?lock=acquire");
    EXPECT_EQ(refused.status, 503);
    EXPECT_EQ(header_of(refused, "Retry-After"), "1");
    EXPECT_THAT(refused.body, HasSubstr("\"error\":\"Shutting down\""));
    EXPECT_EQ(b_.get("/kept?lock=refresh").status, 200) << "who has one may keep it";
    FilesClient late(host_);
    late.id = b_.id;
    EXPECT_EQ(late.put("/z", "hi").status, 503);
    a_.connection().send("hello");
    EXPECT_EQ(a_.connection().response().status, 201);
}

}  // namespace
}  // namespace holdfast::conformance

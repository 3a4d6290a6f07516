#include "app/http/status_handler.h"

#include <gmock/gmock.h>

namespace holdfast::app {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

class StatusJsonTest : public testing::Test {
  protected:
    std::string text(bool is_admin = false, bool may_read_all = true) {
        const Figures figures{
            .service = service_,
            .store = store_,
            .listeners = {{.name = "http", .endpoint = *net::parse_endpoint("127.0.0.1:80")},
                          {.name = "files", .endpoint = *net::parse_endpoint("127.0.0.1:82")}},
            .version = "1.2.3",
            .cluster = std::make_shared<cluster::Picture>(
                cluster::Picture{.nodes = {{.name = "node-1", .peer = "10.0.0.1:7000"}}})};
        return status_json({.figures = figures,
                            .options = options_,
                            .now = std::chrono::seconds{5},
                            .uptime = std::chrono::seconds{7},
                            .is_admin = is_admin,
                            .may_read_all = may_read_all});
    }

    service::ServiceFigures service_;
    service::StoreFigures store_;
    ServeOptions options_;
};

TEST_F(StatusJsonTest, SaysWhatTheServerIsAndWhereItListens) {
    EXPECT_THAT(
        text(),
        AllOf(
            HasSubstr(
                R"({"version":"1.2.3","now_ms":5000,"uptime_ms":7000,"ready":true,"admin":false,)"),
            HasSubstr(R"({"name":"http","address":"127.0.0.1:80","tls":false,"connections":0})"),
            HasSubstr("\"data\":\"" + absolute_path("holdfast-data/holdfast.db") + "\""),
            HasSubstr(R"("grace":"5s")")));
}

TEST_F(StatusJsonTest, SaysWhetherThereAreSecretsAndNothingMore) {
    EXPECT_THAT(text(), HasSubstr(R"("auth token":"no","admin token":"no")"));
    options_.auth_token = "open sesame";
    options_.admin_token_file = "/etc/secret/admin";
    EXPECT_THAT(text(), AllOf(HasSubstr(R"("auth token":"yes","admin token":"yes","tokens":"no")"),
                              Not(HasSubstr("sesame")), Not(HasSubstr("/etc/secret"))));
}

TEST_F(StatusJsonTest, TellsAnAdminThatItIsOne) {
    EXPECT_THAT(text(true), HasSubstr(R"("admin":true)"));
}

TEST_F(StatusJsonTest, CountsNothingForAClientThatMayNotReadEverything) {
    EXPECT_THAT(text(), HasSubstr(R"("figures":{)"));
    EXPECT_THAT(text(false, false),
                AllOf(Not(HasSubstr("figures")), HasSubstr(R"("admin":false)")));
}

TEST_F(StatusJsonTest, TellsAClientWithLimitsNothingButWhereTheFilesAre) {
    options_.files.urls = {"https://files.example"};
    EXPECT_THAT(text(), AllOf(HasSubstr("holdfast.db"), HasSubstr("127.0.0.1:80\""),
                              HasSubstr(R"("connections":0)"), HasSubstr("node-1")));
    EXPECT_EQ(text(false, false),
              R"({"version":"1.2.3","now_ms":5000,"uptime_ms":7000,"ready":true,"admin":false,)"
              R"("listeners":[{"name":"files","address":"127.0.0.1:82","tls":false}],)"
              R"("configuration":{"files-url":"https://files.example"}})"
              "\n");
}

TEST_F(StatusJsonTest, GivesTheReasonWhenNothingIsGranted) {
    service_.failure = "the disk is full";
    EXPECT_THAT(text(), HasSubstr(R"("ready":false,"reason":"the disk is full",)"));
}

TEST_F(StatusJsonTest, CountsWhatThereIsAndWhatHasHappened) {
    service_.table = {.locks = 5, .idle = 2, .leases = 3, .waiters = 4};
    service_.acquire.success = 9;
    store_.commits = 2;
    store_.commit_seconds.add(0.001);
    store_.commit_seconds.add(0.0005);
    EXPECT_THAT(text(),
                AllOf(HasSubstr(R"("held":3,"waiting":4,"locks":3,)"), HasSubstr(R"("grants":9,)"),
                      HasSubstr(R"("commits":2,"commit_microseconds":1500,)")));
}

}  // namespace
}  // namespace holdfast::app

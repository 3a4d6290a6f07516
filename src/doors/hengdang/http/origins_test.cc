#include "doors/hengdang/http/origins.h"

#include <gmock/gmock.h>

#include <string>

#include "net/http/http_parser.h"

namespace holdfast::doors::hengdang {
namespace {

using ::testing::HasSubstr;

// A request with these header lines, each with its end. The text outlives what it returns.
class Asked {
  public:
    explicit Asked(const std::string& headers)
        : text_("GET /x HTTP/1.1\r\nHost: Box:8081\r\n" + headers + "\r\n") {
        EXPECT_EQ(parser_.parse_header(text_), net::HttpParser::Outcome::complete) << headers;
    }
    [[nodiscard]] net::HttpRequest request() const { return parser_.request(text_); }

  private:
    const net::HttpLimits limits_;
    const std::string text_;
    net::HttpParser parser_{limits_};
};

class OriginsTest : public ::testing::Test {
  protected:
    void SetUp() override {
        origins_.allow_dashboard(net::parse_endpoint("0.0.0.0:8080").value(), false);
    }
    [[nodiscard]] OriginKind kind_of(const std::string& origin) const {
        return origins_.find(Asked("Origin: " + origin + "\r\n").request());
    }

    Origins origins_{{"https://drive.example.org"}};
};

TEST_F(OriginsTest, AreNamedOrTheDashboardOrTheDoorItself) {
    EXPECT_EQ(kind_of("https://drive.example.org"), OriginKind::named);
    EXPECT_EQ(kind_of("http://box:8080"), OriginKind::dashboard);
    EXPECT_EQ(kind_of("http://box:8081"), OriginKind::own);
    EXPECT_EQ(origins_.find(Asked("").request()), OriginKind::unknown);
    for (const char* origin :
         {"http://drive.example.org", "https://drive.example.org.evil", "https://evil.example",
          "https://drive.example.org:8443", "https://box:8080", "http://box:80", "http://box",
          "http://box2:8080", "null", "", "box:8080"}) {
        EXPECT_EQ(kind_of(origin), OriginKind::foreign) << origin;
    }
}

TEST_F(OriginsTest, AreToldToBrowsers) {
    const auto lines = [&](const std::string& header) {
        return *origins_.headers_for(Asked(header).request());
    };
    EXPECT_THAT(lines("Origin: https://drive.example.org\r\n"),
                HasSubstr("Access-Control-Allow-Origin: https://drive.example.org\r\n"
                          "Access-Control-Allow-Credentials: true\r\n"));
    EXPECT_EQ(lines("Origin: https://evil.example\r\n"), "Vary: Origin\r\n");
    EXPECT_EQ(lines(""), "Vary: Origin\r\n");
    EXPECT_EQ(Origins({}).headers_for(Asked("Origin: http://x\r\n").request()), nullptr);
}

TEST_F(OriginsTest, DecideWhatACookieMayChange) {
    const Origins none({});
    const auto may = [](const Origins& origins, const std::string& headers) {
        return origins.may_change_by_cookie(Asked(headers).request());
    };
    for (const Origins* origins : std::initializer_list<const Origins*>{&origins_, &none}) {
        EXPECT_TRUE(may(*origins, "Sec-Fetch-Site: same-origin\r\n"));
        EXPECT_TRUE(may(*origins, "Origin: http://box:8081\r\n"));
        EXPECT_FALSE(may(*origins, "Sec-Fetch-Site: cross-site\r\n"));
        EXPECT_FALSE(may(*origins, "Sec-Fetch-Site: same-site\r\n"));
        EXPECT_FALSE(may(*origins, "Sec-Fetch-Site: none\r\n"));
        EXPECT_FALSE(may(*origins, "Origin: https://evil.example\r\n"));
        EXPECT_FALSE(may(*origins, "Origin: null\r\n"));
    }
    const std::string drive = "Origin: https://drive.example.org\r\n";
    EXPECT_TRUE(may(origins_, drive + "Sec-Fetch-Site: cross-site\r\n"));
    EXPECT_FALSE(may(none, drive));
    EXPECT_TRUE(may(none, "")) << "a program; a browser would not send its cookie for others";
    EXPECT_FALSE(may(origins_, "")) << "an old browser would";
}

TEST(Origin, IsReadAsBrowsersSpellIt) {
    EXPECT_EQ(read_origin("https://Drive.Example.org:443"), "https://drive.example.org");
    EXPECT_EQ(read_origin("http://localhost:5173"), "http://localhost:5173");
    EXPECT_EQ(read_origin("http://[::1]:5173"), "http://[::1]:5173");
    for (const char* text : {"", "*", "null", "drive.example.org", "ftp://x", "https://",
                             "https://x/", "https://x/app", "https://x?a", "https://x y"}) {
        const auto origin = read_origin(text);
        ASSERT_FALSE(origin) << text;
        EXPECT_THAT(origin.error().message,
                    HasSubstr("'" + std::string(text) + "' is not an origin"));
    }
}

}  // namespace
}  // namespace holdfast::doors::hengdang

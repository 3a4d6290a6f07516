#include "rights/asker.h"

#include <gtest/gtest.h>

namespace holdfast::rights {
namespace {

std::string asker(const Token* client, Door door, std::string_view host) {
    std::string text = "what was there before";
    set_asker(text, client, door, host);
    return text;
}

TEST(Asker, IsTheNameOfTheToken) {
    const auto ci = std::make_shared<const Token>("ci", Digest{}, Grants{});
    EXPECT_EQ(asker(ci.get(), Door::http, "192.0.2.7"), "ci");
}

TEST(Asker, IsTheDoorAndTheAddressWithoutAToken) {
    const auto anonymous =
        std::make_shared<const Token>(std::string(anonymous_name), Digest{}, Grants{});
    EXPECT_EQ(asker(nullptr, Door::dflockd, "192.0.2.7"), "dflockd@192.0.2.7");
    EXPECT_EQ(asker(anonymous.get(), Door::http, "::1"), "http@::1");
    EXPECT_EQ(asker(nullptr, Door::redis, "unix"), "redis@unix");
    EXPECT_EQ(asker(nullptr, Door::files, ""), "files") << "the client is gone already";
}

}  // namespace
}  // namespace holdfast::rights

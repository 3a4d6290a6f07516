#include "net/tls/tls_context.h"

#include <gmock/gmock.h>

#include <fstream>
#include <thread>
#include <vector>

#include "net/tls/test_certificate.h"

namespace holdfast::net {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

std::string fault_of(const TlsFiles& files) {
    const auto context = TlsContext::load(files);
    return context ? "none" : context.error().message;
}

TEST(TlsContext, IsLoadedFromACertificateAndItsKey) {
    const TestCertificate certificate;
    const auto context = TlsContext::load(certificate.files());
    ASSERT_TRUE(context) << context.error().message;
}

TEST(TlsContext, NamesTheFileThatIsMissing) {
    const TestCertificate certificate;
    const TlsFiles good = certificate.files();
    EXPECT_THAT(fault_of({"/no/such.crt", good.key_file}),
                AllOf(HasSubstr("/no/such.crt"), HasSubstr("No such file")));
    EXPECT_THAT(fault_of({good.certificate_file, "/no/such.key"}),
                AllOf(HasSubstr("/no/such.key"), HasSubstr("No such file")));
}

TEST(TlsContext, NamesTheFileThatIsNotWhatItShouldBe) {
    const TestCertificate certificate, other;
    const TlsFiles good = certificate.files();
    const std::string nonsense = other.files().certificate_file;
    for (const std::string& text : {std::string(), std::string("nonsense\n")}) {
        std::ofstream(nonsense) << text;
        EXPECT_EQ(fault_of({nonsense, good.key_file}),
                  nonsense + " holds no certificate in PEM form");
        EXPECT_EQ(fault_of({good.certificate_file, nonsense}),
                  nonsense + " holds no private key in PEM form");
    }
    EXPECT_EQ(fault_of({good.key_file, good.key_file}),
              good.key_file + " holds no certificate in PEM form");
    EXPECT_EQ(fault_of({good.certificate_file, good.certificate_file}),
              good.certificate_file + " holds no private key in PEM form");
    std::ofstream(nonsense) << "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
    EXPECT_THAT(fault_of({nonsense, good.key_file}),
                HasSubstr("cannot use the TLS certificate " + nonsense + ": "));
}

TEST(TlsContext, RefusesAKeyOfAnotherCertificate) {
    const TestCertificate one, other;
    EXPECT_THAT(fault_of({one.files().certificate_file, other.files().key_file}),
                AllOf(HasSubstr(one.files().certificate_file), HasSubstr(other.files().key_file),
                      HasSubstr("does not belong")));
}

TEST(TlsContext, DoesNotAskForThePassphraseOfAnEncryptedKey) {
    TestCertificate certificate;
    certificate.renew("encrypted", "secret");
    EXPECT_THAT(fault_of(certificate.files()),
                AllOf(HasSubstr(certificate.files().key_file), HasSubstr("is encrypted")));
}

TEST(TlsSource, GivesTheNewContextOnceItIsReloaded) {
    TestCertificate certificate;
    const auto source = TlsSource::open(certificate.files()).value();
    const auto old = source->current();
    EXPECT_EQ(old, source->current());
    certificate.renew("second");
    EXPECT_TRUE(source->reload());
    EXPECT_NE(old, source->current());
}

TEST(TlsSource, KeepsWhatItHasWhenItCannotBeReloaded) {
    TestCertificate certificate;
    const auto source = TlsSource::open(certificate.files()).value();
    const auto old = source->current();
    std::ofstream(certificate.files().key_file) << "nonsense";
    const auto reloaded = source->reload();
    ASSERT_FALSE(reloaded);
    EXPECT_THAT(reloaded.error().message, HasSubstr(certificate.files().key_file));
    EXPECT_EQ(old, source->current());
    EXPECT_FALSE(TlsSource::open(certificate.files()));
}

TEST(TlsSource, MayBeReloadedWhileOthersTakeFromIt) {
    const TestCertificate certificate;
    const auto source = TlsSource::open(certificate.files()).value();
    std::vector<std::thread> takers;
    takers.reserve(3);
    for (int i = 0; i < 3; ++i) {
        takers.emplace_back([&] {
            for (int round = 0; round < 1000; ++round) EXPECT_TRUE(source->current());
        });
    }
    for (int round = 0; round < 20; ++round) EXPECT_TRUE(source->reload());
    for (auto& taker : takers) taker.join();
}

}  // namespace
}  // namespace holdfast::net

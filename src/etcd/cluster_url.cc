#include "etcd/cluster_url.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/text/number.h"

namespace holdfast::etcd {

namespace {

constexpr std::string_view default_prefix = "holdfast";

struct Scheme {
    std::string_view text;
    bool is_tls;
    bool is_repeated;  // stands before every member
};
constexpr std::array schemes{
    Scheme{.text = "etcd://", .is_tls = false, .is_repeated = false},
    Scheme{.text = "etcds://", .is_tls = true, .is_repeated = false},
    Scheme{.text = "http://", .is_tls = false, .is_repeated = true},
    Scheme{.text = "https://", .is_tls = true, .is_repeated = true},
};

bool is_unprintable(char byte) {
    return byte <= ' ' || byte >= '\x7f';
}

// Reads HOST, HOST:PORT, [IPV6] or [IPV6]:PORT.
base::Result<Member> parse_member(std::string_view text) {
    const bool is_bracketed = text.starts_with('[');
    const std::size_t host_end =
        is_bracketed ? text.find(']') : std::min(text.find(':'), text.size());
    if (host_end == std::string_view::npos) {
        return base::fail(fmt::format("'{}' has no ] behind its address", text));
    }
    Member member;
    member.host = is_bracketed ? text.substr(1, host_end - 1) : text.substr(0, host_end);
    if (member.host.empty()) return base::fail(fmt::format("'{}' names no host", text));
    const std::string_view rest = text.substr(host_end + (is_bracketed ? 1 : 0));
    if (rest.empty()) return member;
    const auto port = base::parse_decimal<std::uint16_t>(rest.substr(1));
    if (rest.front() != ':' || !port || *port == 0) {
        return base::fail(fmt::format("'{}' has no port from 1 to 65535 behind its host", text));
    }
    member.port = std::to_string(*port);
    return member;
}

base::Result<std::string> parse_prefix(std::string_view path) {
    while (path.starts_with('/')) path.remove_prefix(1);
    while (path.ends_with('/')) path.remove_suffix(1);
    if (path.find(',') != std::string_view::npos) {
        return base::fail("the path stands once, behind the last member");
    }
    return std::string(path.empty() ? default_prefix : path);
}

}  // namespace

base::Result<ClusterUrl> ClusterUrl::parse(std::string_view text) {
    if (std::any_of(text.begin(), text.end(), is_unprintable)) {
        return base::fail(fmt::format("'{}' has a space or a character that is not ASCII", text));
    }
    if (text.find_first_of("?#@%") != std::string_view::npos) {
        return base::fail(fmt::format("'{}' is more than etcd://HOST:PORT,.../PREFIX", text));
    }
    const auto* const scheme = std::find_if(schemes.begin(), schemes.end(), [&](const Scheme& one) {
        return text.starts_with(one.text);
    });
    if (scheme == schemes.end()) {
        return base::fail(fmt::format("'{}' does not begin with etcd:// or etcds://", text));
    }
    ClusterUrl url{.is_tls = scheme->is_tls};
    std::string_view rest = text.substr(scheme->text.size());
    while (true) {
        const std::size_t end = std::min(rest.find_first_of(",/"), rest.size());
        TRY(auto member, parse_member(rest.substr(0, end)));
        if (std::find(url.members.begin(), url.members.end(), member) != url.members.end()) {
            return base::fail(fmt::format("'{}' names {} twice", text, member.to_text()));
        }
        url.members.push_back(std::move(member));
        rest.remove_prefix(end);
        if (!rest.starts_with(',')) break;
        rest.remove_prefix(1);
        if (!scheme->is_repeated) continue;
        if (!rest.starts_with(scheme->text)) {
            return base::fail(
                fmt::format("'{}': every member must begin with {}", text, scheme->text));
        }
        rest.remove_prefix(scheme->text.size());
    }
    TRY(url.prefix, parse_prefix(rest));
    return url;
}

std::string ClusterUrl::to_text() const {
    std::string text(is_tls ? "etcds://" : "etcd://");
    for (const Member& member : members) {
        if (&member != &members.front()) text += ',';
        text += member.to_text();
    }
    return text + '/' + prefix;
}

}  // namespace holdfast::etcd

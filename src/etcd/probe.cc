#include "etcd/probe.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>

#include "base/text/number.h"

namespace holdfast::etcd {

namespace {

using Kind = Failure::Kind;
using Version = std::array<std::uint32_t, 3>;

constexpr Version oldest{3, 4, 0};
constexpr Version newest_known{3, 6, 0};
// The first of each series with the fixes that a cluster should have.
constexpr Version good_3_5{3, 5, 28};
constexpr Version good_3_6{3, 6, 9};

// The first of each series in which a member that was paused does not end leases that live.
constexpr Version keeps_leases_3_4{3, 4, 33};
constexpr Version keeps_leases_3_5{3, 5, 13};
constexpr Version first_3_5{3, 5, 0};

constexpr std::string_view advice = "3.5.28, 3.6.9 or later is recommended";

std::optional<Version> parse_version(std::string_view text) {
    Version version{};
    // A release candidate is called 3.6.0-rc.1.
    text = text.substr(0, text.find('-'));
    for (std::uint32_t& part : version) {
        const auto number = base::parse_decimal<std::uint32_t>(text.substr(0, text.find('.')));
        if (!number) return std::nullopt;
        part = *number;
        text.remove_prefix(std::min(text.size(), text.find('.')));
        if (!text.empty()) text.remove_prefix(1);
    }
    if (!text.empty()) return std::nullopt;
    return version;
}

tl::unexpected<Failure> rejected(std::string message) {
    return tl::unexpected(Failure{.kind = Kind::rejected, .message = std::move(message)});
}

// Removes the key inside a transaction inside a transaction, if it does not exist, and reads it.
std::shared_ptr<const Transaction> make_trial(const std::string& key) {
    const Compare is_absent{.target = Compare::Target::create_revision, .key = key};
    Transaction inner{.conditions = {is_absent}, .then = {Operation::remove(key)}};
    Transaction outer{.conditions = {is_absent},
                      .then = {Operation::transaction(std::move(inner)), Operation::range(key)}};
    return std::make_shared<const Transaction>(std::move(outer));
}

Answer<Warnings> judge_trial(const Answer<TransactionAnswer>& answer, const std::string& key,
                             Warnings warnings) {
    constexpr std::string_view imitation =
        "the server is not etcd, or only a part of it: it does not do nested transactions";
    if (!answer) {
        Failure failure = answer.error();
        if (failure.kind == Kind::rejected) {
            failure.message = fmt::format("{} ({})", imitation, failure.message);
        }
        return tl::unexpected(std::move(failure));
    }
    if (!answer->is_true) {
        return rejected(fmt::format(
            "the key {} exists, but Holdfast does not write it: choose another prefix", key));
    }
    const bool is_read = answer->ranges.size() == 1 && answer->ranges.front().found.empty();
    if (!is_read) return rejected(std::string(imitation));
    return warnings;
}

}  // namespace

Answer<Warnings> judge_version(const std::string& text) {
    const auto version = parse_version(text);
    if (!version) {
        return rejected(fmt::format("the server calls its version '{}', as no etcd does", text));
    }
    if (*version < oldest) {
        return rejected(fmt::format("etcd {} is too old: 3.4 is the oldest that works", text));
    }
    const bool is_good = (*version >= good_3_5 && *version < newest_known) || *version >= good_3_6;
    if (is_good) return Warnings();
    const bool ends_leases =
        *version < keeps_leases_3_4 || (*version >= first_3_5 && *version < keeps_leases_3_5);
    if (ends_leases) {
        return Warnings{fmt::format(
            "etcd {} can end the lease of a node that lives, when a member that was paused goes "
            "on: "
            "then two nodes answer until the first finds out, half a second or a little more. From "
            "3.4.33 and 3.5.13 on it does not; {}",
            text, advice)};
    }
    return Warnings{fmt::format("etcd {} lacks fixes for leases and watches; {}", text, advice)};
}

void probe(Api& api, const std::string& prefix, Api::Duration timeout, OnAnswer<Warnings> done) {
    const std::string key = prefix + (prefix.ends_with('/') ? "probe" : "/probe");
    api.status(
        timeout, [&api, key, timeout, done = std::move(done)](const Answer<StatusAnswer>& status) {
            if (!status) return done(tl::unexpected(status.error()));
            auto judged = judge_version(status->version);
            if (!judged) return done(std::move(judged));
            for (const std::string& error : status->errors) {
                judged->push_back("etcd has an alarm: " + error);
            }
            api.transact(make_trial(key), timeout,
                         [key, done,
                          warnings = std::move(*judged)](const Answer<TransactionAnswer>& answer) {
                             done(judge_trial(answer, key, warnings));
                         });
        });
}

}  // namespace holdfast::etcd

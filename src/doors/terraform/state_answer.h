#pragma once

// The answers of the Terraform door. All of them are JSON, and end in a newline. An error is
// `{"error":"a sentence"}`; if somebody else's lock is the reason, `lock` has its JSON.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "files/path/file_error.h"
#include "files/versions/version_store.h"
#include "net/http/http_reply.h"
#include "rights/denial.h"
#include "service/request.h"

namespace holdfast::doors::terraform {

// An answer that may be passed from thread to thread.
struct StateAnswer {
    int status = 200;
    std::string body;
};

// Nothing, or the answer that says why something is not done.
using Objection = std::optional<StateAnswer>;

void send(net::DeferredReply& reply, const StateAnswer& answer);

[[nodiscard]] StateAnswer refuse(int status, std::string_view sentence);
[[nodiscard]] StateAnswer refuse(const files::FileError& error);
// 403: the client has no right to this.
[[nodiscard]] StateAnswer refuse(const rights::Denial& denial, std::string_view sentence);
// 503: the service cannot be asked now.
[[nodiscard]] StateAnswer refuse_failed(const service::Response& response);
// The sentence, and the JSON of the lock that is in the way.
// NOLINTNEXTLINE(bugprone-easily-swappable-parameters): in the order of the body
[[nodiscard]] StateAnswer refuse_locked(int status, std::string_view sentence,
                                        std::string_view lock);

// What is known of a version: the store's part, and what the state itself says at its beginning.
struct VersionNote {
    files::Version version;
    std::optional<std::uint64_t> serial;  // counted by Terraform
    std::string terraform_version;        // empty: not known
};
// `head` is the beginning of the state.
[[nodiscard]] VersionNote describe(const files::Version& version, std::string_view head);

struct StateNote {
    std::string name;
    VersionNote newest;
    std::size_t version_count = 0;
};

// `{"name":"prod","version":12,...}`: a version that was just written.
[[nodiscard]] StateAnswer tell_written(std::string_view name, const files::Version& version);
[[nodiscard]] StateAnswer tell_versions(std::string_view name,
                                        const std::vector<VersionNote>& versions);
[[nodiscard]] StateAnswer tell_states(const std::vector<StateNote>& states);

}  // namespace holdfast::doors::terraform

#include "doors/terraform/state_answer.h"

#include <chrono>

#include "base/check.h"
#include "base/json/json_writer.h"
#include "base/text/number.h"
#include "base/text/rfc3339.h"

namespace holdfast::doors::terraform {

namespace {

constexpr std::string_view json_type = "application/json";

// The status of an answer to a request that the store could not serve.
int status_of(files::Fault fault) {
    switch (fault) {
        case files::Fault::not_found: return 404;
        case files::Fault::too_large: return 413;
        case files::Fault::refused: return 423;
        case files::Fault::disk_full: return 507;
        default: return 500;
    }
}

// What follows `"name":` in the text, without the blanks before it; empty if that is not there. The
// beginning of a document is no whole JSON, so it cannot be parsed as such.
// NOLINTNEXTLINE(bugprone-easily-swappable-parameters): where, then what
std::string_view value_of(std::string_view head, std::string_view name) {
    const std::string key = '"' + std::string(name) + "\":";
    const std::size_t at = head.find(key);
    if (at == head.npos) return {};
    head.remove_prefix(at + key.size());
    head.remove_prefix(std::min(head.find_first_not_of(" \t\r\n"), head.size()));
    return head;
}

void append_version(base::JsonWriter& writer, const VersionNote& note) {
    const std::chrono::sys_time<std::chrono::milliseconds> written{
        std::chrono::milliseconds{note.version.written_ms}};
    std::string written_at;
    base::append_rfc3339(written_at, written);
    writer.field("version", note.version.number)
        .field("written_at", written_at)
        .field("size_bytes", note.version.size_bytes);
    if (note.version.size_bytes == 0) writer.field("removed", true);
    if (note.serial) writer.field("serial", *note.serial);
    if (!note.terraform_version.empty()) {
        writer.field("terraform_version", std::string_view(note.terraform_version));
    }
}

}  // namespace

// A body of a state may still be on its way when the answer is sent.
void send(net::DeferredReply& reply, const StateAnswer& answer) {
    if (answer.status != 503) return reply.send(answer.status, json_type, answer.body);
    reply.send(answer.status, json_type, answer.body, {{"Retry-After", "1"}});
}

StateAnswer refuse(int status, std::string_view sentence) {
    StateAnswer answer{.status = status, .body = {}};
    base::JsonWriter(answer.body).begin_object().field("error", sentence).end_object();
    answer.body += '\n';
    return answer;
}

StateAnswer refuse(const files::FileError& error) {
    return refuse(status_of(error.fault), error.message);
}

StateAnswer refuse(const rights::Denial& denial, std::string_view sentence) {
    StateAnswer answer = refuse(403, sentence);
    rights::add_to_json(answer.body, denial);
    return answer;
}

StateAnswer refuse_failed(const service::Response& response) {
    CHECK(!response.failure.empty());
    return refuse(503, response.failure);
}

// NOLINTNEXTLINE(bugprone-easily-swappable-parameters): in the order of the answer
StateAnswer refuse_locked(int status, std::string_view sentence, std::string_view lock) {
    StateAnswer answer{.status = status, .body = {}};
    base::JsonWriter(answer.body).begin_object().field("error", sentence).end_object();
    answer.body.pop_back();
    answer.body.append(",\"lock\":").append(lock).append("}\n");
    return answer;
}

VersionNote describe(const files::Version& version, std::string_view head) {
    VersionNote note{.version = version, .serial = {}, .terraform_version = {}};
    const std::string_view serial = value_of(head, "serial");
    const std::size_t end = std::min(serial.find_first_not_of("0123456789"), serial.size());
    note.serial = base::parse_decimal<std::uint64_t>(serial.substr(0, end));
    std::string_view program = value_of(head, "terraform_version");
    if (!program.starts_with('"')) return note;
    program.remove_prefix(1);
    const std::size_t quote = program.find_first_of("\"\\");
    if (quote != program.npos && program[quote] == '"') {
        note.terraform_version = program.substr(0, quote);
    }
    return note;
}

StateAnswer tell_written(std::string_view name, const files::Version& version) {
    StateAnswer answer;
    base::JsonWriter writer(answer.body);
    writer.begin_object().field("name", name);
    append_version(writer, {.version = version, .serial = {}, .terraform_version = {}});
    writer.end_object();
    answer.body += '\n';
    return answer;
}

StateAnswer tell_versions(std::string_view name, const std::vector<VersionNote>& versions) {
    StateAnswer answer;
    base::JsonWriter writer(answer.body);
    writer.begin_object().field("name", name).begin_array("versions");
    for (const VersionNote& note : versions) {
        writer.begin_object();
        append_version(writer, note);
        writer.end_object();
    }
    writer.end_array().end_object();
    answer.body += '\n';
    return answer;
}

StateAnswer tell_states(const std::vector<StateNote>& states) {
    StateAnswer answer;
    base::JsonWriter writer(answer.body);
    writer.begin_object().begin_array("states");
    for (const StateNote& state : states) {
        writer.begin_object().field("name", std::string_view(state.name));
        append_version(writer, state.newest);
        writer.field("version_count", state.version_count).end_object();
    }
    writer.end_array().end_object();
    answer.body += '\n';
    return answer;
}

}  // namespace holdfast::doors::terraform

#include "doors/terraform/terraform_handler.h"

#include <utility>

#include "base/log/log.h"
#include "base/text/hex.h"
#include "base/text/number.h"
#include "files/disk/system.h"
#include "net/client/url.h"
#include "rights/denial.h"

namespace holdfast::doors::terraform {

namespace {

// How much of a state is read to find what it says about itself.
constexpr std::size_t head_bytes = 512;
constexpr std::size_t md5_bytes = 16;

enum class Action { list, read, write, remove, lock, unlock, list_versions, roll_back };

using net::Privilege;
using net::Reach;
using Body = net::BodyPolicy;

constexpr net::Route all_routes[] = {
    {"GET, HEAD", "/v1/terraform", Privilege::read, Body::ignored, "listStates", Action::list,
     Reach::asked},
    {"GET, HEAD", "/v1/terraform/{name}", Privilege::read, Body::ignored, "readState", Action::read,
     Reach::asked},
    {"POST", "/v1/terraform/{name}", Privilege::lock, Body::pieces, "writeState", Action::write,
     Reach::asked},
    {"DELETE", "/v1/terraform/{name}", Privilege::lock, Body::ignored, "removeState",
     Action::remove, Reach::asked},
    {"LOCK", "/v1/terraform/{name}", Privilege::lock, Body::whole, "", Action::lock, Reach::asked},
    {"UNLOCK", "/v1/terraform/{name}", Privilege::lock, Body::whole, "", Action::unlock,
     Reach::asked},
    {"POST", "/v1/terraform/{name}/lock", Privilege::lock, Body::whole, "lockState", Action::lock,
     Reach::asked},
    {"DELETE", "/v1/terraform/{name}/lock", Privilege::lock, Body::whole, "unlockState",
     Action::unlock, Reach::asked},
    {"GET, HEAD", "/v1/terraform/{name}/versions", Privilege::read, Body::ignored,
     "listStateVersions", Action::list_versions, Reach::asked},
    {"POST", "/v1/terraform/{name}/rollback", Privilege::lock, Body::ignored, "rollBackState",
     Action::roll_back, Reach::asked},
};

// Why the client may not do this to a state. A state is the named lock of the same name.
Objection deny(const net::RoutedRequest& request, rights::Right right, const std::string& name) {
    const rights::Need need{right, rights::Door::http, core::Scope::named(name)};
    const auto denial = rights::deny(request.client, need);
    return denial ? Objection(terraform::refuse(*denial, denial->sentence)) : Objection();
}

rights::Right right_of(const net::Route& route) {
    return route.needs == Privilege::read ? rights::Right::read : rights::Right::lock;
}

void send(net::HttpReply& reply, const StateAnswer& answer) {
    reply.send(answer.status, "application/json", answer.body);
}

// The name of the state in a path.
base::Result<std::string> read_name(std::string_view parameter) {
    TRY(auto name, net::percent_decode(parameter));
    if (files::VersionStore::is_name(name)) return name;
    return base::fail(
        "a state cannot have this name: it is empty, too long, or no UTF-8, or has control "
        "characters");
}

base::Result<std::string> read_lock_id(std::string_view query) {
    TRY(auto id, net::query_parameter(query, "ID"));
    return id.value_or("");
}

base::Result<std::optional<std::uint64_t>> read_version(std::string_view query) {
    TRY(const auto text, net::query_parameter(query, "version"));
    if (!text) return std::nullopt;
    const auto number = base::parse_decimal<std::uint64_t>(*text);
    if (!number) return base::fail("version must be a number");
    return number;
}

base::Result<SaveRequest> read_save_request(const net::RoutedRequest& routed) {
    const net::HttpRequest& http = routed.http;
    SaveRequest request{.writer = {.name = {}, .client = rights::keep(routed.client)}};
    TRY(request.writer.name, read_name(routed.parameter));
    TRY(request.writer.id, read_lock_id(http.query));
    if (const auto text = http.header("Content-MD5")) {
        request.md5 = base::decode_base64(*text);
        if (!request.md5 || request.md5->size() != md5_bytes) {
            return base::fail("Content-MD5 is not the Base64 of 16 bytes");
        }
    }
    const auto length = http.header("Content-Length");
    if (length) request.length = base::parse_decimal<std::uint64_t>(*length);
    return request;
}

// On the threads of the disk:

VersionNote note_of(const files::VersionStore& store, const std::string& name,
                    const files::Version& version) {
    const auto file = store.open_version(name, version.number);
    const auto head = file ? files::read_head(file->descriptor.get(), head_bytes)
                           : files::SystemResult<std::string>("");
    return describe(version, head.value_or(""));
}

StateAnswer list_versions(const files::VersionStore& store, const std::string& name) {
    const auto versions = store.versions(name);
    if (!versions) return terraform::refuse(versions.error());
    if (versions->empty()) return terraform::refuse(404, "there is no state " + name);
    std::vector<VersionNote> notes;
    for (const files::Version& each : *versions) notes.push_back(note_of(store, name, each));
    return tell_versions(name, notes);
}

StateAnswer list_states(const files::VersionStore& store, const core::ScopeFilter* readable) {
    const auto names = store.names();
    if (!names) return terraform::refuse(names.error());
    std::vector<StateNote> notes;
    for (const std::string& name : *names) {
        if (readable != nullptr && !readable->includes(core::Scope::named(name))) continue;
        const auto versions = store.versions(name);
        if (!versions) return terraform::refuse(versions.error());
        if (versions->empty()) continue;
        notes.push_back({.name = name,
                         .newest = note_of(store, name, versions->front()),
                         .version_count = versions->size()});
    }
    return tell_states(notes);
}

// Changes the state by `change` if the lock allows that.
template <class Change>
StateAnswer change_state(TerraformDoor& door, const StateLocks::Request& writer, Change change) {
    Objection objection;
    const files::FileResult<files::Version> version = change([&] {
        objection = door.locks().check(writer);
        return !objection;
    });
    if (objection) return *objection;
    if (!version) return terraform::refuse(version.error());
    return tell_written(writer.name, *version);
}

// Whatever ended the lock before this one, a write that was allowed by it is done before the new
// holder is told, or does not happen.
StateAnswer lock_state(TerraformDoor& door, files::VersionStore& store,
                       const StateLocks::Request& request, const LockInfo& info) {
    if (auto objection = door.locks().lock(request, info)) return std::move(*objection);
    store.wait_for_writes(request.name);
    return {.status = 200, .body = info.json + "\n"};
}

}  // namespace

std::span<const net::Route> TerraformHandler::routes() {
    return all_routes;
}

void TerraformHandler::break_off() {
    while (!uploads_.empty()) (*uploads_.begin())->break_off();
}

void TerraformHandler::refuse(const net::HttpRequest& /*request*/, const net::RouteRefusal& refusal,
                              net::HttpReply& reply) {
    if (refusal.status == 405) {
        const StateAnswer answer = terraform::refuse(405, "method not allowed");
        return reply.send(405, "application/json", answer.body,
                          {{"Allow", refusal.allowed_methods}});
    }
    if (refusal.denial != nullptr) {
        return send(reply, terraform::refuse(*refusal.denial, refusal.reason));
    }
    send(reply, terraform::refuse(404,
                                  "no such path; a state is at /v1/terraform/NAME, with a slash in "
                                  "its name written as %2F"));
}

void TerraformHandler::handle(const net::RoutedRequest& request, net::HttpReply& reply) {
    const auto action = request.route.action.as<Action>();
    if (action == Action::list) {
        return begin_work(
            context_,
            [readable = rights::readable_by(request.client, rights::Door::http)](
                TerraformDoor&, files::VersionStore& store) {
                return list_states(store, readable.get());
            },
            reply);
    }
    const auto name = read_name(request.parameter);
    const auto lock_id = read_lock_id(request.http.query);
    const auto version = read_version(request.http.query);
    if (!name) return send(reply, terraform::refuse(400, name.error().message));
    if (!lock_id) return send(reply, terraform::refuse(400, lock_id.error().message));
    if (!version) return send(reply, terraform::refuse(400, version.error().message));
    if (const auto denied = deny(request, right_of(request.route), *name)) {
        return send(reply, *denied);
    }
    StateLocks::Request writer{.name = *name,
                               .id = *lock_id,
                               .client = rights::keep(request.client),
                               .by = std::string(request.by)};
    switch (action) {
        case Action::lock: return lock(request, *name, reply);
        case Action::unlock: return unlock(request, *name, reply);
        case Action::read:
            return begin_loading(context_, {.name = *name, .version = *version}, reply);
        case Action::list_versions:
            return begin_work(
                context_,
                [name = *name](TerraformDoor&, files::VersionStore& store) {
                    return list_versions(store, name);
                },
                reply);
        case Action::remove:
            return begin_work(
                context_,
                [writer = std::move(writer)](TerraformDoor& door, files::VersionStore& store) {
                    return change_state(door, writer, [&](const auto& check) {
                        return store.remove(writer.name, check);
                    });
                },
                reply);
        case Action::roll_back:
            if (!*version) return send(reply, terraform::refuse(400, "version is missing"));
            return begin_work(
                context_,
                [writer = std::move(writer), number = **version](TerraformDoor& door,
                                                                 files::VersionStore& store) {
                    StateAnswer answer = change_state(door, writer, [&](const auto& check) {
                        return store.restore(writer.name, number, check);
                    });
                    if (answer.status == 200) {
                        const std::string scope = core::to_text(core::Scope::named(writer.name));
                        door.locks().tell_rolled_back(scope + ", version " + std::to_string(number),
                                                      writer.by);
                    }
                    return answer;
                },
                reply);
        case Action::list:
        case Action::write: break;
    }
}

void TerraformHandler::lock(const net::RoutedRequest& request, const std::string& name,
                            net::HttpReply& reply) {
    auto info = read_lock_info(request.http.body);
    if (!info) return send(reply, terraform::refuse(400, info.error().message));
    begin_work(
        context_,
        [locker = StateLocks::Request{.name = name,
                                      .id = info->id,
                                      .client = rights::keep(request.client),
                                      .by = std::string(request.by)},
         info = *info](TerraformDoor& door, files::VersionStore& store) {
            return lock_state(door, store, locker, info);
        },
        reply);
}

// Terraform's force-unlock has no body.
void TerraformHandler::unlock(const net::RoutedRequest& request, const std::string& name,
                              net::HttpReply& reply) {
    std::string id;
    if (request.http.body.empty()) {
        constexpr std::string_view why =
            "a lock that is ended without its ID, as by force-unlock, needs the admin token";
        const rights::Need need{rights::Right::admin, rights::Door::http, core::Scope::named(name)};
        if (const auto denial = rights::deny(request.client, need)) {
            return send(reply, terraform::refuse(*denial, why));
        }
    } else {
        const auto info = read_lock_info(request.http.body);
        if (!info) return send(reply, terraform::refuse(400, info.error().message));
        id = info->id;
    }
    begin_work(
        context_,
        [unlock = StateLocks::Request{.name = name,
                                      .id = id,
                                      .client = rights::keep(request.client),
                                      .by = std::string(request.by)}](TerraformDoor& door,
                                                                      files::VersionStore&) {
            auto objection = door.locks().unlock(unlock);
            return objection ? std::move(*objection) : StateAnswer{.status = 200, .body = "{}\n"};
        },
        reply);
}

std::unique_ptr<net::BodySink> TerraformHandler::receive(const net::RoutedRequest& request,
                                                         net::HttpReply& reply,
                                                         net::BodySource& source) {
    auto save = read_save_request(request);
    if (!save) return send(reply, terraform::refuse(400, save.error().message)), nullptr;
    if (const auto denied = deny(request, rights::Right::lock, save->writer.name)) {
        return send(reply, *denied), nullptr;
    }
    return begin_saving(context_, std::move(*save), reply, source);
}

}  // namespace holdfast::doors::terraform

// The file door, row by row: who asks for what, and what is answered.

#include <gmock/gmock.h>

#include <map>
#include <ostream>
#include <string>
#include <tuple>
#include <vector>

#include "files_host.h"

namespace holdfast::conformance {
namespace {

using ::testing::HasSubstr;

// Who: `a` and `b` have sessions, `-` has none; `+` moves the clock by so many milliseconds. In
// what is expected `@5` is the time 5 ms after the start, `{a}` a's name, and `{etag}` the last
// ETag that was seen; `{etag}` may stand in headers that are sent, too.
struct Step {
    std::string who;
    FileRequest request;
    int status = 0;
    std::string part = {};         // of the body
    std::string header_part = {};  // of the header
};

struct Row {
    std::string name;
    std::vector<Step> steps;
};

void PrintTo(const Row& row, std::ostream* out) {  // NOLINT(readability-identifier-naming)
    *out << row.name;
}

void replace_all(std::string& text, const std::string& what, const std::string& by) {
    for (std::size_t at = 0; (at = text.find(what, at)) != std::string::npos; at += by.size()) {
        text.replace(at, what.size(), by);
    }
}

class HengdangTable : public ::testing::TestWithParam<std::tuple<Row, std::size_t>> {
  protected:
    void run(const Step& step) {
        if (step.who == "+") {
            return host_.advance(std::chrono::milliseconds{std::stoll(step.request.line)});
        }
        FilesClient& client = clients_.at(step.who);
        FileRequest request = step.request;
        for (std::string& header : request.headers) replace_all(header, "{etag}", etag_);
        const net::TestResponse response = client.ask(request);
        EXPECT_EQ(response.status, step.status) << request.line << "\n" << response.body;
        EXPECT_THAT(response.body, HasSubstr(fill_in(step.part))) << request.line;
        EXPECT_THAT(response.header, HasSubstr(fill_in(step.header_part))) << request.line;
        const std::string etag = header_of(response, "ETag");
        if (!etag.empty()) etag_ = etag;
    }

    std::string fill_in(std::string text) {
        for (const char* who : {"a", "b"}) {
            replace_all(text, std::string("{") + who + "}", clients_.at(who).name);
        }
        std::string escaped = etag_;
        replace_all(escaped, "\"", "\\\"");
        replace_all(text, "{json-etag}", escaped);
        replace_all(text, "{owner}", host_.owner().public_key());
        replace_all(text, "{etag}", etag_);
        for (std::size_t at = 0; (at = text.find('@', at)) != std::string::npos; ++at) {
            const std::size_t end = text.find_first_not_of("0123456789", at + 1);
            const std::string digits = text.substr(at + 1, end - at - 1);
            text.replace(at, digits.size() + 1,
                         std::to_string(files_start_ms + std::stoll(digits)));
        }
        return text;
    }

    FilesHost host_{std::get<1>(GetParam()), [](app::ServeOptions& options) {
                        options.is_in_memory = true;
                        options.files.file_bytes_max = 1000;
                        options.files.quota_bytes = 3000;
                    }};
    std::map<std::string, FilesClient> clients_ = [this] {
        std::map<std::string, FilesClient> clients;
        clients.emplace("a", FilesClient::logged_in(host_));
        clients.emplace("b", FilesClient::logged_in(host_));
        clients.emplace("-", FilesClient(host_));
        return clients;
    }();
    std::string etag_;
};

TEST_P(HengdangTable, IsAnsweredAsWritten) {
    for (const Step& step : std::get<0>(GetParam()).steps) {
        run(step);
        if (HasFailure()) return;
    }
}

Step get(std::string who, const std::string& target, int status, std::string part = "",
         std::string header_part = "") {
    return {
        std::move(who), {.line = "GET " + target}, status, std::move(part), std::move(header_part)};
}
Step put(std::string who, const std::string& path, std::string body, int status,
         std::string part = "", std::string header_part = "") {
    return {std::move(who),
            {.line = "PUT " + path, .body = std::move(body)},
            status,
            std::move(part),
            std::move(header_part)};
}
Step wait(const std::string& ms) {
    return {"+", {.line = ms}};
}
Step with(Step step, std::vector<std::string> headers) {
    step.request.headers = std::move(headers);
    return step;
}
Step plain(std::string who, const std::string& line, int status, std::string part = "",
           std::string header_part = "") {
    return {std::move(who), {.line = line}, status, std::move(part), std::move(header_part)};
}

// After some files are there, whatever somebody without a session asks of these paths: 401.
std::vector<Step> as_strangers(const std::vector<std::string>& paths) {
    const std::string token = "Lock-Token: " + std::string(32, '0');
    std::vector<Step> steps{put("a", "/x", "hi", 201), put("a", "/d/y", "hi", 201),
                            get("a", "/x?lock=acquire", 200)};
    for (const std::string& path : paths) {
        for (const char* condition :
             {"If-Match: *", "If-None-Match: *", "If-Match: {etag}", "If-Match: \"other\"",
              "If-Unmodified-Since: Mon, 15 Jan 2024 10:29:59 GMT"}) {
            steps.push_back(
                with(put("-", path, "ho", 401, "Authentication required"), {condition}));
            steps.push_back(with(plain("-", "DELETE " + path, 401), {condition}));
            steps.push_back(with(plain("-", "GET " + path, 401), {condition}));
            steps.push_back(with(plain("-", "HEAD " + path, 401), {condition}));
            steps.push_back(with(Step{"-", {.line = "PATCH " + path, .body = "X"}, 401},
                                 {condition, "Content-Range: bytes 0-0/*"}));
        }
        steps.push_back(with(put("-", path, "ho", 401), {token}));
        steps.push_back(with(plain("-", "DELETE " + path, 401), {token}));
        steps.push_back(with(put("-", path, "ho", 401, "Invalid session"),
                             {"If-None-Match: *", "Authorization: Bearer 0123"}));
        for (const char* request : {"POST ", "GET ", "HEAD ", "DELETE "}) {
            steps.push_back(plain("-", request + path, 401));
        }
        for (const char* query : {"?lock=status", "?lock=acquire", "?lock=steal", "?limit=x"}) {
            steps.push_back(get("-", path + query, 401));
        }
        steps.push_back(get("-", "/events/stream?path=" + path, 401));
    }
    return steps;
}

const std::string locked_by_a =
    R"({"error":"File is locked","message":"This file is currently being edited by another )"
    R"(session","lockedBy":"{a}","lockedAt":@0,"expiresAt":@1800000})";
const std::string ask_each_time = "Cache-Control: private, no-cache\r\n";
const std::string no_lock = R"({"error":"No lock found or not owned by this session","message":")";
const std::string free_lock = R"({"locked":false,"ownedByThisSession":false})";

const std::vector<Row> lock_rows{
    {"AcquireTellsWhoHasIt",
     {get("a", "/x?lock=acquire", 200,
          R"({"message":"Lock acquired","path":"/x","sessionId":"{a}"})"),
      get("b", "/x?lock=acquire", 423, locked_by_a), put("b", "/x", "hi", 423, locked_by_a)}},
    {"AcquireAgainResetsBothTimes",
     {get("a", "/x?lock=acquire", 200), wait("5000"), get("a", "/x?lock=acquire", 200),
      get("b", "/x?lock=status", 200, R"("lockedAt":@5000,"expiresAt":@1805000)")}},
    {"RefreshExtendsTheExpiryOnly",
     {get("a", "/x?lock=acquire", 200), wait("5000"),
      get("a", "/x?lock=refresh", 200, R"({"message":"Lock refreshed","path":"/x"})"),
      get("b", "/x?lock=status", 200, R"("lockedAt":@0,"expiresAt":@1805000)")}},
    {"AcquireAndRefreshMayAskForAShorterLock",
     {get("a", "/x?lock=acquire&ttl=60s", 200),
      get("b", "/x?lock=status", 200, R"("lockedAt":@0,"expiresAt":@60000)"), wait("59999"),
      get("a", "/x?lock=refresh&ttl=60s", 200), wait("59999"), put("b", "/x", "hi", 423), wait("1"),
      put("b", "/x", "hi", 201), get("a", "/x?lock=refresh&ttl=60s", 404, no_lock)}},
    {"TheShorterLockIsFromOneSecondToHalfAnHour",
     {get("a", "/x?lock=acquire&ttl=0.9s", 400, "ttl must be a duration from 1s to 30m"),
      get("a", "/x?lock=acquire&ttl=31m", 400), get("a", "/x?lock=refresh&ttl=60", 400),
      get("a", "/x?lock=acquire&ttl=", 400),
      get("a", "/x?lock=release&ttl=60s", 400, "ttl belongs to"),
      get("a", "/x?lock=status&ttl=60s", 400), get("b", "/x?lock=status", 200, free_lock),
      get("a", "/x?lock=acquire&ttl=1s", 200), get("a", "/x?lock=acquire&ttl=30m", 200),
      get("b", "/x?lock=status", 200, R"("expiresAt":@1800000)")}},
    {"ReleaseAndRefreshAreForTheOwner",
     {get("a", "/x?lock=release", 404, no_lock), get("a", "/x?lock=refresh", 404, no_lock),
      get("a", "/x?lock=acquire", 200), get("b", "/x?lock=release", 404, no_lock),
      get("b", "/x?lock=refresh", 404, no_lock),
      get("a", "/x?lock=release", 200, R"({"message":"Lock released","path":"/x"})"),
      get("b", "/x?lock=acquire", 200)}},
    {"StatusTellsWhoseItIs",
     {get("a", "/x?lock=status", 200, free_lock), get("a", "/x?lock=acquire", 200),
      get("a", "/x?lock=status", 200,
          R"({"locked":true,"lock":{"lockedBy":"{a}","lockedAt":@0,"expiresAt":@1800000},)"
          R"("ownedByThisSession":true})"),
      get("b", "/x?lock=status", 200, R"("ownedByThisSession":false})")}},
    {"ExpiresOnTime",
     {get("a", "/x?lock=acquire", 200), wait("1799999"), put("b", "/x", "hi", 423), wait("1"),
      get("b", "/x?lock=status", 200, free_lock), get("a", "/x?lock=refresh", 404, no_lock),
      put("b", "/x", "hi", 201)}},
    {"APutReleasesTheLockTakenByHand",
     {get("a", "/x?lock=acquire", 200), put("a", "/x", "hi", 201),
      get("b", "/x?lock=status", 200, free_lock), put("b", "/x", "ho", 200)}},
    {"APutReleasesItsOwnLock",
     {put("a", "/x", "hi", 201), get("b", "/x?lock=status", 200, free_lock)}},
    {"AFailedPutKeepsTheLockTakenByHand",
     {get("a", "/x?lock=acquire", 200), put("a", "/x", std::string(1001, 'x'), 413),
      put("b", "/x", "hi", 423), put("a", "/x", "hi", 201), put("b", "/x", "ho", 200)}},
    {"AFailedPutLeavesNoLockBehind",
     {put("a", "/x", std::string(1001, 'x'), 413), get("b", "/x?lock=status", 200, free_lock)}},
    {"DeleteOfALockedFileIsRefused",
     {put("a", "/x", "hi", 201), get("a", "/x?lock=acquire", 200),
      plain("b", "DELETE /x", 423, locked_by_a), get("b", "/x", 200, "hi"),
      plain("a", "DELETE /x", 204), plain("b", "DELETE /x", 423), get("a", "/x?lock=release", 200),
      plain("b", "DELETE /x", 404)}},
    {"DirectoriesHaveNoLocks",
     {plain("a", "POST /d/", 201), get("a", "/d?lock=acquire", 400, "Cannot lock a directory"),
      get("a", "/d/?lock=acquire", 400), get("a", "/?lock=acquire", 400),
      get("a", "/d/new?lock=acquire", 200)}},
    {"UnknownLockOperationsAreRefused",
     {get("a", "/x?lock=steal", 400, "Invalid lock operation"), get("a", "/x?lock=", 400),
      get("a", "/x?lock", 400), put("a", "/x?lock=steal", "hi", 400),
      put("a", "/x?lock=acquire", "hi", 405, "", "Allow: GET\r\n"),
      plain("a", "HEAD /x?lock=status", 405), plain("a", "DELETE /x?lock=release", 405)}},
    {"OneFileHasOneLockHoweverItIsSpelt",
     {get("a", "/a%20b?lock=acquire", 200, R"("path":"/a%20b")"), put("b", "/a%20b", "hi", 423),
      put("b", "/%61%20%62", "hi", 423), put("a", "/a%20b", "hi", 201),
      get("b", "/%61%20b", 200, "hi")}},
    {"LocksNeedASession",
     {get("-", "/x?lock=acquire", 401, "Authentication required"), get("-", "/x?lock=status", 401),
      get("-", "/x?lock=release", 401), get("-", "/x?lock=refresh", 401)}},
    {"ThePathIsLookedAtFirst",
     {get("-", "/../x?lock=acquire", 400, "Path traversal not allowed"),
      get("a", "/../x?lock=steal", 400, "Path traversal not allowed"),
      put("-", "/a//b", "hi", 400, "Empty path segments not allowed")}},
    {"ConditionsAreLookedAtBeforeTheLock",
     {put("a", "/x", "hi", 201), get("a", "/x?lock=acquire", 200),
      with(put("b", "/x", "ho", 412, "Precondition Failed"), {"If-Match: \"other\""}),
      with(put("b", "/x", "ho", 423), {"If-Match: {etag}"}), get("a", "/x", 200, "hi")}},
};

const std::vector<Row> file_rows{
    {"PutTellsAboutTheFile",
     {put("a", "/d/e/x.txt", "hi", 201,
          R"({"path":"/d/e/x.txt","size":2,"contentType":"text/plain","hash":")"
          "8f434346648f6b96df89dda901c5176b10a6d83961dd3c1ac88b59b2dc327aa4"
          R"(","timestamp":@0,"created":true})",
          "Location: /d/e/x.txt\r\n"),
      put("a", "/d/e/x.txt", "ho", 200, R"("created":false)",
          "Last-Modified: Mon, 15 Jan 2024 10:30:00 GMT\r\n"),
      get("b", "/d/e/x.txt", 200, "ho", "ETag: {etag}\r\n"),
      plain("b", "HEAD /d/e/x.txt", 200, "", "Content-Length: 2\r\n")}},
    // A browser that guessed how long an answer stays right would show an old file under a new lock.
    {"BrowsersAskEachTimeWhetherAnAnswerIsStillRight",
     {put("a", "/d/x", "hi", 201), get("a", "/d/x", 200, "hi", ask_each_time),
      plain("a", "HEAD /d/x", 200, "", ask_each_time),
      with(get("a", "/d/x", 206, "h", ask_each_time), {"Range: bytes=0-0"}),
      with(get("a", "/d/x", 304, "", ask_each_time), {"If-None-Match: {etag}"}),
      get("a", "/d/", 200, "", ask_each_time), get("a", "/d", 200, "", ask_each_time),
      get("a", "/nothing", 404, "", ask_each_time),
      get("a", "/d/x?lock=acquire", 200, "", ask_each_time),
      get("a", "/d/x?lock=status", 200, "", ask_each_time),
      get("a", "/auth/session", 200, "", "Cache-Control: no-store\r\n")}},
    {"ListingsNameTheOwnerIfThereIsOne",
     {put("a", "/d/x", "hi", 201), get("a", "/d/", 200, R"("lastModified":@0,"owner":"{owner}"})"),
      get("a", "/", 200, R"("type":"directory","lastModified":)"),
      get("a", "/", 200, R"(,"owner":"{owner}"}],"hasMore":false})")}},
    {"AnEmptyFileIsAFile",
     {put("a", "/x", "", 201, R"("size":0)"), get("a", "/x", 200, "", "Content-Length: 0\r\n")}},
    {"InodeNumbersAreToldAndStay",
     {put("a", "/x", "hi", 201, "", "X-Inode: 1\r\n"),
      put("a", "/y", "hi", 201, "", "X-Inode: 2\r\n"),
      put("a", "/x", "ho", 200, "", "X-Inode: 1\r\n"), get("a", "/x", 200, "ho", "X-Inode: 1\r\n"),
      get("a", "/", 200, R"("path":"/y","type":"file","size":2,"contentType":)")}},
    {"EverythingNeedsASession",
     {get("-", "/x", 401,
          R"({"error":"Authentication required","message":"No session cookie or authorization )"
          R"(header found"})"),
      plain("-", "HEAD /x", 401), put("-", "/x", "hi", 401), plain("-", "DELETE /x", 401),
      plain("-", "POST /d/", 401), plain("-", "DELETE /d/", 401), get("-", "/", 401),
      get("-", "/events/stream", 401), get("-", "/auth/session", 401),
      with(get("-", "/x", 401,
               R"({"error":"Invalid session","message":"Session not found or expired"})"),
           {"Authorization: Bearer 0123"}),
      with(get("-", "/x", 401, "Invalid session"), {"Cookie: hengdang_session=0123"})}},
    {"StrangersDoNotLearnWhatThereIs",
     as_strangers({"/x", "/nothing", "/d", "/d/", "/no/", "/x/y"})},
    {"DeleteEndsAFile",
     {plain("a", "DELETE /x", 404), put("a", "/x", "hi", 201), plain("a", "DELETE /x", 204),
      get("a", "/x", 404), plain("a", "DELETE /x", 404)}},
    {"ReadersMayKnowItAlready",
     {put("a", "/x", "hi", 201), with(get("a", "/x", 304), {"If-None-Match: {etag}"}),
      with(get("a", "/x", 304), {"If-None-Match: \"other\", W/{etag}"}),
      with(get("a", "/x", 200, "hi"), {"If-None-Match: \"other\""}),
      with(get("a", "/x", 304), {"If-Modified-Since: Mon, 15 Jan 2024 10:30:00 GMT"}),
      with(get("a", "/x", 200), {"If-Modified-Since: Mon, 15 Jan 2024 10:29:59 GMT"}),
      with(plain("a", "HEAD /x", 304), {"If-None-Match: *"}),
      with(get("a", "/x", 412), {"If-Match: \"other\""})}},
    {"WritersMaySetConditions",
     {with(put("a", "/x", "hi", 412, "The file does not exist"), {"If-Match: *"}),
      with(put("a", "/x", "hi", 201), {"If-None-Match: *"}),
      with(put("a", "/x", "ho", 412,
               R"({"error":"Precondition Failed","message":"The file exists already",)"
               R"("currentETag":"{json-etag}"})"),
           {"If-None-Match: *"}),
      with(put("a", "/x", "ho", 412, "currentETag"), {"If-Match: \"other\""}),
      with(put("a", "/x", "ho", 412, "currentETag"), {"If-Match: W/{etag}"}),
      with(put("a", "/x", "ho", 412), {"If-Unmodified-Since: Mon, 15 Jan 2024 10:29:59 GMT"}),
      with(put("a", "/x", "ho", 200), {"If-Unmodified-Since: Mon, 15 Jan 2024 10:30:00 GMT"}),
      with(put("a", "/x", "he", 200), {"If-Match: {etag}"}),
      with(plain("a", "DELETE /x", 412), {"If-Match: \"other\""}),
      with(plain("a", "DELETE /x", 204), {"If-Match: {etag}"})}},
    {"ConditionsThatCannotBeReadAreNotIgnored",
     {put("a", "/x", "hi", 201),
      with(put("a", "/x", "ho", 400, R"({"error":"Invalid If-Match header format","message":")"),
           {"If-Match: abc"}),
      with(put("a", "/x", "ho", 400, "Invalid If-None-Match header format"),
           {"If-None-Match: abc"}),
      with(put("a", "/x", "ho", 400, "Invalid If-Unmodified-Since header format"),
           {"If-Unmodified-Since: yesterday"}),
      with(plain("a", "DELETE /x", 400, "Invalid If-Match header format"), {"If-Match: abc"}),
      with(get("a", "/x", 400, "Invalid If-Modified-Since header format"),
           {"If-Modified-Since: yesterday"}),
      with(get("a", "/x", 400), {"If-None-Match: "}), get("a", "/x", 200, "hi")}},
    {"ReturnedPathsLeadBackToTheFile",
     {put("a", "/a%20b/100%25%3F%23.txt", "hi", 201, R"("path":"/a%20b/100%25%3F%23.txt")",
          "Location: /a%20b/100%25%3F%23.txt\r\n"),
      get("a", "/", 200, R"({"path":"/a%20b/","type":"directory")"),
      get("a", "/a%20b/", 200, R"({"path":"/a%20b/100%25%3F%23.txt","type":"file")"),
      get("a", "/a%20b/100%25%3F%23.txt", 200, "hi"),
      get("a", "/a%20b/100%25%3F%23.txt?lock=acquire", 200, R"("path":"/a%20b/100%25%3F%23.txt")"),
      put("a", "/%C3%BC%20%C3%BC", "hi", 201, "\"path\":\"/\xC3\xBC%20\xC3\xBC\"",
          "Location: /%C3%BC%20%C3%BC\r\n"),
      put("a", "/z", "hi", 201),
      get("a", "/?limit=1", 200, R"("nextCursor":"/a%20b/","hasMore":true})"),
      get("a", "/?limit=1&cursor=%2Fa%2520b%2F", 200, R"({"entries":[{"path":"/z")"),
      get("a", "/?cursor=%2F100%25", 400, R"({"error":"Invalid cursor","message":)"),
      get("a", "/?cursor=x", 400, "Invalid cursor")}},
    {"PagesSurviveChangesMeanwhile",
     {put("a", "/d/1", "x", 201), put("a", "/d/2", "x", 201), put("a", "/d/3", "x", 201),
      put("a", "/d/5", "x", 201),
      get("a", "/d/?limit=2", 200, R"("nextCursor":"/d/2","hasMore":true})"),
      plain("a", "DELETE /d/2", 204), plain("a", "DELETE /d/3", 204), put("a", "/d/0", "x", 201),
      put("a", "/d/4", "x", 201),
      get("a", "/d/?limit=2&cursor=/d/2", 200, R"({"entries":[{"path":"/d/4")"),
      get("a", "/d/?limit=2&cursor=/d/2", 200, R"({"path":"/d/5")"),
      get("a", "/d/?limit=2&cursor=/d/2", 200, R"("hasMore":false})")}},
    {"PartsMayBeRead",
     {put("a", "/x", "0123456789", 201),
      with(get("a", "/x", 206, "234", "Content-Range: bytes 2-4/10\r\n"), {"Range: bytes=2-4"}),
      with(get("a", "/x", 206, "789", "Content-Range: bytes 7-9/10\r\n"), {"Range: bytes=7-"}),
      with(get("a", "/x", 206, "89", "Content-Range: bytes 8-9/10\r\n"), {"Range: bytes=-2"}),
      with(get("a", "/x", 206, "89", "Content-Range: bytes 8-9/10\r\n"), {"Range: bytes=8-99"}),
      with(get("a", "/x", 416, "", "Content-Range: bytes */10\r\n"), {"Range: bytes=10-"}),
      with(get("a", "/x", 416), {"Range: bytes=-0"}),
      with(get("a", "/x", 200, "0123456789"), {"Range: bytes=4-2"}),
      with(get("a", "/x", 200, "0123456789"), {"Range: bytes=0-1,3-4"}),
      with(get("a", "/x", 200, "0123456789"), {"Range: lines=1-2"}),
      with(get("a", "/x", 206, "01"), {"Range: bytes=0-1", "If-Range: {etag}"}),
      with(get("a", "/x", 200, "0123456789"), {"Range: bytes=0-1", "If-Range: \"other\""}),
      with(get("a", "/x", 206, "01"),
           {"Range: bytes=0-1", "If-Range: Mon, 15 Jan 2024 10:30:00 GMT"})}},
    {"PartsMayBeWritten",
     {with(plain("a", "PATCH /x", 400), {"Content-Range: bytes 0-0/*"}),
      put("a", "/x", "0123456789", 201),
      with(Step{"a", {.line = "PATCH /x", .body = "XY"}, 200, R"("size":10)"},
           {"Content-Range: bytes 2-3/*"}),
      get("a", "/x", 200, "01XY456789"),
      with(Step{"a", {.line = "PATCH /x", .body = "XYZ"}, 200, R"("size":12)"},
           {"Content-Range: bytes 9-11/*"}),
      get("a", "/x", 200, "01XY45678XYZ"),
      with(Step{"a", {.line = "PATCH /x", .body = "X"}, 416}, {"Content-Range: bytes 13-13/*"}),
      with(Step{"a", {.line = "PATCH /x", .body = "X"}, 400}, {"Content-Range: bytes 0-1/*"}),
      Step{"a", {.line = "PATCH /x", .body = "X"}, 400, "Content-Range"},
      with(Step{"a", {.line = "PATCH /y", .body = "X"}, 404}, {"Content-Range: bytes 0-0/*"}),
      with(put("a", "/x", "X", 400), {"Content-Range: bytes 0-0/*"}),
      get("b", "/x?lock=acquire", 200),
      with(Step{"a", {.line = "PATCH /x", .body = "X"}, 423}, {"Content-Range: bytes 0-0/*"}),
      get("a", "/x", 200, "01XY45678XYZ")}},
    {"DirectoriesAreMadeListedAndRemoved",
     {plain("a", "POST /d/", 201, R"({"path":"/d/","owner":"token:auth#86bebd44","created":@0})",
            "Location: /d/\r\n"),
      plain("a", "POST /d/", 409),
      plain("a", "POST /no/d/", 400),
      plain("a", "POST /d", 409),
      Step{"a", {.line = "POST /without", .body = "{}"}, 201, R"({"path":"/without/",)"},
      get("a", "/without/", 200, R"({"entries":[],"hasMore":false})"),
      plain("a", "DELETE /without/", 204),
      put("a", "/d/x", "hi", 201),
      put("a", "/d/e/y", "hi", 201),
      get("a", "/d/", 200, R"({"entries":[{"path":"/d/e/","type":"directory","lastModified":)"),
      get("a", "/d?shallow=false", 200,
          R"({"path":"/d/e/y","type":"file","size":2,"contentType":)"),
      get("a", "/d/?limit=1", 200, R"("nextCursor":"/d/e/","hasMore":true})"),
      get("a", "/d/?limit=1&cursor=/d/e/", 200, R"({"entries":[{"path":"/d/x")"),
      get("a", "/d/?shallow=true&limit=1&cursor=/d/e", 200, R"("hasMore":false})"),
      plain("a", "HEAD /d/", 404),
      plain("a", "HEAD /d", 404),
      plain("a", "HEAD /", 404),
      get("a", "/d/?shallow&reverse&limit=1", 200, R"({"entries":[{"path":"/d/x")"),
      get("a", "/d/?limit=0", 400),
      get("a", "/d/?limit=x", 400),
      get("a", "/d/?shallow=maybe", 400),
      get("a", "/d/?cursor=/elsewhere", 400),
      get("a", "/d/x/", 404),
      get("a", "/no/", 404),
      plain("a", "DELETE /d/", 409),
      plain("a", "DELETE /d", 409),
      plain("a", "DELETE /d/x", 204),
      plain("a", "DELETE /d/e/y", 204),
      plain("a", "DELETE /d/e/", 204),
      plain("a", "DELETE /d/", 204),
      plain("a", "DELETE /d/", 404),
      plain("a", "DELETE /", 409)}},
    {"FilesAndDirectoriesAreNotMixedUp",
     {put("a", "/x", "hi", 201), put("a", "/x/y", "hi", 409), put("a", "/x/", "hi", 400),
      plain("a", "POST /d/", 201), put("a", "/d", "hi", 409), plain("a", "POST /x/", 409)}},
    {"ThereAreLimits",
     {put("a", "/x", std::string(1000, 'x'), 201),
      put("a", "/y", std::string(1001, 'y'), 413, "File too large"),
      put("a", "/y", std::string(1000, 'y'), 201), put("a", "/z", std::string(1000, 'z'), 201),
      put("a", "/w", "w", 413, "Quota exceeded"), put("a", "/x", std::string(999, 'x'), 200),
      put("a", "/w", "w", 201), get("a", "/w", 200, "w")}},
    {"ContentTypesAreFound",
     {put("a", "/a.json", R"({"a":1})", 201, "application/json"),
      put("a", "/b.css", "b{}", 201, "text/css"),
      put("a", "/c", "\x01\x02\x03", 201, "application/octet-stream"),
      put("a", "/d.txt", "\x89PNG\r\n\x1a\n", 201, "image/png"),
      get("a", "/b.css", 200, "b{}", "Content-Type: text/css; charset=utf-8\r\n"),
      put("a", "/utf8.txt", "\u00e4\u20ac", 201, R"("contentType":"text/plain")"),
      get("a", "/utf8.txt", 200, "\u00e4\u20ac", "Content-Type: text/plain; charset=utf-8\r\n"),
      put("a", "/latin1.txt", "\xe4", 201),
      get("a", "/latin1.txt", 200, "\xe4", "Content-Type: text/plain\r\n"),
      get("a", "/a.json", 200, "", "Content-Type: application/json\r\n")}},
    {"ReservedPathsAreTheServersOwn",
     {put("a", "/auth/x", "hi", 400), put("a", "/auth/session", "hi", 400),
      put("a", "/events/stream", "hi", 400), get("a", "/auth", 404), get("a", "/events/x", 404),
      plain("a", "POST /events/stream", 405), plain("a", "POST /auth/sessions", 405),
      put("a", "/.holdfast/tmp/x", "hi", 400, "Path is reserved"), get("a", "/.holdfast/", 400),
      put("a", "/authors", "hi", 201)}},
    {"OtherMethodsAreNotAllowed",
     {plain("a", "OPTIONS /x", 405, "", "Allow: GET, HEAD, PUT, PATCH, DELETE, POST\r\n"),
      plain("a", "BREW /x", 405)}},
};

std::string name_of(const ::testing::TestParamInfo<HengdangTable::ParamType>& info) {
    return std::get<0>(info.param).name + "With" + std::to_string(std::get<1>(info.param));
}

INSTANTIATE_TEST_SUITE_P(Locks, HengdangTable,
                         ::testing::Combine(::testing::ValuesIn(lock_rows),
                                            ::testing::Values(1, 3)),
                         name_of);
INSTANTIATE_TEST_SUITE_P(Files, HengdangTable,
                         ::testing::Combine(::testing::ValuesIn(file_rows),
                                            ::testing::Values(1, 3)),
                         name_of);

}  // namespace
}  // namespace holdfast::conformance

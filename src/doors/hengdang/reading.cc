#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "base/text/utf8.h"
#include "doors/hengdang/admission.h"
#include "doors/hengdang/http/conditions.h"
#include "doors/hengdang/requests.h"

namespace holdfast::doors::hengdang {

namespace {

constexpr std::uint64_t small_read_bytes = 64 * 1024;
constexpr std::uint64_t piece_bytes = 256 * 1024;
// So much of the beginning of a text is looked at for its character set.
constexpr std::uint64_t charset_bytes = 64 * 1024;

// Reads `bytes` bytes; fewer if another program has truncated the file, or if the disk fails.
std::string read_at(int descriptor, std::uint64_t start, std::size_t bytes) {
    std::string piece(bytes, '\0');
    std::size_t done = 0;
    while (done < bytes) {
        const ssize_t count = ::pread(descriptor, piece.data() + done, bytes - done,
                                      static_cast<off_t>(start + done));
        if (count < 0 && errno == EINTR) continue;
        if (count <= 0) break;
        done += static_cast<std::size_t>(count);
    }
    piece.resize(done);
    return piece;
}

// Whether the reader has other parts of this same version, as `If-Range` says.
bool allows_range(const std::string& if_range, const files::FileInfo& info) {
    if (if_range.empty()) return true;
    if (const auto date = parse_http_date(if_range)) return *date == modified_at(info);
    return names_tag(if_range, info.etag(), TagComparison::strong) && if_range != "*";
}

class Reading : public std::enable_shared_from_this<Reading> {
  public:
    Reading(const HengdangContext& context, ReadRequest request, net::DeferredReply reply)
        : context_(context), request_(std::move(request)), reply_(std::move(reply)) {}

    void begin() {
        context_.door->readers().run([self = shared_from_this()]() mutable {
            self->prepare();
            post(std::move(self), &Reading::answer);
        });
    }

  private:
    // Goes on in a turn of the loop, which becomes the only owner.
    static void post(std::shared_ptr<Reading> self, void (Reading::*next)()) {
        net::EventLoop& loop = self->context_.loop;
        loop.post([self = std::move(self), next] { ((*self).*next)(); });
    }

    // On the threads of the disk.

    void prepare() {
        Found found = open();
        if (found.answer) {
            answer_ = std::move(*found.answer);
            return;
        }
        choose(found.file->info);
        file_ = std::move(found.file->descriptor);
        if (answer_.status != 200 && answer_.status != 206) return;
        has_content_ = true;
        add_charset(found.file->info.size_bytes);
        if (request_.is_head) return;
        piece_ = read_at(file_.get(), span_.start,
                         static_cast<std::size_t>(std::min(span_.size(), piece_bytes)));
        const std::uint64_t wanted = std::min(span_.size(), piece_bytes);
        if (piece_.size() == wanted) return;
        has_content_ = false;
        answer_ = refuse(500, "Storage failed", "The file could not be read");
    }

    // Names the character set of a text that is UTF-8. A browser that is not told takes it for another
    // one. HEAD and every part of the text have the same type.
    void add_charset(std::uint64_t size_bytes) {
        if (!answer_.content_type.starts_with("text/")) return;
        const std::string beginning =
            read_at(file_.get(), 0, static_cast<std::size_t>(std::min(size_bytes, charset_bytes)));
        const bool is_utf8 = size_bytes > charset_bytes ? base::is_utf8_beginning(beginning)
                                                        : base::is_utf8(beginning);
        if (is_utf8) answer_.content_type += "; charset=utf-8";
    }

    struct Found {
        std::optional<FileAnswer> answer;
        std::optional<files::OpenFile> file;
    };

    Found open() {
        files::FileTree& tree = context_.door->tree();
        // A HEAD is for files: clients tell directories from files by it.
        const FileAnswer no_file = refuse(404, "Not found", "File not found");
        if (request_.path.ends_in_slash()) return {.answer = request_.is_head ? no_file : list()};
        // A path on the way to what the client may read is for listing only.
        const rights::Token* const client = request_.client.get();
        const core::Scope scope = core::Scope::path(request_.path.text());
        constexpr rights::Door door = rights::Door::files;
        if (client != nullptr && !client->may(rights::Right::read, door, scope)) {
            const auto is_directory = tree.is_directory(request_.path);
            if (is_directory && *is_directory && !request_.is_head) return {.answer = list()};
            return {.answer = refuse(rights::refuse(*client, {rights::Right::read, door, scope}))};
        }
        auto file = tree.open_file(request_.path);
        if (file) return {.file = std::move(*file)};
        if (file.error().fault == files::Fault::is_directory) {
            return {.answer = request_.is_head ? no_file : list()};
        }
        return {.answer = refuse(file.error())};
    }

    FileAnswer list() {
        operation_ = FileOperation::list;
        auto listing = context_.door->tree().list(request_.path, request_.list);
        if (listing) return tell_listing(*listing, context_.door->files_owner());
        if (listing.error().fault == files::Fault::parent_is_file) {
            return refuse(404, "Not found", "Directory not found");
        }
        return refuse(listing.error());
    }

    // Decides which part of the version is sent, or which answer replaces it.
    void choose(const files::FileInfo& info) {
        switch (judge_read(request_.conditions, info)) {
            case ReadVerdict::precondition_failed:
                answer_ = refuse_precondition("The file was modified", info.etag());
                return;
            case ReadVerdict::not_modified:
                answer_ = {.status = 304, .content_type = ""};
                add_version_headers(answer_, info);
                return;
            case ReadVerdict::send: break;
        }
        RangeChoice choice;
        if (!request_.range.empty() && allows_range(request_.if_range, info)) {
            choice = choose_range(request_.range, info.size_bytes);
        }
        const std::string size = std::to_string(info.size_bytes);
        if (choice.kind == RangeChoice::Kind::unsatisfiable) {
            answer_ = refuse(416, "Range not satisfiable", "The file has " + size + " bytes");
            answer_.headers.emplace_back("Content-Range", "bytes */" + size);
            return;
        }
        const bool is_part = choice.kind == RangeChoice::Kind::part;
        span_ = is_part ? choice.span : ByteSpan{.start = 0, .end = info.size_bytes};
        answer_ = {.status = is_part ? 206 : 200, .content_type = info.content_type};
        add_version_headers(answer_, info);
        answer_.headers.emplace_back("Accept-Ranges", "bytes");
        // Browsers show these files on the same origin as other people's sessions.
        answer_.headers.emplace_back("X-Content-Type-Options", "nosniff");
        answer_.headers.emplace_back("Content-Security-Policy", "sandbox");
        if (!is_part) return;
        answer_.headers.emplace_back("Content-Range", "bytes " + std::to_string(span_.start) + "-" +
                                                          std::to_string(span_.end - 1) + "/" +
                                                          size);
    }

    void read_next() {
        const std::uint64_t wanted = std::min(span_.end - next_, piece_bytes);
        piece_ = read_at(file_.get(), next_, static_cast<std::size_t>(wanted));
    }

    // On the loop.

    void answer() {
        context_.door->counts().count_answer(operation_, answer_.status);
        if (!has_content_) return send(reply_, answer_);
        const std::uint64_t size = span_.size();
        if (!request_.is_head && size <= small_read_bytes) {
            answer_.body = std::move(piece_);
            context_.door->counts().count_sent(answer_.body.size());
            return send(reply_, answer_);
        }
        stream_ = reply_.stream(answer_.status, answer_.content_type, headers_of(answer_),
                                {.length = size});
        if (!stream_) return;
        next_ = span_.start;
        lender_ = std::exchange(context_.door, nullptr);
        send_piece();
    }

    // REQUIRES: no piece is being read, and the last one has left.
    void send_piece() {
        if (!stream_) return;
        const auto door = lender_.lock();
        if (!door) return stream_.end();  // the door was closed; this breaks the connection off
        next_ += piece_.size();
        door->counts().count_sent(piece_.size());
        stream_.send(piece_);
        // Without the next piece the connection is broken off: its length was announced.
        if (next_ == span_.end || piece_.empty()) return stream_.end();
        steps_left_ = 2;
        stream_.call_when_sent([self = shared_from_this()] { self->go_on(); });
        door->readers().run([self = shared_from_this()]() mutable {
            self->read_next();
            post(std::move(self), &Reading::go_on);
        });
    }

    // Called twice for each piece: when the last one has left, and when the next one was read.
    void go_on() {
        if (--steps_left_ == 0) send_piece();
    }

    HengdangContext context_;
    // The door, while pieces are sent. A client that reads slowly must not keep a door that is closed.
    std::weak_ptr<HengdangDoor> lender_;
    const ReadRequest request_;
    FileOperation operation_ = FileOperation::get;
    // Used by the thread of the disk while it works, by the loop otherwise.
    FileAnswer answer_;
    bool has_content_ = false;  // the bytes of span_ follow the header in answer_
    base::Descriptor file_;
    ByteSpan span_;
    std::string piece_;
    std::uint64_t next_ = 0;  // where the next piece begins
    // On the loop.
    net::DeferredReply reply_;
    net::StreamedReply stream_;
    int steps_left_ = 0;  // before the next piece is sent: see go_on()
};

}  // namespace

void begin_reading(const HengdangContext& context, ReadRequest request, net::HttpReply& reply) {
    std::make_shared<Reading>(context, std::move(request), reply.defer())->begin();
}

}  // namespace holdfast::doors::hengdang

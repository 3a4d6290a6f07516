#include "sdk/http/leaders.h"

#include <string>
#include <utility>

#include "net/client/url.h"
#include "sdk/http/events.h"

namespace holdfast::sdk {

namespace {

// Knows the leader that the program was told of, and tells it of the next one.
class LeaderView {
  public:
    using OnChange = std::function<void(const std::optional<Leader>&)>;

    explicit LeaderView(const OnChange& on_change) : on_change_(on_change) {}

    // False if this is no state of an election.
    bool apply(const std::string& data) {
        const auto state = base::JsonValue::parse(data);
        if (!state || (*state)["election"].is_null()) return false;
        if ((*state)["leader"].is_null()) {
            set(std::nullopt);
            return true;
        }
        const auto fencing_token = (*state)["fencing_token"].natural();
        if (!fencing_token) return false;
        set(Leader{.candidate = std::string((*state)["leader"].text()),
                   .value = std::string((*state)["value"].text()),
                   .revision = (*state)["revision"].natural().value_or(0),
                   .fencing_token = *fencing_token});
        return true;
    }

  private:
    // A new stream begins with the state, which may be the one that is known.
    void set(std::optional<Leader> leader) {
        if (is_known_ && leader == leader_) return;
        is_known_ = true;
        leader_ = std::move(leader);
        on_change_(leader_);
    }

    const OnChange& on_change_;
    bool is_known_ = false;
    std::optional<Leader> leader_;
};

}  // namespace

LockResult<void> observe(Exchange& exchange, std::string_view election,
                         const std::function<void(const std::optional<Leader>&)>& on_change,
                         const std::stop_token& stop) {
    if (election.empty()) return LockError{InvalidLockRequest{"the election needs a name"}};
    LeaderView view(on_change);
    bool is_understood = true;
    const auto follow_event = [&](const LockEvent& event) {
        if (event.kind == "leader") is_understood = view.apply(event.data);
        return is_understood;
    };
    auto followed = follow_patiently(
        exchange, {.target = "/v1/elections/" + net::percent_encode(election) + "?watch=true",
                   .begins_anew = true,
                   .on_open = [] { return true; },
                   .on_event = follow_event,
                   .on_break = [&](const NoAnswer&) { return is_understood; },
                   .stop = stop});
    if (!is_understood) {
        return LockError{ServerUnavailable{.message = "the server does not say who leads"}};
    }
    return followed;
}

}  // namespace holdfast::sdk

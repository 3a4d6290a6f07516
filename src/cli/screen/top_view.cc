#include "cli/screen/top_view.h"

#include <fmt/format.h>

#include <algorithm>

#include "cli/screen/table.h"
#include "cli/screen/terminal_text.h"

namespace holdfast::cli {

namespace {

constexpr std::size_t head_lines = 3;  // with the titles of the table
constexpr std::size_t foot_lines = 1;
constexpr std::size_t gauge_cells = 10;

using std::chrono::milliseconds;

bool contains(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
}

bool is_wanted(const LockRow& lock, const std::string& filter) {
    if (filter.empty() || contains(lock.name, filter)) return true;
    const auto is_of = [&](const auto& row) { return contains(row.owner, filter); };
    return std::any_of(lock.holders.begin(), lock.holders.end(), is_of) ||
           std::any_of(lock.waiters.begin(), lock.waiters.end(), is_of);
}

std::int64_t first_end(const LockRow& lock) {
    std::int64_t end = INT64_MAX;
    for (const HolderRow& holder : lock.holders) {
        if (!holder.is_endless()) end = std::min(end, holder.expires_ms);
    }
    return end;
}

std::vector<const LockRow*> wanted_locks(const LockBoard& board, const TopState& state) {
    std::vector<const LockRow*> locks;
    for (const auto& [key, lock] : board.locks()) {
        if (is_wanted(lock, state.filter)) locks.push_back(&lock);
    }
    std::stable_sort(locks.begin(), locks.end(), [&](const LockRow* a, const LockRow* b) {
        switch (state.sort) {
            case TopSort::by_name: return a->name < b->name;
            case TopSort::by_time_left: return first_end(*a) < first_end(*b);
            case TopSort::by_queue: return a->waiter_count > b->waiter_count;
        }
        return false;
    });
    return locks;
}

// A bar for the part of the TTL that is left.
std::string gauge(const HolderRow& holder, std::int64_t now_ms) {
    const std::int64_t whole = std::max<std::int64_t>(holder.ttl_ms, 1);
    const std::int64_t left = std::clamp<std::int64_t>(holder.expires_ms - now_ms, 0, whole);
    const auto cells = static_cast<std::int64_t>(gauge_cells);
    const auto full = static_cast<std::size_t>((left * cells + whole - 1) / whole);
    std::string text;
    for (std::size_t cell = 0; cell < gauge_cells; ++cell) text += cell < full ? "█" : "░";
    return text;
}

Style urgency(milliseconds left) {
    using namespace std::chrono_literals;
    return left < 2s ? Style::red : left < 10s ? Style::yellow : Style::green;
}

// The table. All rows are counted, but only those on the screen are made.
class Rows {
  public:
    Rows(const TopState& state, std::size_t room) : state_(state), end_(state.first_row + room) {}

    void add(const LockRow& lock) {
        for (const HolderRow& holder : lock.holders) {
            if (is_next_shown()) add_holder(lock, holder);
        }
        if (lock.holders.empty() && is_next_shown()) {
            table_.add({escape(scope_text(lock)), kind_text(lock), "", "", "", "",
                        std::to_string(lock.waiter_count), ""});
        }
        add_waiters(lock);
    }

    [[nodiscard]] std::size_t count() const { return count_; }
    [[nodiscard]] std::vector<std::string> lines() const {
        return table_.lines({.width_max = state_.width, .has_colour = state_.has_colour});
    }

  private:
    bool is_next_shown() {
        const std::size_t row = count_++;
        return row >= state_.first_row && row < end_;
    }

    void add_holder(const LockRow& lock, const HolderRow& holder) {
        const bool is_over = holder.grace_until_ms > 0;
        const std::int64_t end_ms = is_over ? holder.grace_until_ms : holder.expires_ms;
        const milliseconds left{end_ms - state_.now_ms};
        const bool is_endless = !is_over && holder.is_endless();
        const Style style = is_over ? Style::faint : is_endless ? Style::plain : urgency(left);
        const std::string scope = scope_text(lock, holder);
        table_.add({escape(scope + set_text(scope, holder.scopes)), kind_text(lock),
                    escape(holder.owner), is_over ? "grace" : holder.mode,
                    Cell(is_endless ? "no end" : countdown(left), style),
                    Cell(is_over || is_endless ? "" : gauge(holder, state_.now_ms), style),
                    lock.waiter_count == 0 ? "" : std::to_string(lock.waiter_count),
                    escape(holder.metadata)});
    }

    void add_waiters(const LockRow& lock) {
        std::size_t position = 0;
        for (const WaiterRow& waiter : lock.waiters) {
            ++position;
            if (!is_next_shown()) continue;
            const milliseconds waited{state_.now_ms - waiter.since_ms};
            const std::string& blocker = waiter.waits_for;
            table_.add({Cell(fmt::format("  └ {}. in the queue", position), Style::faint), "",
                        escape(waiter.owner), waiter.mode, Cell(countdown(waited), Style::cyan),
                        Cell("waiting", Style::cyan), "",
                        blocker.empty() ? "" : "for " + escape(blocker)});
        }
        if (lock.waiter_count > lock.waiters.size() && is_next_shown()) {
            const std::uint64_t unknown = lock.waiter_count - lock.waiters.size();
            table_.add({Cell(fmt::format("  └ {} more", unknown), Style::faint), "", "", "", "", "",
                        "", ""});
        }
    }

    const TopState& state_;
    const std::size_t end_;
    std::size_t count_ = 0;
    Table table_{{{.title = "LOCK", .width_min = 12},
                  {.title = "KIND"},
                  {.title = "OWNER", .width_min = 8},
                  {.title = "MODE"},
                  {.title = "LEFT", .align = Align::right},
                  {.title = ""},
                  {.title = "QUEUE", .align = Align::right},
                  {.title = "NOTE", .width_min = 4}}};
};

std::string head(const LockBoard& board, const TopState& state) {
    const std::string counts = fmt::format("{} held  {} waiting  {} locks", board.held(),
                                           board.waiting(), board.locks().size());
    const std::string text = clipped(fmt::format("holdfast  {}  {}  {}", escape(state.server),
                                                 counts, moment(state.now_ms).substr(11, 8)),
                                     state.width);
    return styled(text, Style::bold, state.has_colour);
}

std::string second_line(const TopState& state) {
    const auto line = [&](const std::string& text, Style style) {
        return styled(clipped(text, state.width), style, state.has_colour);
    };
    if (!state.trouble.empty()) return line(escape(state.trouble), Style::red);
    if (state.is_typing_filter) return line("/" + escape(state.filter) + "_", Style::yellow);
    if (!state.filter.empty()) return line("filter: " + escape(state.filter), Style::yellow);
    return "";
}

std::string foot(const TopState& state, std::size_t row_count, std::size_t room) {
    static constexpr const char* sort_names[] = {"name", "time left", "queue"};
    std::string text = state.is_typing_filter
                           ? "enter: keep the filter   esc: drop it"
                           : fmt::format("q quit   / filter   s sorted by {}   arrows scroll",
                                         sort_names[static_cast<std::size_t>(state.sort)]);
    if (row_count > room) {
        text += fmt::format("   {}-{} of {}", state.first_row + 1,
                            std::min(state.first_row + room, row_count), row_count);
    }
    return styled(clipped(text, state.width), Style::faint, state.has_colour);
}

}  // namespace

TopPicture draw_top(const LockBoard& board, const TopState& state) {
    TopPicture picture;
    picture.rows_shown =
        state.height > head_lines + foot_lines ? state.height - head_lines - foot_lines : 0;
    Rows rows(state, picture.rows_shown);
    for (const LockRow* const lock : wanted_locks(board, state)) rows.add(*lock);
    picture.row_count = rows.count();
    picture.lines = {head(board, state), second_line(state)};
    for (std::string& line : rows.lines()) picture.lines.push_back(std::move(line));
    if (picture.row_count == 0) {
        picture.lines.emplace_back(state.filter.empty() ? "nothing is held" : "nothing matches");
    }
    picture.lines.resize(std::max(state.height, foot_lines) - foot_lines);
    picture.lines.push_back(foot(state, picture.row_count, picture.rows_shown));
    return picture;
}

namespace {

void type_filter(TopState& state, const std::string& key) {
    if (key == "enter") {
        state.is_typing_filter = false;
    } else if (key == "escape") {
        state.is_typing_filter = false;
        state.filter.clear();
    } else if (key == "backspace") {
        while (!state.filter.empty() && (state.filter.back() & 0xC0) == 0x80) {
            state.filter.pop_back();  // the rest of a letter of several bytes
        }
        if (!state.filter.empty()) state.filter.pop_back();
    } else if (key.size() == 1) {
        state.filter += key;
    }
    state.first_row = 0;
}

}  // namespace

TopStep press_key(TopState& state, const TopPicture& picture, const std::string& key) {
    if (state.is_typing_filter) {
        type_filter(state, key);
        return TopStep::go_on;
    }
    const std::size_t last_first =
        picture.row_count > picture.rows_shown ? picture.row_count - picture.rows_shown : 0;
    const auto scroll_to = [&](std::size_t row) { state.first_row = std::min(row, last_first); };
    const auto back_by = [&](std::size_t rows) {
        scroll_to(state.first_row > rows ? state.first_row - rows : 0);
    };
    if (key == "q") return TopStep::quit;
    if (key == "/") state.is_typing_filter = true;
    if (key == "escape") state.filter.clear();
    if (key == "s") state.sort = static_cast<TopSort>((static_cast<int>(state.sort) + 1) % 3);
    if (key == "up" || key == "k") back_by(1);
    if (key == "down" || key == "j") scroll_to(state.first_row + 1);
    if (key == "page up") back_by(picture.rows_shown);
    if (key == "page down" || key == " ") scroll_to(state.first_row + picture.rows_shown);
    if (key == "home" || key == "g") scroll_to(0);
    if (key == "end" || key == "G") scroll_to(last_first);
    return TopStep::go_on;
}

}  // namespace holdfast::cli

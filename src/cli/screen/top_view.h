#pragma once

// The live view of `holdfast top` as text: a board at one moment.

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "cli/screen/lock_board.h"

namespace holdfast::cli {

enum class TopSort : std::uint8_t { by_name, by_time_left, by_queue };

struct TopState {
    std::string server;   // its address, for the head line
    std::string trouble;  // why the view may be out of date; empty: it is not
    std::string filter;   // only locks and owners whose names contain this
    bool is_typing_filter = false;
    TopSort sort = TopSort::by_name;
    std::size_t first_row = 0;  // the first row on the screen
    std::int64_t now_ms = 0;    // by the server's clock
    std::size_t width = 80;
    std::size_t height = 24;
    bool has_colour = false;
};

struct TopPicture {
    std::vector<std::string> lines;  // one for each line of the screen, none too wide
    std::size_t row_count = 0;       // of the whole list
    std::size_t rows_shown = 0;      // how many fit on the screen
};

[[nodiscard]] TopPicture draw_top(const LockBoard& board, const TopState& state);

// What happens after a key.
enum class TopStep : std::uint8_t { go_on, quit };
// Applies a key to the state. `key` is a letter or a name: "up", "down", "page up", "page down",
// "home", "end", "enter", "escape", "backspace". REQUIRES: `picture` is on the screen.
TopStep press_key(TopState& state, const TopPicture& picture, const std::string& key);

}  // namespace holdfast::cli

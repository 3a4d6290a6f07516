#pragma once

// The live view as text: what `holdfast top` shows of a board at one moment.

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "cli/screen/lock_board.h"

namespace holdfast::cli {

enum class TopOrder : std::uint8_t { by_name, by_time_left, by_queue };

struct TopState {
    std::string server;   // its address, for the head line
    std::string trouble;  // why what is shown may be old; empty: it is not
    std::string filter;   // only locks and owners in whose names this is
    bool is_typing_filter = false;
    TopOrder order = TopOrder::by_name;
    std::size_t first_row = 0;  // how far it is scrolled
    std::int64_t now_ms = 0;    // by the server's clock
    std::size_t width = 80;
    std::size_t height = 24;
    bool has_colour = false;
};

struct TopPicture {
    std::vector<std::string> lines;  // as many as the screen is high, none wider than it
    std::size_t row_count = 0;       // how many rows there are to scroll through
    std::size_t rows_shown = 0;      // for how many there is room
};

[[nodiscard]] TopPicture draw_top(const LockBoard& board, const TopState& state);

// What a key does.
enum class TopStep : std::uint8_t { go_on, quit };
// `key` is a letter, or the name of one that has none: "up", "down", "page up", "page down",
// "home", "end", "enter", "escape", "backspace". REQUIRES: `picture` is what is on the screen.
TopStep press_key(TopState& state, const TopPicture& picture, const std::string& key);

}  // namespace holdfast::cli

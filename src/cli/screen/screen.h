#pragma once

// Screen: uses the whole terminal, and restores it at the end.
//
// The destructor restores the terminal, and so does a handler for the signals of a crash. Only
// SIGKILL leaves the terminal as it is.
//
// Thread safety: none; there is one at a time.

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace holdfast::cli {

// The keys that bytes from a terminal stand for: letters as they are, others by name ("up",
// "page down", "enter", "escape", "backspace"). Unknown keys are omitted.
[[nodiscard]] std::vector<std::string> read_keys(std::string_view bytes);

class Screen {
  public:
    struct Size {
        std::size_t width = 80;
        std::size_t height = 24;
    };

    // Fails if input or output is not a terminal.
    [[nodiscard]] static base::Result<Screen> open();
    Screen(Screen&& other) noexcept;
    Screen& operator=(Screen&&) = delete;
    ~Screen();

    [[nodiscard]] Size size() const;
    // Shows the lines from the top; the rest of the screen is empty.
    void draw(const std::vector<std::string>& lines) const;

    // Restores the terminal for a while, as after Ctrl-Z, and uses it again.
    void leave() const;
    void enter() const;

  private:
    Screen() = default;

    bool is_open_ = true;
};

}  // namespace holdfast::cli

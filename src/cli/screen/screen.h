#pragma once

// Screen: the whole terminal for one program, given back as it was.
//
// Whatever ends the program but SIGKILL: the destructor restores the terminal, and so does a
// handler of the signals that a crash raises.
//
// Thread safety: none; there is one at a time.

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace holdfast::cli {

// The keys that bytes from a terminal stand for: letters as they are, others by name ("up",
// "page down", "enter", "escape", "backspace"). What is unknown is left out.
[[nodiscard]] std::vector<std::string> read_keys(std::string_view bytes);

class Screen {
  public:
    struct Size {
        std::size_t width = 80;
        std::size_t height = 24;
    };

    // Fails if input or output is no terminal.
    [[nodiscard]] static base::Result<Screen> open();
    Screen(Screen&& other) noexcept;
    Screen& operator=(Screen&&) = delete;
    ~Screen();

    [[nodiscard]] Size size() const;
    // Shows the lines from the top, and nothing below.
    void draw(const std::vector<std::string>& lines) const;

    // Gives the terminal back for a while, as after Ctrl-Z, and takes it again.
    void leave() const;
    void enter() const;

  private:
    Screen() = default;

    bool is_open_ = true;
};

}  // namespace holdfast::cli

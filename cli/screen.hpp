// The terminal as a screen, on ncurses: what the viewer draws with. Its macros (`move`, `clear`, `timeout` …) would
// replace functions of everybody's, so nothing else includes it.
#pragma once

#include <csignal>
#include <cstddef>
#include <string>

#define NCURSES_NOMACROS 1
#define NCURSES_WIDECHAR 1
#include <curses.h>

namespace telltale::cli {

// Takes the terminal and SIGWINCH while it lives, once at a time. False where ncurses doesn't know it.
class terminal {
 public:
  terminal();
  ~terminal();
  terminal(const terminal&) = delete;
  terminal& operator=(const terminal&) = delete;
  explicit operator bool() const noexcept { return screen_ != nullptr; }

 private:
  SCREEN* screen_ = nullptr;
  struct sigaction before_{};
};

// The next key; KEY_RESIZE when the terminal has another size, which height() and width() then say; ERR when it is
// gone.
int next_key();

enum colours : short { failed_colour = 1, bar_colour = 2, head_colour = 3 };
attr_t in_colour(colours c);

// Of the terminal as it is now, at least 1.
std::size_t height();
std::size_t width();

// Text at a place, cut at the right edge; what stands outside isn't drawn.
void put(std::size_t y, std::size_t x, const std::string& text, attr_t how = A_NORMAL);
// A whole line.
void put_line(std::size_t y, const std::string& text, attr_t how = A_NORMAL);
// A line that is typed at the bottom, `text` at first, until Enter. False after Esc: nothing was meant.
bool read_line(const std::string& prompt, std::string& text);

// A list one moves through: which entry, and which stands at the top.
struct cursor {
  std::size_t at = 0;
  std::size_t top = 0;

  // Whether the key was a movement.
  bool move(int key, std::size_t count, std::size_t page);
  void show(std::size_t count, std::size_t page);
};

}  // namespace telltale::cli

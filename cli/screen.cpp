#include "screen.hpp"

#include <algorithm>
#include <clocale>
#include <string_view>

#include "show.hpp"
#include "text.hpp"

namespace telltale::cli {

terminal::terminal() {
  ::setlocale(LC_ALL, "");
  // The bars are UTF-8 whatever the locale says.
  if (std::string_view(::setlocale(LC_CTYPE, nullptr)) == "C") ::setlocale(LC_CTYPE, "C.UTF-8");
  screen_ = ::newterm(nullptr, stdout, stdin);
  if (screen_ == nullptr) return;
  ::cbreak();
  ::noecho();
  ::keypad(stdscr, TRUE);
  ::curs_set(0);
  ::set_escdelay(50);
  if (::has_colors()) {
    ::start_color();
    ::use_default_colors();
    ::init_pair(failed_colour, COLOR_RED, -1);
    ::init_pair(bar_colour, COLOR_GREEN, -1);
    ::init_pair(head_colour, COLOR_CYAN, -1);
  }
}

terminal::~terminal() {
  if (screen_ == nullptr) return;
  ::endwin();
  ::delscreen(screen_);
}

attr_t in_colour(colours c) {
  return static_cast<attr_t>(COLOR_PAIR(c));
}

std::size_t height() {
  return static_cast<std::size_t>(std::max(1, ::getmaxy(stdscr)));
}
std::size_t width() {
  return static_cast<std::size_t>(std::max(1, ::getmaxx(stdscr)));
}

void put(std::size_t y, std::size_t x, const std::string& text, attr_t how) {
  if (y >= height() || x >= width()) return;
  ::attrset(static_cast<int>(how));
  ::mvaddstr(static_cast<int>(y), static_cast<int>(x), short_text(text, width() - x).c_str());
  ::attrset(A_NORMAL);
}
void put_line(std::size_t y, const std::string& text, attr_t how) {
  std::string whole = short_text(text, width());
  whole.append(width() - std::min(width(), columns(whole)), ' ');
  put(y, 0, whole, how);
}

bool read_line(const std::string& prompt, std::string& text) {
  std::string typed = text;
  for (;;) {
    // The end is what one sees of a long line.
    const std::size_t room = width() > columns(prompt) + 1 ? width() - columns(prompt) - 1 : 1;
    std::size_t from = 0;
    while (columns(std::string_view(typed).substr(from)) > room) ++from;
    put_line(height() - 1, prompt + typed.substr(from));
    ::curs_set(1);
    ::move(static_cast<int>(height()) - 1, static_cast<int>(columns(prompt) + columns(typed.substr(from))));
    ::refresh();
    const int key = ::getch();
    ::curs_set(0);
    if (key == 27 || key == ERR) return false;
    if (key == '\n' || key == KEY_ENTER) break;
    if (key == KEY_BACKSPACE || key == 127 || key == 8) {
      while (!typed.empty() && (static_cast<unsigned char>(typed.back()) & 0xc0) == 0x80) typed.pop_back();
      if (!typed.empty()) typed.pop_back();
    } else if (key == 21) {  // Ctrl-U
      typed.clear();
    } else if (key >= 32 && key < 256) {  // a byte of UTF-8
      typed += static_cast<char>(key);
    }
  }
  text = std::move(typed);
  return true;
}

bool cursor::move(int key, std::size_t count, std::size_t page) {
  const std::size_t last = count == 0 ? 0 : count - 1;
  switch (key) {
    case KEY_DOWN:
    case 'j':
      at = std::min(at + 1, last);
      break;
    case KEY_UP:
    case 'k':
      at = at == 0 ? 0 : at - 1;
      break;
    case KEY_NPAGE:
      at = std::min(at + page, last);
      break;
    case KEY_PPAGE:
      at = at < page ? 0 : at - page;
      break;
    case KEY_HOME:
    case 'g':
      at = 0;
      break;
    case KEY_END:
    case 'G':
      at = last;
      break;
    default:
      return false;
  }
  return true;
}

void cursor::show(std::size_t count, std::size_t page) {
  at = count == 0 ? 0 : std::min(at, count - 1);
  page = std::max<std::size_t>(1, page);
  if (at < top) top = at;
  if (at >= top + page) top = at - page + 1;
}

}  // namespace telltale::cli

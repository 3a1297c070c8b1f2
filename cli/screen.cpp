#include "screen.hpp"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <clocale>
#include <csignal>
#include <cstdint>
#include <string_view>

#include "show.hpp"
#include "text.hpp"

namespace telltale::cli {

namespace {

// Written by SIGWINCH's handler, read by next_key(). ncurses has a handler of its own, whose word is lost when the
// signal comes between its last look and its wait for a key: the screen then keeps its old size until a key is pressed.
int resized = -1;

extern "C" void say_resized(int /*signal*/) {
  const int before = errno;
  const std::uint64_t one = 1;
  if (::write(resized, &one, sizeof one) < 0) errno = before;  // full: it is said already
}

bool was_resized() {
  std::uint64_t times = 0;
  return ::read(resized, &times, sizeof times) == sizeof times;
}

void take_size() {
  winsize size{};
  if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_row > 0 && size.ws_col > 0) {
    ::resize_term(size.ws_row, size.ws_col);
    ::clearok(curscr, TRUE);  // what the terminal shows now is unknown
  }
}

}  // namespace

terminal::terminal() {
  resized = ::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
  struct sigaction ours{};
  ours.sa_handler = say_resized;
  ours.sa_flags = SA_RESTART;
  ::sigaction(SIGWINCH, &ours, &before_);
  ::setlocale(LC_ALL, "");
  // The bars are UTF-8 whatever the locale says.
  if (std::string_view(::setlocale(LC_CTYPE, nullptr)) == "C") ::setlocale(LC_CTYPE, "C.UTF-8");
  screen_ = ::newterm(nullptr, stdout, stdin);
  if (screen_ == nullptr) return;
  ::cbreak();
  ::noecho();
  ::keypad(stdscr, TRUE);
  ::nodelay(stdscr, TRUE);  // next_key() waits
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
  if (screen_ != nullptr) {
    ::endwin();
    ::delscreen(screen_);
  }
  ::sigaction(SIGWINCH, &before_, nullptr);
  ::close(resized);
}

int next_key() {
  for (;;) {
    if (was_resized()) {
      take_size();
      return KEY_RESIZE;
    }
    const int key = ::getch();
    if (key != ERR) return key;
    pollfd waits[2] = {{STDIN_FILENO, POLLIN, 0}, {resized, POLLIN, 0}};
    if (::poll(waits, 2, -1) < 0) {
      if (errno != EINTR) return ERR;
    } else if ((waits[0].revents & (POLLHUP | POLLERR | POLLNVAL)) != 0) {
      return ::getch();  // a last key, or none: the terminal is gone
    }
  }
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
    const int key = next_key();
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

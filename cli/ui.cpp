// Screens on ncurses: a list of traces; a trace's waterfall with a detail below; its breakdown. Each is drawn anew for
// every key, from what is in memory; the hub is asked when a screen is opened.
#include "ui.hpp"

// ncurses' macros (`move`, `clear`, `timeout` …) would replace functions of everybody's.
#define NCURSES_NOMACROS 1
#define NCURSES_WIDECHAR 1
#include <curses.h>
#include <unistd.h>

#include <algorithm>
#include <clocale>
#include <nlohmann/json.hpp>
#include <optional>
#include <sstream>

#include "show.hpp"
#include "text.hpp"
#include "waterfall.hpp"

namespace telltale::cli {

namespace {

using json = nlohmann::ordered_json;

enum colours : short { failed_colour = 1, bar_colour = 2, head_colour = 3 };

attr_t in_colour(colours c) {
  return static_cast<attr_t>(COLOR_PAIR(c));
}

class terminal {
 public:
  terminal() {
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
  ~terminal() {
    if (screen_ == nullptr) return;
    ::endwin();
    ::delscreen(screen_);
  }
  terminal(const terminal&) = delete;
  terminal& operator=(const terminal&) = delete;
  explicit operator bool() const noexcept { return screen_ != nullptr; }

 private:
  SCREEN* screen_ = nullptr;
};

std::size_t height() {
  return static_cast<std::size_t>(std::max(1, ::getmaxy(stdscr)));
}
std::size_t width() {
  return static_cast<std::size_t>(std::max(1, ::getmaxx(stdscr)));
}

void put(std::size_t y, std::size_t x, const std::string& text, attr_t how = A_NORMAL) {
  if (y >= height() || x >= width()) return;
  ::attrset(static_cast<int>(how));
  ::mvaddstr(static_cast<int>(y), static_cast<int>(x), short_text(text, width() - x).c_str());
  ::attrset(A_NORMAL);
}
void put_line(std::size_t y, const std::string& text, attr_t how = A_NORMAL) {
  std::string whole = short_text(text, width());
  whole.append(width() - std::min(width(), columns(whole)), ' ');
  put(y, 0, whole, how);
}

// A list one moves through: which entry, and which stands at the top.
struct cursor {
  std::size_t at = 0;
  std::size_t top = 0;

  // Whether the key was a movement.
  bool move(int key, std::size_t count, std::size_t page) {
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
  void show(std::size_t count, std::size_t page) {
    at = count == 0 ? 0 : std::min(at, count - 1);
    page = std::max<std::size_t>(1, page);
    if (at < top) top = at;
    if (at >= top + page) top = at - page + 1;
  }
};

// What a key leads to: staying, going back, leaving.
enum class next { stay, back, quit };

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> out;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) out.push_back(std::move(line));
  return out;
}

class viewer {
 public:
  explicit viewer(access& hub) : hub_(hub) {}

  result<void> run(const request& list) {
    cursor c;
    std::optional<json> traces;
    for (;;) {
      if (!traces) {
        auto body = ask(list);
        if (!body) return body.error();
        traces = json::parse(*body).at("traces");
      }
      draw_list(*traces, c);
      const int key = ::getch();
      if (key == 'q' || key == 27 || key == ERR) return {};
      if (key == 'r') traces.reset();
      if (!traces || c.move(key, traces->size(), height() - 3) || c.at >= traces->size()) continue;
      if (key != '\n' && key != KEY_ENTER && key != KEY_RIGHT && key != 'b') continue;
      const std::string id = text_of((*traces)[c.at], "trace_id");
      const result<next> after = key == 'b' ? breakdown(id) : trace(id);
      if (!after) {
        message_ = after.error().message;
      } else if (*after == next::quit) {
        return {};
      }
    }
  }

 private:
  result<std::string> ask(const request& r) {
    auto answer = hub_.ask(r);
    if (!answer) return answer.error();
    if (answer->status >= 400) return error{error_of(answer->body)};
    return std::move(answer->body);
  }

  void foot(const std::string& keys) {
    put_line(height() - 1, message_.empty() ? keys : message_,
             message_.empty() ? A_REVERSE : A_REVERSE | in_colour(failed_colour));
    message_.clear();
    ::refresh();
  }

  void draw_list(const json& traces, cursor& c) {
    ::erase();
    const std::size_t page = height() > 2 ? height() - 2 : 1;
    c.show(traces.size(), page);
    put_line(0, "started (UTC)                  took    spans  failed  name", A_BOLD | in_colour(head_colour));
    for (std::size_t i = c.top; i < traces.size() && i - c.top < page; ++i) {
      const json& t = traces[i];
      const auto errors = t.value("errors", std::uint64_t{0});
      const auto right = [](const std::string& text, std::size_t n) {
        return std::string(columns(text) < n ? n - columns(text) : 0, ' ') + text;
      };
      std::string line = moment(t.value("start_ns", std::int64_t{0})) + "  " +
                         right(duration(t.value("duration_ns", 0.0)), 10) + "  " +
                         right(std::to_string(t.value("spans", std::uint64_t{0})), 7) + "  " +
                         right(errors == 0 ? "-" : std::to_string(errors), 6) + "  " + text_of(t, "root_name");
      if (const std::string job = text_of(t, "job_id"); !job.empty()) line += "  job_id=" + job;
      attr_t how = errors == 0 ? A_NORMAL : in_colour(failed_colour);
      if (i == c.at) how |= A_REVERSE;
      put_line(1 + i - c.top, line, how);
    }
    if (traces.empty()) put(1, 0, "no traces yet: r looks again");
    foot("↑↓ move  Enter waterfall  b breakdown  r again  q quit");
  }

  result<next> trace(const std::string& id) {
    auto body = ask({"GET", "traces/" + id, {}, {}});
    if (!body) return body.error();
    waterfall w(*body);
    cursor c;
    bool detail = false;
    for (;;) {
      draw_waterfall(w, c, detail);
      const int key = ::getch();
      const std::size_t span = w.visible().empty() ? 0 : w.visible()[c.at];
      if (c.move(key, w.visible().size(), page_of(detail))) continue;
      switch (key) {
        case 'q':
        case ERR:
          return next::quit;
        case 27:
        case KEY_BACKSPACE:
          return next::back;
        case ' ':
        case '\n':
        case KEY_ENTER:
          if (!w.spans().empty()) w.fold(span, !w.spans()[span].folded);
          break;
        case KEY_LEFT:
        case 'h':
          if (!w.spans().empty()) w.fold(span, true);
          break;
        case KEY_RIGHT:
        case 'l':
          if (!w.spans().empty()) w.fold(span, false);
          break;
        case 'c':
        case 'e':
          w.fold_all(key == 'c');
          break;
        case 'd':
          detail = !detail;
          break;
        case 'b': {
          const result<next> after = breakdown(id);
          if (!after) {
            message_ = after.error().message;
          } else if (*after == next::quit) {
            return next::quit;
          }
          break;
        }
        default:
          break;
      }
    }
  }

  static std::size_t page_of(bool detail) {
    const std::size_t rows = height() > 3 ? height() - 2 : 1;
    return detail ? std::max<std::size_t>(1, rows / 2) : rows;
  }

  void draw_waterfall(const waterfall& w, cursor& c, bool detail) {
    ::erase();
    const std::size_t page = page_of(detail);
    c.show(w.visible().size(), page);
    put_line(0, w.title() + "  " + duration(static_cast<double>(w.duration_ns())), A_BOLD | in_colour(head_colour));
    const std::size_t names = std::clamp<std::size_t>(width() * 2 / 5, 12, 60);
    const std::size_t bar_at = names + 13;
    const auto whole = static_cast<double>(w.duration_ns());
    for (std::size_t i = c.top; i < w.visible().size() && i - c.top < page; ++i) {
      const waterfall_span& s = w.spans()[w.visible()[i]];
      const std::size_t y = 1 + i - c.top;
      const std::size_t indent = std::min<std::size_t>(2 * s.depth, names / 2);
      std::string label(indent, ' ');
      label += s.below == 0 ? "  " : s.folded ? "▸ " : "▾ ";
      label += s.name;
      if (s.folded) label += " (" + std::to_string(s.below) + ")";
      label = short_text(label, names);
      label.append(names - columns(label), ' ');
      const std::string took = duration(static_cast<double>(s.duration_ns));
      attr_t how = s.failed ? in_colour(failed_colour) : A_NORMAL;
      if (i == c.at) how |= A_REVERSE;
      put(y, 0, label + " " + std::string(columns(took) < 10 ? 10 - columns(took) : 0, ' ') + took, how);
      const auto from = static_cast<double>(s.start_ns - w.begin_ns()) / whole;
      if (width() > bar_at + 8) {
        put(y, bar_at, bar(from, from + static_cast<double>(s.duration_ns) / whole, width() - bar_at - 1),
            in_colour(s.failed ? failed_colour : bar_colour));
      }
    }
    if (detail && !w.visible().empty()) {
      const std::size_t y = page + 1;
      put_line(y, std::string(width(), '-'));
      const std::vector<std::string> lines = lines_of(w.spans()[w.visible()[c.at]].detail);
      for (std::size_t i = 0; i < lines.size() && y + 2 + i < height(); ++i) put(y + 1 + i, 0, lines[i]);
    }
    foot("↑↓ move  Space fold  c fold all  e unfold all  d detail  b breakdown  Esc back  q quit");
  }

  result<next> breakdown(const std::string& id) {
    auto body = ask({"GET", "breakdown", {{"of", id}}, {}});
    if (!body) return body.error();
    style plain;
    plain.width = width();
    const std::vector<std::string> lines = lines_of(show_breakdown(*body, plain));
    cursor c;
    for (;;) {
      ::erase();
      const std::size_t page = height() > 1 ? height() - 1 : 1;
      c.at = std::min(c.at, lines.size() > page ? lines.size() - page : 0);
      for (std::size_t i = c.at; i < lines.size() && i - c.at < page; ++i) {
        put(i - c.at, 0, lines[i], i == 0 ? A_BOLD : A_NORMAL);
      }
      foot("↑↓ move  Esc back  q quit");
      const int key = ::getch();
      if (key == 'q' || key == ERR) return next::quit;
      if (key == 27 || key == KEY_BACKSPACE || key == KEY_LEFT) return next::back;
      c.move(key, lines.size(), page);
    }
  }

  access& hub_;
  std::string message_;
};

}  // namespace

result<void> run_ui(access& hub, const request& list) {
  if (::isatty(STDIN_FILENO) != 1 || ::isatty(STDOUT_FILENO) != 1) {
    return error{"ui needs a terminal; `telltale traces` and `telltale show` print"};
  }
  // Before the screen is taken: a hub that doesn't answer is told in plain text.
  if (auto first = hub.ask(list); !first) {
    return first.error();
  } else if (first->status >= 400) {
    return error{error_of(first->body)};
  }
  const terminal t;
  if (!t) return error{"this terminal is not known to ncurses: is TERM set right?"};
  return viewer(hub).run(list);
}

}  // namespace telltale::cli

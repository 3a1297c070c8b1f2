// The viewer's screens: a list of traces; a trace's waterfall with a detail below; its breakdown. Each is drawn anew
// for every key, from what is in memory; the hub is asked when a screen is opened.
#include "ui.hpp"

#include <unistd.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <sstream>

#include "screen.hpp"
#include "show.hpp"
#include "text.hpp"
#include "waterfall.hpp"

namespace telltale::cli {

namespace {

using json = nlohmann::ordered_json;

// What a key leads to: staying, going back, leaving.
enum class next { stay, back, quit };

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> out;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) out.push_back(std::move(line));
  return out;
}

// Text in lines of a width, broken anywhere.
std::vector<std::string> wrapped(const std::string& text, std::size_t columns_of_line) {
  std::vector<std::string> out;
  for (std::string line : lines_of(text)) {
    while (columns(line) > columns_of_line) {
      std::size_t end = 0;
      for (std::size_t n = 0; n < columns_of_line || (static_cast<unsigned char>(line[end]) & 0xc0) == 0x80; ++end) {
        if ((static_cast<unsigned char>(line[end]) & 0xc0) != 0x80) ++n;
      }
      out.push_back(line.substr(0, end));
      line.erase(0, end);
    }
    out.push_back(std::move(line));
  }
  return out;
}

std::string right(const std::string& text, std::size_t n) {
  return std::string(columns(text) < n ? n - columns(text) : 0, ' ') + text;
}
std::string left(const std::string& text, std::size_t n) {
  const std::string cut = short_text(text, n);
  return cut + std::string(n - columns(cut), ' ');
}

class viewer {
 public:
  viewer(access& hub, request list) : hub_(hub), list_(std::move(list)) {}

  result<void> run() {
    cursor c;
    json traces = json::array();
    bool look = true;
    for (;;) {
      if (look) {
        look = false;
        if (auto body = ask(list_); !body) {
          message_ = body.error().message;
        } else {
          refresh(traces, json::parse(*body).at("traces"), c);
        }
      }
      draw_list(traces, c);
      const int key = next_key();
      if (key == 'q' || key == 27 || key == ERR) return {};
      look = key == 'r' || (key == '/' && search());
      if (look || c.move(key, traces.size(), list_page()) || c.at >= traces.size()) continue;
      if (key != '\n' && key != KEY_ENTER && key != KEY_RIGHT && key != 'b') continue;
      const std::string id = text_of(traces[c.at], "trace_id");
      if (after(key == 'b' ? breakdown(id) : trace(id)) == next::quit) return {};
    }
  }

 private:
  result<std::string> ask(const request& r) {
    put_line(height() - 1, "asking the hub …", A_REVERSE);
    ::refresh();
    auto answer = hub_.ask(r);
    if (!answer) return answer.error();
    if (answer->status >= 400) return error{error_of(answer->body)};
    return std::move(answer->body);
  }

  // A screen that could not be shown leaves its reason behind.
  next after(const result<next>& shown) {
    if (shown) return *shown;
    message_ = shown.error().message;
    return next::stay;
  }

  // The keys, or what there is to say in as many lines as it takes.
  void foot(const std::string& keys) {
    if (message_.empty()) {
      put_line(height() - 1, keys, A_REVERSE);
    } else {
      const std::vector<std::string> lines = wrapped(message_, width());
      for (std::size_t i = 0; i < lines.size() && i < height(); ++i) {
        put_line(height() - std::min(lines.size(), height()) + i, lines[i], A_REVERSE | in_colour(failed_colour));
      }
      message_.clear();
    }
    ::refresh();
  }

  // --- the list ------------------------------------------------------------------------------------------------------

  static std::size_t list_page() { return height() > 2 ? height() - 2 : 1; }

  // New ones stand above: the cursor stays on its trace.
  static void refresh(json& traces, json now, cursor& c) {
    const std::string id = c.at < traces.size() ? text_of(traces[c.at], "trace_id") : std::string{};
    traces = std::move(now);
    for (std::size_t i = 0; i < traces.size() && c.at != 0; ++i) {
      if (text_of(traces[i], "trace_id") == id) c.at = i;
    }
  }

  bool search() {
    const auto at = std::find_if(list_.query.begin(), list_.query.end(), [](const auto& p) { return p.first == "q"; });
    std::string text = at != list_.query.end() ? at->second : std::string{};
    if (!read_line("TraceQL, such as { duration > 1s }: ", text)) return false;
    if (at != list_.query.end()) list_.query.erase(at);
    if (!text.empty()) list_.query.emplace_back("q", text);
    return true;
  }

  void draw_list(const json& traces, cursor& c) {
    ::erase();
    c.show(traces.size(), list_page());
    const bool wide = width() >= 110;
    std::size_t names = 4;
    for (const json& t : traces) names = std::max(names, columns(text_of(t, "root_name")));
    const std::size_t fixed = wide ? 55 : 46;
    names = std::min(names, std::max<std::size_t>(12, (width() > fixed ? width() - fixed : 0) * 2 / 3));
    put_line(0,
             left("started (UTC)", wide ? 23 : 14) + "  " + right("took", 10) + right("spans", 9) + right("failed", 8) +
                 "  " + left("name", names) + "  job",
             A_BOLD | in_colour(head_colour));
    for (std::size_t i = c.top; i < traces.size() && i - c.top < list_page(); ++i) {
      const json& t = traces[i];
      const auto errors = t.value("errors", std::uint64_t{0});
      const std::string started = moment(t.value("start_ns", std::int64_t{0}));
      std::string line = wide ? started : started.substr(5, 14);
      line += "  " + right(duration(t.value("duration_ns", 0.0)), 10);
      line += right(thousands(t.value("spans", std::uint64_t{0})), 9);
      line += right(errors == 0 ? "-" : thousands(errors), 8) + "  ";
      line += left(text_of(t, "root_name"), names) + "  " + text_of(t, "job_id");
      if (t.value("open", std::uint64_t{0}) != 0) line += " (running)";
      attr_t how = errors == 0 ? A_NORMAL : in_colour(failed_colour);
      if (i == c.at) how |= A_REVERSE;
      put_line(1 + i - c.top, line, how);
    }
    if (traces.empty()) put(1, 0, "no traces: nothing came yet, or nothing that matches");
    foot("↑↓ move  Enter waterfall  b breakdown  / search  r again  q quit");
  }

  // --- a trace -------------------------------------------------------------------------------------------------------

  result<next> trace(const std::string& id) {
    auto body = ask({"GET", "traces/" + id, {}, {}});
    if (!body) return body.error();
    waterfall w(*body);
    cursor c;
    bool detail = false;
    std::size_t skipped = 0;  // lines of the detail
    for (;;) {
      draw_waterfall(w, c, detail, skipped);
      const int key = next_key();
      const std::size_t span = w.visible().empty() ? 0 : w.visible()[c.at];
      if (c.move(key, w.visible().size(), page_of(detail))) {
        skipped = 0;
        continue;
      }
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
          skipped = 0;
          break;
        case 'J':
          ++skipped;
          break;
        case 'K':
          skipped = skipped == 0 ? 0 : skipped - 1;
          break;
        case 'b':
          if (after(breakdown(id)) == next::quit) return next::quit;
          break;
        default:
          break;
      }
    }
  }

  static std::size_t page_of(bool detail) {
    const std::size_t rows = height() > 3 ? height() - 2 : 1;
    return detail ? std::max<std::size_t>(1, rows / 2) : rows;
  }

  void draw_waterfall(const waterfall& w, cursor& c, bool detail, std::size_t& skipped) {
    ::erase();
    const std::size_t page = page_of(detail);
    c.show(w.visible().size(), page);
    put_line(0, w.title(), A_BOLD | in_colour(head_colour));
    for (std::size_t i = c.top; i < w.visible().size() && i - c.top < page; ++i) {
      draw_span(w, w.spans()[w.visible()[i]], 1 + i - c.top, i == c.at);
    }
    if (detail && !w.visible().empty()) draw_detail(w.spans()[w.visible()[c.at]].detail, page + 1, skipped);
    foot(detail ? "↑↓ move  Space fold  c/e fold all  d no detail  J/K scroll it  Esc back  q quit"
                : "↑↓ move  Space fold  c/e fold all  d detail  b breakdown  Esc back  q quit");
  }

  static void draw_span(const waterfall& w, const waterfall_span& s, std::size_t y, bool here) {
    const std::size_t names = std::clamp<std::size_t>(width() * 2 / 5, 12, 60);
    std::string label(std::min<std::size_t>(2 * s.depth, names / 2), ' ');
    label += s.below == 0 ? "  " : s.folded ? "▸ " : "▾ ";
    label += s.name;
    if (s.folded) label += " (" + thousands(s.below) + ")";
    attr_t how = s.failed ? in_colour(failed_colour) : A_NORMAL;
    if (here) how |= A_REVERSE;
    put(y, 0, left(label, names) + " " + right(duration(static_cast<double>(s.duration_ns)), 10), how);
    const std::size_t bar_at = names + 13;
    if (width() <= bar_at + 8) return;
    const auto whole = static_cast<double>(w.duration_ns());
    const auto from = static_cast<double>(s.start_ns - w.begin_ns()) / whole;
    put(y, bar_at, bar(from, from + static_cast<double>(s.duration_ns) / whole, width() - bar_at - 1),
        in_colour(s.failed ? failed_colour : bar_colour));
  }

  static void draw_detail(const std::string& detail, std::size_t y, std::size_t& skipped) {
    const std::vector<std::string> lines = wrapped(detail, width());
    const std::size_t room = height() > y + 2 ? height() - y - 2 : 1;
    skipped = std::min(skipped, lines.size() > room ? lines.size() - room : 0);
    const std::size_t below = lines.size() - std::min(lines.size(), skipped + room);
    std::string line = below == 0 ? "" : " " + counted(below, "more line") + " below ";
    for (std::size_t i = columns(line); i < width(); ++i) line.insert(0, "─");
    put_line(y, line);
    for (std::size_t i = 0; i < room && skipped + i < lines.size(); ++i) put(y + 1 + i, 0, lines[skipped + i]);
  }

  result<next> breakdown(const std::string& id) {
    auto body = ask({"GET", "breakdown", {{"of", id}}, {}});
    if (!body) return body.error();
    cursor c;
    for (;;) {
      style plain;
      plain.width = width();
      const std::vector<std::string> lines = lines_of(show_breakdown(*body, plain));
      ::erase();
      const std::size_t page = height() > 1 ? height() - 1 : 1;
      c.at = std::min(c.at, lines.size() > page ? lines.size() - page : 0);
      for (std::size_t i = c.at; i < lines.size() && i - c.at < page; ++i) {
        put(i - c.at, 0, lines[i], i == 0 ? A_BOLD : A_NORMAL);
      }
      foot("↑↓ move  Esc back  q quit");
      const int key = next_key();
      if (key == 'q' || key == ERR) return next::quit;
      if (key == 27 || key == KEY_BACKSPACE || key == KEY_LEFT) return next::back;
      c.move(key, lines.size(), page);
    }
  }

  access& hub_;
  request list_;
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
  return viewer(hub, list).run();
}

}  // namespace telltale::cli

// Drawing labels beneath source lines.
//
// Each label becomes marks on lines: one for a label within a line, two (where it starts, where it ends) for one that
// runs over several; the lines in between are joined by a bar in a lane of its own at the left. Beneath a line come
//
//   - a row that underlines every mark; where marks overlap, primary ones are drawn last and stay whole;
//   - behind it, the text of the mark that ends rightmost;
//   - a row per remaining text, the rightmost mark first: so the bars that lead down to the texts still to come all
//     stand left of the text being written, and nothing is ever drawn over.
//
// A line longer than the terminal is shown through a window around its marks; marks too far apart for one window get
// the line shown again.
#include "snippet.hpp"

#include <algorithm>
#include <map>

#include "display.hpp"
#include "range.hpp"

namespace telltale::detail {

namespace {

enum class mark_kind : std::uint8_t { within, start, end };

struct mark {
  mark_kind kind;
  std::size_t from;  // columns of its line, at least one
  std::size_t to;
  const label* of;
  std::size_t lane = 0;  // of one that runs over several lines

  bool joins_lane() const noexcept { return kind != mark_kind::within; }
  bool says() const noexcept { return kind != mark_kind::start && !of->text.empty(); }
};

struct lane_state {
  bool open = false;
  ink colour = ink::plain;
};

class snippet {
 public:
  snippet(painter& p, const source_file& file, const std::vector<const label*>& labels, const snippet_options& o)
      : p_(p), file_(file), o_(o) {
    for (const label* l : labels) add(*l);
    lanes_.resize(lane_ends_.size());
    const std::size_t taken = o.margin + 3 + lane_columns();
    window_ = std::max<std::size_t>(o.width > taken ? o.width - taken : 0, 20);
  }

  void draw() {
    std::size_t last = 0;
    for (auto& [number, marks] : marks_) {
      if (last != 0) fill_gap(last, number);
      draw_line(number, marks);
      last = number;
    }
  }

 private:
  void add(const label& l) {
    const place_range s = range_of(l.where);
    const std::string_view first = file_.line(s.begin.line);
    const std::size_t from = column_of(first, s.begin.offset, o_.tab);
    if (s.begin.line == s.end.line) {
      const std::size_t to = column_of(first, s.end.offset, o_.tab);
      marks_[s.begin.line].push_back({mark_kind::within, from, std::max(to, from + 1), &l});
      return;
    }
    const std::size_t lane = take_lane(s.begin.line, s.end.line);
    marks_[s.begin.line].push_back({mark_kind::start, from, from + 1, &l, lane});
    const std::size_t to = std::max<std::size_t>(column_of(file_.line(s.end.line), s.end.offset, o_.tab), 1);
    marks_[s.end.line].push_back({mark_kind::end, to - 1, to, &l, lane});
  }

  // The first lane that is free from the line on.
  std::size_t take_lane(std::size_t from, std::size_t to) {
    for (std::size_t i = 0; i < lane_ends_.size(); ++i) {
      if (std::all_of(lane_ends_[i].begin(), lane_ends_[i].end(),
                      [&](const auto& taken) { return taken.second < from || to < taken.first; })) {
        lane_ends_[i].emplace_back(from, to);
        return i;
      }
    }
    lane_ends_.push_back({{from, to}});
    return lane_ends_.size() - 1;
  }

  std::size_t lane_columns() const noexcept { return 2 * lane_ends_.size(); }
  ink ink_of_mark(const mark& m) const noexcept { return m.of->primary ? ink_of(o_.of) : ink::secondary; }

  // --- rows -----------------------------------------------------------------------------------------------------

  void begin_row(std::string_view number) {
    p_.put(std::string(o_.margin - number.size(), ' '), ink::plain);
    p_.put(number, ink::margin);
    p_.put(" |", ink::margin);
  }
  // The bars of open lanes, where nothing else stands.
  void put_lanes(row& r) const {
    for (std::size_t i = 0; i < lanes_.size(); ++i) {
      const char there = r.at(2 * i);
      if (lanes_[i].open && (there == ' ' || there == '_')) r.put(2 * i, '|', lanes_[i].colour);
    }
  }
  void write_row(std::string_view number, row r) {
    begin_row(number);
    put_lanes(r);
    if (!r.empty()) p_.put(" ", ink::plain);
    r.write(p_);
    p_.line_feed();
  }

  void source_row(std::size_t number, std::size_t from, const std::vector<mark>& slashes) {
    row r;
    for (const mark& m : slashes) r.put(2 * m.lane, '/', ink_of_mark(m));
    const std::string_view line = file_.line(number);
    const bool cut_left = from > 0;
    const bool cut_right = column_of(line, std::string_view::npos, o_.tab) > from + window_;
    std::string shown = columns_between(line, from + (cut_left ? 1 : 0), from + window_ - (cut_right ? 1 : 0), o_.tab);
    if (cut_left) shown.insert(0, "…");
    if (cut_right) shown += "…";
    if (shown.find_first_not_of(' ') == std::string::npos) shown.clear();
    if (!shown.empty()) r.put_text(lane_columns(), std::move(shown), ink::plain);
    write_row(std::to_string(number), std::move(r));
  }

  // What lies between two lines with marks: a line or two as they are, more as three dots.
  void fill_gap(std::size_t last, std::size_t next) {
    if (next - last <= 3) {
      for (std::size_t n = last + 1; n < next; ++n) source_row(n, 0, {});
      return;
    }
    p_.put("...", ink::margin);
    row r;
    put_lanes(r);
    if (!r.empty()) p_.put(std::string(o_.margin, ' '), ink::plain);
    r.write(p_);
    p_.line_feed();
  }

  // --- a line and its marks -------------------------------------------------------------------------------------

  void draw_line(std::size_t number, std::vector<mark>& marks) {
    std::sort(marks.begin(), marks.end(),
              [](const mark& a, const mark& b) { return a.from != b.from ? a.from < b.from : a.of < b.of; });
    const std::size_t width = column_of(file_.line(number), std::string_view::npos, o_.tab);
    if (std::max(width, marks.back().to) <= window_) return draw_window(number, 0, marks);
    constexpr std::size_t context = 8;  // columns kept free around the marks
    for (std::size_t first = 0; first < marks.size();) {
      const std::size_t from = marks[first].from;
      std::size_t to = marks[first].to;
      std::size_t next = first + 1;
      while (next < marks.size() && std::max(to, marks[next].to) - from <= window_ - 2 * context) {
        to = std::max(to, marks[next++].to);
      }
      const std::size_t marked = std::min(to - from, window_ - 2 * context);
      std::size_t left = from - std::min(from, (window_ - marked) / 2);
      if (left + window_ > width + 1) left = width + 1 > window_ ? width + 1 - window_ : 0;
      std::vector<mark> here(marks.begin() + static_cast<std::ptrdiff_t>(first),
                             marks.begin() + static_cast<std::ptrdiff_t>(next));
      for (mark& m : here) {
        m.from -= left;
        m.to = std::max(std::min(m.to - left, window_ - 1), m.from + 1);
      }
      draw_window(number, left, here);
      first = next;
    }
  }

  // Marks' columns are those of the window.
  void draw_window(std::size_t number, std::size_t left, std::vector<mark>& marks) {
    // A start with nothing before it needs no row: a slash in its lane says it.
    const std::string_view line = file_.line(number);
    std::vector<mark> slashes;
    std::erase_if(marks, [&](const mark& m) {
      const bool simple = m.kind == mark_kind::start && left == 0 &&
                          columns_between(line, 0, m.from, o_.tab).find_first_not_of(' ') == std::string::npos;
      if (simple) slashes.push_back(m);
      return simple;
    });
    source_row(number, left, slashes);
    for (const mark& m : slashes) lanes_[m.lane] = {true, ink_of_mark(m)};
    if (!marks.empty()) draw_marks(marks);
  }

  void draw_marks(const std::vector<mark>& marks) {
    row underline;
    for (const bool primary : {false, true}) {
      for (const mark& m : marks) {
        if (m.of->primary != primary) continue;
        for (std::size_t c = m.from; c < m.to; ++c) {
          underline.put(lane_columns() + c, primary ? '^' : '-', ink_of_mark(m));
        }
      }
    }

    // What hangs below the line, the rightmost first; at one column, texts before what leads to a lane.
    std::vector<const mark*> hanging;
    for (const mark& m : marks) {
      if (m.joins_lane() || m.says()) hanging.push_back(&m);
    }
    std::sort(hanging.begin(), hanging.end(), [](const mark* a, const mark* b) {
      if (a->from != b->from) return a->from > b->from;
      return a->joins_lane() != b->joins_lane() ? b->joins_lane() : a < b;
    });

    if (const mark* beside = beside_underline(marks)) {
      underline.put_text(lane_columns() + beside->to + 1, shown_on_one_line(beside->of->text), ink_of_mark(*beside));
      std::erase(hanging, beside);
    }
    const mark* joined = joined_to_underline(marks);
    if (joined != nullptr) {
      join(underline, *joined, false);
      std::erase(hanging, joined);
    }
    write_row({}, std::move(underline));
    if (joined != nullptr) settle(*joined);
    hang(hanging);
  }

  // The mark whose text may stand behind the underlines: the one that ends rightmost.
  static const mark* beside_underline(const std::vector<mark>& marks) {
    const mark* last = &marks.front();
    for (const mark& m : marks) {
      if (m.to > last->to || (m.to == last->to && m.from >= last->from && !m.joins_lane())) last = &m;
    }
    return last->kind == mark_kind::within && last->says() ? last : nullptr;
  }
  // The mark that may be joined to its lane along the underlines: the leftmost, if its text (which stands on its right)
  // finds nothing there.
  static const mark* joined_to_underline(const std::vector<mark>& marks) {
    const mark& first = marks.front();
    if (!first.joins_lane()) return nullptr;
    if (marks.size() > 1 && (first.says() || marks[1].from == first.from)) return nullptr;
    return &first;
  }

  // Draws the line from a mark to its lane, and the text behind it.
  void join(row& r, const mark& m, bool hangs) const {
    const ink i = ink_of_mark(m);
    for (std::size_t c = 2 * m.lane + 1; c < lane_columns() + m.from; ++c) {
      if (r.at(c) == ' ') r.put(c, '_', i);
    }
    if (hangs) r.put(lane_columns() + m.from, '|', i);
    if (m.says()) r.put_text(lane_columns() + m.to + 1, shown_on_one_line(m.of->text), i);
  }
  // After the row that joins it: its lane begins or ends.
  void settle(const mark& m) {
    if (m.joins_lane()) lanes_[m.lane] = {m.kind == mark_kind::start, ink_of_mark(m)};
  }

  void hang(const std::vector<const mark*>& hanging) {
    // The bars of the marks from `first` on that stand left of `column`.
    const auto bars = [&](std::size_t first, std::size_t column) {
      row r;
      for (std::size_t i = first; i < hanging.size(); ++i) {
        if (hanging[i]->from < column) r.put(lane_columns() + hanging[i]->from, '|', ink_of_mark(*hanging[i]));
      }
      return r;
    };
    if (!hanging.empty() && !hanging.front()->joins_lane()) write_row({}, bars(0, std::string_view::npos));
    for (std::size_t i = 0; i < hanging.size(); ++i) {
      const mark& m = *hanging[i];
      row r = bars(i + 1, m.from);
      if (m.joins_lane()) {
        join(r, m, true);
      } else {
        r.put_text(lane_columns() + m.from, shown_on_one_line(m.of->text), ink_of_mark(m));
      }
      write_row({}, std::move(r));
      settle(m);
    }
  }

  painter& p_;
  const source_file& file_;
  const snippet_options& o_;
  std::size_t window_ = 0;
  std::map<std::size_t, std::vector<mark>> marks_;  // by line
  std::vector<std::vector<std::pair<std::size_t, std::size_t>>> lane_ends_;
  std::vector<lane_state> lanes_;
};

}  // namespace

void draw_snippet(painter& p, const source_file& file, const std::vector<const label*>& labels,
                  const snippet_options& o) {
  snippet(p, file, labels, o).draw();
}

}  // namespace telltale::detail

// Diagnostics for people: the message, the source with what is to be said about it, notes, help, where in the trace.
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <telltale/core/diagnostic.hpp>

#include "display.hpp"
#include "range.hpp"
#include "snippet.hpp"
#include "trace_text.hpp"

namespace telltale {

namespace {

using detail::ink;

struct file_labels {
  const source_file* file;
  std::vector<const label*> labels;
};

// By file, the one where the diagnostic stands first.
std::vector<file_labels> by_file(const diagnostic& d) {
  std::vector<file_labels> files;
  const auto add = [&](const label& l) {
    const auto known =
        std::find_if(files.begin(), files.end(), [&](const file_labels& f) { return f.file == l.where.file.get(); });
    if (known != files.end()) {
      known->labels.push_back(&l);
    } else {
      files.push_back({l.where.file.get(), {&l}});
    }
  };
  const label* first = d.main_label();
  if (first != nullptr) add(*first);
  for (const label& l : d.labels()) {
    if (&l != first && l.where.file != nullptr) add(l);
  }
  return files;
}

std::string place(const label& l) {
  const source_position at = l.where.file->position(l.where.begin);
  return detail::shown_on_one_line(l.where.file->name()) + ":" + std::to_string(at.line) + ":" +
         std::to_string(at.column);
}

}  // namespace

human_options human_options::for_descriptor(int fd) {
  const auto variable = [](const char* name) {
    const char* v = std::getenv(name);  // NOLINT(concurrency-mt-unsafe)
    return std::string_view{v != nullptr ? v : ""};
  };
  human_options o;
  if (::isatty(fd) != 1) return o;
  o.colour = variable("NO_COLOR").empty() && variable("TERM") != "dumb";
  winsize size{};
  if (::ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col != 0) o.width = size.ws_col;
  return o;
}

std::string render_human(const diagnostic& d, const human_options& o) {
  std::string out;
  detail::painter p(out, o.colour);
  const ink loud = detail::ink_of(d.severity());

  p.put(to_string(d.severity()), loud);
  if (!d.code().empty()) p.put("[" + detail::shown_on_one_line(d.code()) + "]", loud);
  std::string text = ": ";
  detail::append_shown(text, d.message(), "\n" + std::string(to_string(d.severity()).size() + 2, ' '));
  p.put(text, ink::strong);
  p.line_feed();

  const std::vector<file_labels> files = by_file(d);
  std::size_t last_line = 1;
  for (const file_labels& f : files) {
    for (const label* l : f.labels) last_line = std::max(last_line, detail::range_of(l->where).end.line);
  }
  const std::size_t margin = std::to_string(last_line).size();
  const std::string blank(margin, ' ');
  const detail::snippet_options drawn{d.severity(), std::max<std::size_t>(o.width, 40),
                                      std::clamp<std::size_t>(o.tab, 1, 16), margin};
  for (const file_labels& f : files) {
    p.put(blank + (&f == files.data() ? "--> " : "::: "), ink::margin);
    p.put(place(*f.labels.front()), ink::plain);
    p.line_feed();
    p.put(blank + " |", ink::margin);
    p.line_feed();
    detail::draw_snippet(p, *f.file, f.labels, drawn);
  }

  bool first = true;
  const auto remark = [&](std::string_view kind, std::string_view what) {
    if (first && !files.empty()) {
      p.put(blank + " |", ink::margin);
      p.line_feed();
    }
    first = false;
    p.put(blank + " = ", ink::margin);
    p.put(kind, ink::strong);
    std::string lines = ": ";
    detail::append_shown(lines, what, "\n" + std::string(margin + 3 + kind.size() + 2, ' '));
    p.put(lines, ink::plain);
    p.line_feed();
  };
  for (const label& l : d.labels()) {
    if (l.where.file == nullptr && !l.text.empty()) remark("note", l.text);
  }
  for (const std::string& n : d.notes()) remark("note", n);
  for (const std::string& h : d.help()) remark("help", h);
  if (!d.trace().empty()) remark("during", detail::trace_text(d.trace()));
  return out;
}

}  // namespace telltale

// A trace as a tree of lines.
#include <array>
#include <cmath>
#include <cstdio>
#include <map>
#include <telltale/core/breakdown.hpp>

#include "../format.hpp"

namespace telltale {

std::string render_duration(std::int64_t ns) {
  struct unit {
    std::int64_t ns;
    const char* name;
  };
  constexpr std::array<unit, 3> units = {{{1'000'000'000, "s"}, {1'000'000, "ms"}, {1'000, "µs"}}};
  char text[48];
  for (const unit& u : units) {
    if (ns < u.ns) continue;
    const double v = static_cast<double>(ns) / static_cast<double>(u.ns);
    std::snprintf(text, sizeof text, "%.*f %s", v < 10 ? 3 : v < 100 ? 2 : 1, v, u.name);
    return text;
  }
  std::snprintf(text, sizeof text, "%lld ns", static_cast<long long>(ns));
  return text;
}

namespace {

struct node {
  std::string label;
  std::int64_t ns;
  std::vector<std::size_t> spans;  // one, or the siblings summed up in this line
};

class renderer {
 public:
  renderer(const trace_tree& tree, std::size_t root, tree_style style) : tree_(tree), root_(root), style_(style) {}

  std::string run() {
    label_width_ = width_of(root_, 0);
    line("", label_of(root_), tree_.spans()[root_].duration_ns(), tree_.spans()[root_].failed);
    below(root_, "");
    return std::move(out_);
  }

 private:
  std::string label_of(std::size_t i) const {
    const trace_span& s = tree_.spans()[i];
    std::string label;
    detail::append_safe_text(label, s.name);
    std::string list;
    for (const auto& [key, value] : s.attributes) {
      if (i != root_ && tree_.spans()[root_].find(key) != nullptr) continue;  // inherited from the root: said there
      list += (list.empty() ? "" : " ");
      detail::append_safe_text(list, key);
      list += '=';
      detail::append_safe_text(list, to_string(value));
    }
    return list.empty() ? label : label + "  " + list;
  }

  // Siblings of one name, when there are too many of them, become one line.
  std::vector<node> nodes_below(std::size_t i) const {
    std::map<std::string, std::size_t> count;
    for (const std::size_t c : tree_.children(i)) ++count[tree_.spans()[c].name];
    std::map<std::string, std::size_t> summed;
    std::vector<node> nodes;
    for (const std::size_t c : tree_.children(i)) {
      const trace_span& s = tree_.spans()[c];
      if (count[s.name] <= style_.max_equal) {
        nodes.push_back({label_of(c), s.duration_ns(), {c}});
        continue;
      }
      const auto [place, is_new] = summed.try_emplace(s.name, nodes.size());
      if (is_new) {
        std::string label;
        detail::append_safe_text(label, s.name);
        nodes.push_back({label + "  ×" + std::to_string(count[s.name]), 0, {}});
      }
      nodes[place->second].ns += s.duration_ns();
      nodes[place->second].spans.push_back(c);
    }
    return nodes;
  }

  // Characters, not bytes: what continues a UTF-8 sequence takes no column.
  static std::size_t columns(std::string_view s) {
    std::size_t n = 0;
    for (const char c : s) n += (static_cast<unsigned char>(c) & 0xc0) != 0x80 ? 1 : 0;
    return n;
  }

  std::size_t width_of(std::size_t i, std::size_t indent) const {
    std::size_t width = i == root_ ? columns(label_of(i)) : 0;
    for (const node& n : nodes_below(i)) {
      width = std::max(width, indent + 3 + columns(n.label));
      if (n.spans.size() == 1) width = std::max(width, width_of(n.spans[0], indent + 3));
    }
    return std::min<std::size_t>(width, 100);
  }

  void below(std::size_t i, const std::string& indent) {
    const std::vector<node> nodes = nodes_below(i);
    for (std::size_t k = 0; k < nodes.size(); ++k) {
      const bool last = k + 1 == nodes.size();
      const bool failed = nodes[k].spans.size() == 1 && tree_.spans()[nodes[k].spans[0]].failed;
      line(indent + (last ? "└─ " : "├─ "), nodes[k].label, nodes[k].ns, failed);
      if (nodes[k].spans.size() == 1) below(nodes[k].spans[0], indent + (last ? "   " : "│  "));
    }
  }

  void line(const std::string& branch, const std::string& label, std::int64_t ns, bool failed) {
    const std::int64_t whole = tree_.spans()[root_].duration_ns();
    const double share = whole > 0 ? 100.0 * static_cast<double>(ns) / static_cast<double>(whole) : 0;
    out_ += branch;
    if (style_.colour) out_ += failed ? "\x1b[31m" : "\x1b[1m";
    out_ += label;
    if (style_.colour) out_ += "\x1b[0m";
    const std::size_t used = columns(branch) + columns(label);
    out_.append(used < label_width_ ? label_width_ - used : 0, ' ');
    const std::string duration = render_duration(ns);
    out_ += "  ";
    out_.append(columns(duration) < 10 ? 10 - columns(duration) : 0, ' ');
    out_ += duration;
    char percent[32];
    std::snprintf(percent, sizeof percent, "  %5.1f %%", share);
    out_ += percent;
    if (failed) out_ += "  failed";
    out_ += '\n';
  }

  const trace_tree& tree_;
  std::size_t root_;
  tree_style style_;
  std::size_t label_width_ = 0;
  std::string out_;
};

}  // namespace

std::string render_tree(const trace_tree& tree, std::size_t root, tree_style style) {
  return renderer(tree, root, style).run();
}

}  // namespace telltale

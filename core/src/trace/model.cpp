// Views into owned data, and spans into a tree.
#include <algorithm>
#include <bit>
#include <telltale/core/trace_model.hpp>
#include <unordered_map>

#include "../format.hpp"

namespace telltale {

namespace {

attribute_value own(const attribute_view& a) {
  switch (a.type) {
    case attribute_type::boolean:
      return a.bits != 0;
    case attribute_type::int64:
      return static_cast<std::int64_t>(a.bits);
    case attribute_type::uint64:
      return a.bits;
    case attribute_type::float64:
      return std::bit_cast<double>(a.bits);
    case attribute_type::string:
      break;
  }
  return std::string(a.text);
}

using owned = std::vector<std::pair<std::string, attribute_value>>;

void add_new_keys(owned& to, std::span<const attribute_view> from) {
  for (const attribute_view& a : from) {
    if (std::none_of(to.begin(), to.end(), [&](const auto& have) { return have.first == a.key; })) {
      to.emplace_back(a.key, own(a));
    }
  }
}

owned all_attributes(std::span<const attribute_view> own_ones, const scope_info* scope) {
  owned out;
  add_new_keys(out, own_ones);
  for (; scope != nullptr; scope = scope->parent.get()) add_new_keys(out, scope->attributes);
  return out;
}

}  // namespace

std::string to_string(const attribute_value& v) {
  std::string out;
  attribute_view a;
  std::visit(
      [&]<class T>(const T& value) {
        if constexpr (std::is_same_v<T, std::string>) {
          a.type = attribute_type::string;
          a.text = value;
        } else if constexpr (std::is_same_v<T, bool>) {
          a.type = attribute_type::boolean;
          a.bits = value ? 1 : 0;
        } else if constexpr (std::is_same_v<T, double>) {
          a.type = attribute_type::float64;
          a.bits = std::bit_cast<std::uint64_t>(value);
        } else {
          a.type = std::is_same_v<T, std::int64_t> ? attribute_type::int64 : attribute_type::uint64;
          a.bits = static_cast<std::uint64_t>(value);
        }
      },
      v);
  append_value(out, a);
  return out;
}

const attribute_value* trace_span::find(std::string_view key) const noexcept {
  for (const auto& [k, v] : attributes) {
    if (k == key) return &v;
  }
  return nullptr;
}

void recording::on_span(const span_view& s) {
  const std::lock_guard lock(mutex_);
  if (spans_.size() >= max_spans_) {
    ++dropped_;
    return;
  }
  trace_span out;
  out.trace = s.trace;
  out.id = s.span;
  out.parent = s.parent;
  out.name = s.site.name;
  out.module = s.site.module;
  out.level = s.site.level;
  out.begin_ns = s.begin_ns;
  out.end_ns = s.end_ns;
  out.failed = s.failed;
  out.attributes = all_attributes(s.attributes, s.scope);
  for (const link_view& l : s.links) out.links.push_back({l.trace, l.span, l.kind});
  out.thread = s.thread.name;
  spans_.push_back(std::move(out));
}

void recording::on_aggregate(const span_view& s) {
  on_span(s);
  const std::lock_guard lock(mutex_);
  if (spans_.empty() || spans_.back().id != s.span) return;  // there was no room for it
  trace_span& a = spans_.back();
  double mean_ns = 0;
  for (const attribute_view& v : s.attributes) {
    if (v.key == "aggregate.calls") a.calls = v.bits;
    if (v.key == "aggregate.mean_ns") mean_ns = std::bit_cast<double>(v.bits);
  }
  const double all_ns = std::min(mean_ns * static_cast<double>(a.calls), static_cast<double>(s.end_ns - s.begin_ns));
  a.end_ns = a.begin_ns + static_cast<std::int64_t>(all_ns);
}

void recording::on_log(const log_view& l) {
  const std::lock_guard lock(mutex_);
  if (lines_.size() >= max_spans_) {
    ++dropped_;
    return;
  }
  line out{
      l.site.level, l.site.module, {}, l.trace, l.span, std::string(l.span_name), all_attributes(l.attributes, l.scope),
      l.time_ns,    l.thread.name};
  append_message(out.message, l);
  lines_.push_back(std::move(out));
}

void recording::on_loss(const loss_view& l) {
  const std::lock_guard lock(mutex_);
  lost_ += l.count;
}

std::uint64_t recording::dropped() const {
  const std::lock_guard lock(mutex_);
  return dropped_;
}

std::uint64_t recording::lost() const {
  const std::lock_guard lock(mutex_);
  return lost_;
}

std::vector<trace_span> recording::take() {
  const std::lock_guard lock(mutex_);
  return std::exchange(spans_, {});
}

std::vector<recording::line> recording::take_lines() {
  const std::lock_guard lock(mutex_);
  return std::exchange(lines_, {});
}

namespace {

constexpr std::size_t no_parent = SIZE_MAX;

// Spans that are their own ancestors hang on nothing: the first to begin of each such circle becomes a root.
void cut_circles(const std::vector<trace_span>& spans, std::vector<std::size_t>& parent_of) {
  std::vector<std::size_t> seen_from(spans.size(), no_parent);
  for (std::size_t i = 0; i < spans.size(); ++i) {
    std::size_t at = i;
    while (at != no_parent && seen_from[at] == no_parent) {
      seen_from[at] = i;
      at = parent_of[at];
    }
    if (at == no_parent || seen_from[at] != i) continue;
    std::size_t first = at;
    for (std::size_t next = parent_of[at]; next != at; next = parent_of[next]) {
      if (std::pair(spans[next].begin_ns, next) < std::pair(spans[first].begin_ns, first)) first = next;
    }
    parent_of[first] = no_parent;
  }
}

}  // namespace

trace_tree::trace_tree(std::vector<trace_span> spans) : spans_(std::move(spans)), children_(spans_.size()) {
  std::unordered_map<std::uint64_t, std::size_t> by_id;
  for (std::size_t i = 0; i < spans_.size(); ++i) by_id.emplace(spans_[i].id.value, i);
  std::vector<std::size_t> parent_of(spans_.size(), no_parent);
  for (std::size_t i = 0; i < spans_.size(); ++i) {
    const auto parent = by_id.find(spans_[i].parent.value);
    if (spans_[i].parent && parent != by_id.end() && spans_[parent->second].trace == spans_[i].trace) {
      parent_of[i] = parent->second;
    }
  }
  cut_circles(spans_, parent_of);
  for (std::size_t i = 0; i < spans_.size(); ++i) {
    (parent_of[i] != no_parent ? children_[parent_of[i]] : roots_).push_back(i);
  }
  const auto by_begin = [&](std::size_t a, std::size_t b) {
    return std::pair(spans_[a].begin_ns, a) < std::pair(spans_[b].begin_ns, b);
  };
  std::sort(roots_.begin(), roots_.end(), by_begin);
  for (auto& c : children_) std::sort(c.begin(), c.end(), by_begin);
}

std::vector<std::size_t> trace_tree::subtree(std::size_t root) const {
  std::vector<std::size_t> out{root};
  for (std::size_t i = 0; i < out.size(); ++i) {
    out.insert(out.end(), children_[out[i]].begin(), children_[out[i]].end());
  }
  return out;
}

}  // namespace telltale

// A recorded trace as data: spans that own what they say, and the tree they form.
//
//   auto recording = std::make_shared<telltale::recording>();
//   telltale::add_sink(recording);
//   …run…
//   telltale::flush();
//   telltale::trace_tree tree(recording->take());
//
// The same model serves `./run`, the hub and the command line. Times are nanoseconds since 1970 (UTC).
#pragma once

#include <cstdint>
#include <mutex>
#include <string>
#include <telltale/core/attribute_value.hpp>
#include <telltale/core/sink.hpp>
#include <utility>
#include <vector>

namespace telltale {

struct trace_link {
  trace_id trace;
  span_id span;
  link_kind kind = link_kind::related;
};

struct trace_span {
  trace_id trace;
  span_id id;
  span_id parent;
  std::string name;
  std::string module;
  telltale::level level = telltale::level::info;
  std::int64_t begin_ns = 0;
  std::int64_t end_ns = 0;
  bool failed = false;
  bool open = false;  // it had not ended when it was recorded; end_ns is when that was
  // How many calls it stands for. More than one: they were counted, and it ends when they would have ended one after
  // the other, going by the sample that was timed.
  std::uint64_t calls = 1;
  std::vector<std::pair<std::string, attribute_value>> attributes;  // its own first, then inherited ones
  std::vector<trace_link> links;
  std::string thread;

  std::int64_t duration_ns() const noexcept { return end_ns - begin_ns; }
  // The value of an attribute, null where it has none of that key.
  TELLTALE_EXPORT const attribute_value* find(std::string_view key) const noexcept;
};

// A sink that keeps spans in memory, up to a limit (what exceeds it is counted as dropped). Thread-safe.
class TELLTALE_EXPORT recording final : public sink {
 public:
  explicit recording(std::size_t max_spans = 1'000'000) : max_spans_(max_spans) {}

  void on_span(const span_view& s) override;
  void on_aggregate(const span_view& s) override;
  void on_log(const log_view& l) override;
  void on_loss(const loss_view& l) override;
  std::uint64_t dropped() const override;

  // What was recorded so far, in the order in which it was drained; the recording starts anew.
  std::vector<trace_span> take();
  // Messages of log lines, filled in, with the attributes they carry and inherit. For tests and reports.
  struct line {
    telltale::level level;
    std::string module;
    std::string message;
    trace_id trace;
    span_id span;
    std::string span_name;
    std::vector<std::pair<std::string, attribute_value>> attributes;
    std::int64_t time_ns;
    std::string thread;
  };
  std::vector<line> take_lines();
  // Records that were lost on the way here, as loss records told it.
  std::uint64_t lost() const;

 private:
  mutable std::mutex mutex_;
  std::size_t max_spans_;
  std::vector<trace_span> spans_;
  std::vector<line> lines_;
  std::uint64_t dropped_ = 0;
  std::uint64_t lost_ = 0;
};

// Spans and who is whose child. A span whose parent is not among them is a root, and so is, of spans that are their own
// ancestors, the first to begin.
class TELLTALE_EXPORT trace_tree {
 public:
  explicit trace_tree(std::vector<trace_span> spans);

  const std::vector<trace_span>& spans() const noexcept { return spans_; }
  // Indices into spans(), in order of begin.
  const std::vector<std::size_t>& roots() const noexcept { return roots_; }
  const std::vector<std::size_t>& children(std::size_t i) const noexcept { return children_[i]; }
  // A span and everything below it, parents before children.
  std::vector<std::size_t> subtree(std::size_t root) const;

 private:
  std::vector<trace_span> spans_;
  std::vector<std::size_t> roots_;
  std::vector<std::vector<std::size_t>> children_;
};

}  // namespace telltale

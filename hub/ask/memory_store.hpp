// A store for tests that keeps rows in vectors. It narrows nothing down: a search gets every trace, so what comes out
// is what the evaluator says. Real stores have to give the same answers. Of SQL it understands what find.cpp and
// api.cpp ask.
#pragma once

#include <algorithm>
#include <map>
#include <mutex>
#include <string>

#include "hub/otlp/batch.hpp"
#include "hub/store/store.hpp"

namespace telltale::hub::test {

class memory_dialect final : public dialect {
 public:
  std::string_view name() const override { return "memory"; }
  std::string text(std::string_view value) const override { return "'" + std::string(value) + "'"; }
  std::string is_trace(trace_id id) const override {
    return "trace=" + std::to_string(id.high) + "," + std::to_string(id.low);
  }
  std::string attribute(std::string_view, from) const override { return "a"; }
  std::string attribute_number(std::string_view, from) const override { return "n"; }
  std::string attribute_is(std::string_view, from, const attribute_value&) const override { return "TRUE"; }
  std::string quantile(std::string_view e, double) const override { return std::string(e); }
  std::string matches(std::string_view, std::string_view) const override { return "TRUE"; }
};

class memory_store final : public store {
 public:
  explicit memory_store(std::vector<span_row> rows, std::vector<log_row> logs = {})
      : rows_(std::move(rows)), logs_(std::move(logs)) {}

  result<void> append(std::shared_ptr<const batch> b) override {
    appended_ += b->spans.size();
    return {};
  }
  std::uint64_t appended() const { return appended_; }
  bool overloaded() const override { return false; }
  result<std::vector<span_row>> trace(trace_id id, std::uint64_t) const override {
    return rows_where([&](const span_row& r) { return r.trace == id; });
  }
  result<std::vector<span_row>> spans(std::string_view where, std::string_view, std::uint64_t limit) const override {
    auto found = rows_where([&](const span_row& r) {
      return r.state != span_state::open &&
             (where.starts_with("job_id = '" + r.job_id + "' ") ||
              where == sql().is_trace(r.trace) + " AND span = " + std::to_string(r.id.value));
    });
    if (found.size() > limit) found.resize(limit);
    return found;
  }
  result<std::vector<log_row>> logs(std::string_view, std::string_view, std::uint64_t) const override { return logs_; }
  result<std::vector<link_row>> links_from(trace_id trace, std::optional<span_id> span) const override {
    return links([&](const link_row& l) { return l.from_trace == trace && (!span || l.from_span == *span); });
  }
  result<std::vector<link_row>> links_to(trace_id trace, std::optional<span_id> span) const override {
    return links([&](const link_row& l) { return l.to_trace == trace && (!span || l.to_span == *span); });
  }
  std::vector<span_row> open_spans() const override {
    return rows_where([](const span_row& r) { return r.state == span_state::open; });
  }
  result<table> query(std::string_view text, query_limits) const override {
    if (!text.starts_with("SELECT CAST(trace_hi")) return error{"this store knows no SQL"};
    std::map<std::pair<std::uint64_t, std::uint64_t>, std::int64_t> newest;
    for (const span_row& r : rows_) {
      const auto [at, _] = newest.try_emplace({r.trace.high, r.trace.low}, r.start_ns);
      at->second = std::max(at->second, r.start_ns);
    }
    table out;
    for (const auto& [id, at] : newest) out.rows.push_back({std::to_string(id.first), std::to_string(id.second), at});
    std::stable_sort(out.rows.begin(), out.rows.end(), [](const auto& a, const auto& b) {
      return std::get<std::int64_t>(a[2]) > std::get<std::int64_t>(b[2]);
    });
    return out;
  }
  const dialect& sql() const override { return dialect_; }
  void settle() override {}
  store_stats stats() const override {
    store_stats s;
    s.spans = rows_.size();
    return s;
  }
  std::shared_ptr<void> watch(listener f) override {
    for (const span_row& r : rows_) f(r);
    return std::make_shared<int>(0);
  }

 private:
  template <class F>
  std::vector<span_row> rows_where(F f) const {
    std::vector<span_row> out;
    std::copy_if(rows_.begin(), rows_.end(), std::back_inserter(out), f);
    std::stable_sort(out.begin(), out.end(),
                     [](const span_row& a, const span_row& b) { return a.start_ns < b.start_ns; });
    return out;
  }
  template <class F>
  std::vector<link_row> links(F f) const {
    std::vector<link_row> out;
    for (const span_row& r : rows_) {
      for (const span_link& l : r.links) {
        const link_row row{r.trace, r.id, l.trace, l.span, l.kind, r.start_ns};
        if (f(row)) out.push_back(row);
      }
    }
    return out;
  }

  std::vector<span_row> rows_;
  std::vector<log_row> logs_;
  std::uint64_t appended_ = 0;
  memory_dialect dialect_;
};

}  // namespace telltale::hub::test

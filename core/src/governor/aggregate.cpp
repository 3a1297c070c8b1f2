// Counts become aggregates: what was counted since the last time belongs to where the sample was taken.
#include "aggregate.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>

namespace telltale::detail {

namespace {
constexpr std::size_t max_open = 512;
}

void sample_statistics::add(double value) noexcept {
  least_ = size_ == 0 ? value : std::min(least_, value);
  greatest_ = size_ == 0 ? value : std::max(greatest_, value);
  ++size_;
  const double distance = value - mean_;
  mean_ += distance / static_cast<double>(size_);
  squares_ += distance * (value - mean_);
}

double sample_statistics::error() const noexcept {
  if (size_ < 2) return 0;
  // The 97.5 % quantile of Student's t by degrees of freedom; from 30 on by its expansion around the normal one.
  constexpr double quantiles[] = {12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228,
                                  2.201,  2.179, 2.160, 2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086,
                                  2.080,  2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045};
  const auto freedom = static_cast<double>(size_ - 1);
  const double t =
      size_ - 2 < std::size(quantiles) ? quantiles[size_ - 2] : 1.95996 + 2.3722 / freedom + 2.823 / freedom / freedom;
  return t * std::sqrt(squares_ / freedom / static_cast<double>(size_));
}

aggregates::told& aggregates::told_of(std::uint32_t sheet, std::uint32_t tally) {
  if (sheet >= told_.size()) told_.resize(sheet + 1);
  if (tally >= told_[sheet].size()) told_[sheet].resize(tally + 1);
  if (tally >= by_tally_.size()) by_tally_.resize(tally + 1);
  return told_[sheet][tally];
}

aggregate& aggregates::open(const site_info& site, std::uint32_t tally, std::uint32_t sheet, const thread_info& thread,
                            const told& t, std::int64_t begin_ns) {
  const auto found = std::find_if(open_.rbegin(), open_.rend(), [&](const aggregate& a) {
    return a.tally == tally && a.sheet == sheet && a.thread.number == thread.number && a.one_in == t.one_in &&
           a.place.trace == t.last.trace && a.place.parent == t.last.parent && a.place.scope == t.last.scope;
  });
  if (found != open_.rend()) return *found;
  if (open_.size() == max_open) {
    full_.push_back(std::move(open_.front()));
    open_.erase(open_.begin());
  }
  aggregate& a = open_.emplace_back();
  a.site = &site;
  a.tally = tally;
  a.sheet = sheet;
  a.thread = thread;
  a.place = t.last;
  a.one_in = t.one_in;
  a.begin_ns = begin_ns;
  a.end_ns = begin_ns;
  return a;
}

void aggregates::count(aggregate& a, told& t, std::uint64_t calls, std::int64_t until_ns) {
  if (calls > t.calls) {
    const std::uint64_t more = calls - t.calls;
    a.calls += more;
    total_ += more;
    by_tally_[a.tally] += more;
    t.calls = calls;
  }
  a.end_ns = std::max(a.end_ns, until_ns);
  t.until_ns = std::max(t.until_ns, until_ns);
}

void aggregates::add_sample(const site_info& site, std::uint32_t tally, const thread_info& thread, call_place place,
                            const sample& s) {
  told& t = told_of(s.sheet, tally);
  t.last = std::move(place);
  t.one_in = s.one_in;
  // What was counted before the first sample of all is told where that was.
  for (aggregate& a : open_) {
    if (a.tally != tally || a.sheet != s.sheet || a.one_in != 0) continue;
    a.place = t.last;
    a.one_in = t.one_in;
    a.thread = thread;
  }
  const std::int64_t since = t.until_ns != 0 ? std::min(t.until_ns, s.begin_ns) : s.begin_ns;
  aggregate& a = open(site, tally, s.sheet, thread, t, since);
  count(a, t, s.calls, s.end_ns);
  a.durations.add(static_cast<double>(s.end_ns - s.begin_ns));
}

void aggregates::add_count(const site_info& site, std::uint32_t tally, std::uint32_t sheet, const thread_info& thread,
                           std::uint64_t calls, std::int64_t now_ns) {
  told& t = told_of(sheet, tally);
  if (calls > t.calls)
    count(open(site, tally, sheet, thread, t, t.until_ns != 0 ? t.until_ns : now_ns), t, calls, now_ns);
  t.until_ns = now_ns;
}

std::vector<aggregate> aggregates::take(std::int64_t begun_before_ns) {
  std::vector<aggregate> taken = std::exchange(full_, {});
  std::vector<aggregate> others;
  for (aggregate& a : open_) (a.begin_ns < begun_before_ns ? taken : others).push_back(std::move(a));
  open_ = std::move(others);
  std::erase_if(taken, [](const aggregate& a) { return a.calls == 0 && a.durations.size() == 0; });
  return taken;
}

}  // namespace telltale::detail

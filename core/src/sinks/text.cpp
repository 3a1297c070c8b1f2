// Records as lines for people:
//   [2026-05-08T20:45:12.183Z INFO  runtime] prove{job_id="c1"}: loaded parameters from="disk"
#include "text.hpp"

#include "../format.hpp"

namespace telltale::detail {

namespace {

constexpr std::string_view grey = "\x1b[2m";
constexpr std::string_view plain = "\x1b[0m";

std::string_view colour_of(level l) noexcept {
  switch (l) {
    case level::error:
      return "\x1b[31m";
    case level::warn:
      return "\x1b[33m";
    case level::info:
      return "\x1b[32m";
    case level::debug:
      return "\x1b[34m";
    default:
      return "\x1b[35m";
  }
}

// Whether a message has the field {key}; `{{` and `}}` are braces.
bool names_field(std::string_view message, std::string_view key) noexcept {
  for (std::size_t i = 0; i + 1 < message.size(); ++i) {
    if (message[i] != '{') continue;
    const std::string_view rest = message.substr(i + 1);
    if (rest.front() == '{') {
      ++i;
    } else if (rest.starts_with(key) && rest.substr(key.size()).starts_with('}')) {
      return true;
    }
  }
  return false;
}

class text_sink final : public sink {
 public:
  text_sink(std::unique_ptr<output> out, text_options o) : out_(std::move(out)), o_(o) {}

  void on_span(const span_view& s) override {
    if (!o_.spans) return;
    begin(s.end_ns, s.site.level, s.site.module);
    name(s);
    lines_ += s.failed ? " failed after " : " took ";
    duration(s.end_ns - s.begin_ns);
    if (s.incomplete) lines_ += " (incomplete: parts of it were dropped)";
    ids(s.trace, s.span);
    end();
  }

  void on_open_span(const span_view& s) override { unfinished(s, " is still open after "); }
  void on_aggregate(const span_view& s) override { unfinished(s, " aggregated over "); }
  void on_lost_span(const span_view& s) override { unfinished(s, " was lost, when its process died, after "); }

  void on_log(const log_view& l) override {
    begin(l.time_ns, l.site.level, l.site.module);
    prefix(l.scope, ": ");
    message_.clear();
    append_message(message_, l);
    append_safe_text(lines_, message_);
    std::string rest;
    std::swap(rest, lines_);
    list(l.attributes, l.site.name, " ");
    std::swap(rest, lines_);
    if (!rest.empty()) {
      lines_ += ' ';
      lines_ += rest;
    }
    ids(l.trace, l.span);
    end();
  }

  void on_loss(const loss_view& l) override { loss(l.since_ns, to_string(l.reason), l.count, l.thread); }

  void on_batch_end() override {
    submit();
    if (const std::uint64_t untold = out_->take_untold_drops(); untold != 0) {
      loss(last_ns_, "sink_full", untold, nullptr);
      submit();
    }
  }
  bool flush(std::chrono::steady_clock::time_point deadline) override {
    on_batch_end();
    return out_->flush(deadline);
  }
  std::shared_ptr<sink> for_child() override {
    return make_text_sink(std::make_unique<output>(out_->target()->for_child(), out_->policy(), out_->max_pending()),
                          o_);
  }
  delivery delivered() const override { return out_->delivered(); }
  std::uint64_t dropped() const override { return out_->dropped(); }
  std::uint64_t errors() const override { return out_->errors(); }

 private:
  void unfinished(const span_view& s, std::string_view how) {
    if (!o_.spans) return;
    begin(s.end_ns, s.site.level, s.site.module);
    name(s);
    lines_ += how;
    duration(s.end_ns - s.begin_ns);
    ids(s.trace, s.span);
    end();
  }

  void begin(std::int64_t ns, level l, std::string_view module) {
    last_ns_ = ns;
    if (o_.colour) lines_ += grey;
    lines_ += '[';
    scratch_.clear();
    scratch_.reserve(32);
    time_.put(scratch_, ns);
    lines_ += scratch_.view();
    lines_ += ' ';
    if (o_.colour) {
      lines_ += plain;
      lines_ += colour_of(l);
    }
    const std::string_view name = to_string(l);
    lines_ += name;
    if (o_.colour) {
      lines_ += plain;
      lines_ += grey;
    }
    lines_.append(5 - name.size() + 1, ' ');
    append_safe_text(lines_, module);
    lines_ += ']';
    if (o_.colour) lines_ += plain;
    lines_ += ' ';
  }

  // `outer{a="x"}:inner{b=1}: name{c=2}`. A scope's own span is the last link of its chain.
  void name(const span_view& s) {
    const bool is_own = s.scope != nullptr && s.site.kind == site_kind::scope && s.scope->site->id == s.site.id;
    prefix(s.scope, is_own ? "" : ": ");
    if (!is_own) append_safe_text(lines_, s.site.name);
    if (s.attributes.empty()) return;
    lines_ += '{';
    list(s.attributes, {}, ", ");
    lines_ += '}';
  }

  void prefix(const scope_info* s, std::string_view after) {
    if (s == nullptr) return;
    chain(*s);
    lines_ += after;
  }

  void chain(const scope_info& s) {
    if (s.parent != nullptr) {
      chain(*s.parent);
      lines_ += ':';
    }
    append_safe_text(lines_, s.site->name);
    if (s.attributes.empty()) return;
    lines_ += '{';
    list(s.attributes, {}, ", ");
    lines_ += '}';
  }

  // key=value pairs; without those whose value the message already shows.
  void list(std::span<const attribute_view> attributes, std::string_view message, std::string_view separator) {
    bool first = true;
    for (const attribute_view& a : attributes) {
      if (names_field(message, a.key)) continue;
      if (!first) lines_ += separator;
      first = false;
      append_safe_text(lines_, a.key);
      lines_ += '=';
      if (a.type == attribute_type::string) {
        append_quoted(lines_, a.text);
        if (a.cut) lines_ += "…";
      } else {
        append_value(lines_, a);
      }
    }
  }

  void duration(std::int64_t ns) {
    buffer& w = scratch_;
    w.clear();
    w.reserve(40);
    // Microseconds are precise enough for a reader; the JSON lines have every nanosecond.
    if (ns < 1'000'000) {
      w.number(ns / 1000);
      w.put('.');
      w.number(ns % 1000 / 100);
      w.put(" µs");
    } else {
      put_milliseconds(w, ns / 1000 * 1000);
      w.put(" ms");
    }
    lines_ += w.view();
  }

  void ids(trace_id trace, span_id span) {
    if (!o_.ids || !trace) return;
    buffer& w = scratch_;
    w.clear();
    w.reserve(100);
    w.put(" trace_id=");
    put_hex(w, trace.high);
    put_hex(w, trace.low);
    if (span) {
      w.put(" span_id=");
      put_hex(w, span.value);
    }
    lines_ += w.view();
  }

  void loss(std::int64_t since_ns, std::string_view reason, std::uint64_t count, const thread_info* t) {
    begin(since_ns != 0 ? since_ns : last_ns_, level::warn, "telltale");
    lines_ += std::to_string(count) + " records were dropped here: " + std::string(reason);
    if (t != nullptr) {
      lines_ += " thread=";
      append_quoted(lines_, t->name);
    }
    lines_ += '\n';
  }

  void end() {
    lines_ += '\n';
    ++records_;
    if (lines_.size() >= 64 * 1024) submit();
  }
  void submit() {
    scratch_.clear();
    scratch_.append(lines_);
    lines_.clear();
    out_->submit(scratch_, records_);
    records_ = 0;
  }

  std::unique_ptr<output> out_;
  text_options o_;
  std::string lines_;
  buffer scratch_;
  std::string message_;
  std::uint64_t records_ = 0;
  std::int64_t last_ns_ = 0;
  time_writer time_{3};
};

}  // namespace

std::shared_ptr<sink> make_text_sink(std::unique_ptr<output> out, text_options o) {
  return std::make_shared<text_sink>(std::move(out), o);
}

}  // namespace telltale::detail

// "text:stderr; json:trace.jsonl?overflow=block": which sinks there are, and what may be said of each.
#include "specification.hpp"

#include <unistd.h>

#include <cstdlib>
#include <functional>

#include "../descriptors.hpp"
#include "../otlp/file.hpp"
#include "../units.hpp"
#include "elsewhere.hpp"
#include "json.hpp"
#include "output.hpp"
#include "text.hpp"
#include "timeline.hpp"

namespace telltale {

namespace detail {

namespace {

constexpr std::size_t default_pending = std::size_t{8} << 20;

std::string_view trim(std::string_view s) {
  while (!s.empty() && s.front() == ' ') s.remove_prefix(1);
  while (!s.empty() && s.back() == ' ') s.remove_suffix(1);
  return s;
}

result<sink_words> parse(std::string_view one) {
  sink_words p;
  p.whole = std::string(one);
  const std::size_t question = one.find('?');
  const std::string_view before = one.substr(0, question);
  const std::size_t colon = before.find(':');
  p.kind = std::string(trim(before.substr(0, colon)));
  if (colon != std::string_view::npos) p.target = std::string(trim(before.substr(colon + 1)));
  if (question == std::string_view::npos) return p;
  // '&' and ',' both separate options: one is a shell's special character, the other stands in the documentation.
  std::string_view rest = one.substr(question + 1);
  while (!rest.empty()) {
    const std::size_t next = rest.find_first_of(",&");
    const std::string_view option = trim(rest.substr(0, next));
    rest = next == std::string_view::npos ? std::string_view{} : rest.substr(next + 1);
    const std::size_t equals = option.find('=');
    if (equals == std::string_view::npos) return p.bad("option \"" + std::string(option) + "\" has no value");
    p.options[std::string(trim(option.substr(0, equals)))] = std::string(trim(option.substr(equals + 1)));
  }
  return p;
}

}  // namespace

error sink_words::bad(const std::string& why) const {
  return error{"cannot use sink \"" + whole + "\": " + why};
}

std::optional<std::string> sink_words::take(std::string_view name) {
  const auto found = options.find(name);
  if (found == options.end()) return std::nullopt;
  std::string value = found->second;
  options.erase(found);
  return value;
}

result<std::size_t> sink_words::take_word(std::string_view name, std::initializer_list<std::string_view> words) {
  const auto value = take(name);
  if (!value) return std::size_t{0};
  std::string list;
  std::size_t i = 0;
  for (const std::string_view w : words) {
    if (w == *value) return i;
    list += (i++ == 0 ? "" : ", ") + std::string(w);
  }
  return bad("option " + std::string(name) + " is one of " + list + ", not \"" + *value + "\"");
}

result<std::uint64_t> sink_words::take_size(std::string_view name, std::uint64_t otherwise) {
  const auto text = take(name);
  if (!text) return otherwise;
  const auto size = parse_size(*text);
  if (!size) return bad("option " + std::string(name) + ": " + size.error().message);
  return *size;
}

result<std::chrono::milliseconds> sink_words::take_duration(std::string_view name,
                                                            std::chrono::milliseconds otherwise) {
  const auto text = take(name);
  if (!text) return otherwise;
  const auto duration = parse_duration(*text);
  if (!duration) return bad("option " + std::string(name) + ": " + duration.error().message);
  return *duration;
}

result<queue_options> sink_words::take_queue() {
  queue_options q;
  const auto policy = take_word("overflow", {"drop", "block"});
  if (!policy) return policy.error();
  q.overflow = *policy == 1 ? overflow_policy::block : overflow_policy::drop;
  const auto pending = take_size("pending", default_pending);
  if (!pending) return pending.error();
  q.pending = *pending;
  return q;
}

result<void> sink_words::nothing_left(std::string_view known) const {
  if (options.empty()) return {};
  return bad("it has no option \"" + options.begin()->first + "\"; it has " + std::string(known));
}

}  // namespace detail

namespace {

using detail::output;
using parsed = detail::sink_words;

result<std::shared_ptr<detail::line_target>> open_target(
    const parsed& p, result<std::shared_ptr<detail::line_target>> (*file)(const std::string&) = detail::file_target) {
  if (p.target == "stderr") return detail::descriptor_target(2, "stderr");
  if (p.target == "stdout") return detail::descriptor_target(1, "stdout");
  if (p.target.empty()) return p.bad("it needs a target: stderr, stdout or the path of a file");
  return file(p.target);
}

bool is_terminal(const std::string& target) {
  const int fd = target == "stderr" ? 2 : target == "stdout" ? 1 : -1;
  const char* term = std::getenv("TERM");  // NOLINT(concurrency-mt-unsafe)
  return fd != -1 && ::isatty(detail::real_descriptor(fd)) == 1 &&
         std::getenv("NO_COLOR") == nullptr &&  // NOLINT(concurrency-mt-unsafe)
         term != nullptr && std::string_view{term} != "dumb";
}

result<detail::text_options> take_text_options(parsed& p) {
  detail::text_options o;
  const auto colour = p.take_word("color", {"auto", "always", "never"});
  if (!colour) return colour.error();
  const auto ids = p.take_word("ids", {"off", "on"});
  if (!ids) return ids.error();
  const auto spans = p.take_word("spans", {"on", "off"});
  if (!spans) return spans.error();
  o.colour = *colour == 1 || (*colour == 0 && is_terminal(p.target));
  o.ids = *ids == 1;
  o.spans = *spans == 0;
  return o;
}

result<std::shared_ptr<sink>> make_text(parsed p) {
  const auto o = take_text_options(p);
  if (!o) return o.error();
  const auto q = p.take_queue();
  if (!q) return q.error();
  if (auto left = p.nothing_left("color, ids, spans, overflow, pending"); !left) return left.error();
  auto target = open_target(p);
  if (!target) return target.error();
  return detail::make_text_sink(std::make_unique<output>(*target, q->overflow, q->pending), *o);
}

result<std::shared_ptr<sink>> make_json(parsed p) {
  const auto q = p.take_queue();
  if (!q) return q.error();
  if (auto left = p.nothing_left("overflow, pending"); !left) return left.error();
  auto target = open_target(p);
  if (!target) return target.error();
  return detail::make_json_sink(std::make_unique<output>(*target, q->overflow, q->pending));
}

result<detail::rolling_options> take_rolling(parsed& p) {
  detail::rolling_options o;
  const auto size = p.take_size("max_size", o.max_bytes);
  if (!size) return size.error();
  if (*size == 0) return p.bad("option max_size must be above 0");
  o.max_bytes = *size;
  const bool by_age = p.options.contains("every");
  const auto age = p.take_duration("every", o.max_age);
  if (!age) return age.error();
  if (by_age && *age < std::chrono::seconds(1)) return p.bad("option every must be at least 1s");
  o.max_age = std::chrono::duration_cast<std::chrono::seconds>(*age);
  if (const auto text = p.take("keep")) {
    const auto keep = detail::parse_size(*text);
    if (!keep || *keep > 10000) return p.bad("option keep is a whole number up to 10000, not \"" + *text + "\"");
    o.keep = static_cast<unsigned>(*keep);
  }
  return o;
}

result<std::shared_ptr<sink>> make_rolling(parsed p) {
  const auto format = p.take_word("format", {"json", "text"});
  if (!format) return format.error();
  const auto o = take_rolling(p);
  if (!o) return o.error();
  const auto q = p.take_queue();
  if (!q) return q.error();
  result<detail::text_options> text = detail::text_options{};
  if (*format == 1) text = take_text_options(p);
  if (!text) return text.error();
  if (auto left = p.nothing_left("format, max_size, every, keep, overflow, pending"); !left) return left.error();
  if (p.target.empty()) return p.bad("it needs the path of a file");
  auto target = detail::rolling_target(p.target, *o);
  if (!target) return target.error();
  auto out = std::make_unique<output>(*target, q->overflow, q->pending);
  return *format == 0 ? detail::make_json_sink(std::move(out)) : detail::make_text_sink(std::move(out), *text);
}

// One record of OTLP/JSON a line, as the Collector's file exporter writes them and its file receiver reads them.
result<std::shared_ptr<sink>> make_otlp_file(parsed p) {
  const auto q = p.take_queue();
  if (!q) return q.error();
  if (auto left = p.nothing_left("overflow, pending"); !left) return left.error();
  const auto resource = otlp::resource_from_environment();
  if (!resource) return p.bad(resource.error().message);
  auto target = open_target(p);
  if (!target) return target.error();
  return otlp::make_file_sink(std::make_unique<output>(*target, q->overflow, q->pending), *resource);
}

// A file of its own for each run: two timelines in one file mean nothing.
result<std::shared_ptr<sink>> make_timeline(parsed p, detail::timeline format) {
  const auto q = p.take_queue();
  if (!q) return q.error();
  if (auto left = p.nothing_left("overflow, pending"); !left) return left.error();
  auto target = open_target(p, detail::fresh_file_target);
  if (!target) return target.error();
  if (auto begun = detail::begin_timeline(**target, format); !begun) return p.bad(begun.error().message);
  return detail::make_timeline_sink(std::make_unique<output>(*target, q->overflow, q->pending), format);
}
result<std::shared_ptr<sink>> make_perfetto(parsed p) {
  return make_timeline(std::move(p), detail::timeline::perfetto);
}
result<std::shared_ptr<sink>> make_chrome(parsed p) {
  return make_timeline(std::move(p), detail::timeline::chrome);
}

using maker = result<std::shared_ptr<sink>> (*)(parsed);
constexpr std::pair<std::string_view, maker> makers[] = {{"text", make_text},
                                                         {"json", make_json},
                                                         {"rolling", make_rolling},
                                                         {"otlp_file", make_otlp_file},
                                                         {"perfetto", make_perfetto},
                                                         {"chrome", make_chrome},
                                                         {"otlp", detail::make_otlp_sink}};

result<std::shared_ptr<sink>> make_sink(const parsed& p) {
  std::string kinds;
  for (const auto& [kind, make] : makers) {
    if (p.kind == kind) return make(p);
    kinds += std::string(kind) + ", ";
  }
  kinds.resize(kinds.size() - 2);
  return p.bad("there is no sink of kind \"" + p.kind + "\". Kinds are " + kinds +
               " and none, for example \"text:stderr; json:trace.jsonl\"");
}

}  // namespace

result<std::vector<std::shared_ptr<sink>>> make_sinks(std::string_view specification) {
  std::vector<std::shared_ptr<sink>> sinks;
  while (!specification.empty()) {
    const std::size_t next = specification.find(';');
    const std::string_view one = detail::trim(specification.substr(0, next));
    specification = next == std::string_view::npos ? std::string_view{} : specification.substr(next + 1);
    if (one.empty() || one == "none") continue;
    auto p = detail::parse(one);
    if (!p) return p.error();
    result<std::shared_ptr<sink>> made = make_sink(*p);
    if (!made) return made.error();
    if (*made != nullptr) sinks.push_back(*made);
  }
  return sinks;
}

}  // namespace telltale

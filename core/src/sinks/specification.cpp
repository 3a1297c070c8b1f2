// "text:stderr; json:trace.jsonl?overflow=block": which sinks there are, and what may be said of each.
#include <unistd.h>

#include <cstdlib>
#include <functional>
#include <map>

#include "../descriptors.hpp"
#include "../units.hpp"
#include "json.hpp"
#include "output.hpp"
#include "text.hpp"

namespace telltale {

namespace {

using detail::output;
using options_map = std::map<std::string, std::string, std::less<>>;

constexpr std::size_t default_pending = std::size_t{8} << 20;

std::string_view trim(std::string_view s) {
  while (!s.empty() && s.front() == ' ') s.remove_prefix(1);
  while (!s.empty() && s.back() == ' ') s.remove_suffix(1);
  return s;
}

struct parsed {
  std::string whole;
  std::string kind;
  std::string target;
  options_map options;
};

error bad(const parsed& p, const std::string& why) {
  return error{"cannot use sink \"" + p.whole + "\": " + why};
}

result<parsed> parse(std::string_view one) {
  parsed p;
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
    if (equals == std::string_view::npos) return bad(p, "option \"" + std::string(option) + "\" has no value");
    p.options[std::string(trim(option.substr(0, equals)))] = std::string(trim(option.substr(equals + 1)));
  }
  return p;
}

// Takes an option out of the list, so that what is left over is unknown.
std::optional<std::string> take(parsed& p, std::string_view name) {
  const auto found = p.options.find(name);
  if (found == p.options.end()) return std::nullopt;
  std::string value = found->second;
  p.options.erase(found);
  return value;
}

// One of a few words; the first is the default.
result<std::size_t> take_word(parsed& p, std::string_view name, std::initializer_list<std::string_view> words) {
  const auto value = take(p, name);
  if (!value) return std::size_t{0};
  std::string list;
  std::size_t i = 0;
  for (const std::string_view w : words) {
    if (w == *value) return i;
    list += (i++ == 0 ? "" : ", ") + std::string(w);
  }
  return bad(p, "option " + std::string(name) + " is one of " + list + ", not \"" + *value + "\"");
}

struct queue_options {
  overflow_policy overflow = overflow_policy::drop;
  std::size_t pending = default_pending;
};

result<queue_options> take_queue(parsed& p) {
  queue_options q;
  const auto policy = take_word(p, "overflow", {"drop", "block"});
  if (!policy) return policy.error();
  q.overflow = *policy == 1 ? overflow_policy::block : overflow_policy::drop;
  if (const auto text = take(p, "pending")) {
    const auto size = detail::parse_size(*text);
    if (!size) return bad(p, "option pending: " + size.error().message);
    q.pending = *size;
  }
  return q;
}

result<void> nothing_left(const parsed& p, std::string_view known) {
  if (p.options.empty()) return {};
  return bad(p, "it has no option \"" + p.options.begin()->first + "\"; it has " + std::string(known));
}

result<std::shared_ptr<detail::line_target>> open_target(const parsed& p) {
  if (p.target == "stderr") return detail::descriptor_target(2, "stderr");
  if (p.target == "stdout") return detail::descriptor_target(1, "stdout");
  if (p.target.empty()) return bad(p, "it needs a target: stderr, stdout or the path of a file");
  return detail::file_target(p.target);
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
  const auto colour = take_word(p, "color", {"auto", "always", "never"});
  if (!colour) return colour.error();
  const auto ids = take_word(p, "ids", {"off", "on"});
  if (!ids) return ids.error();
  const auto spans = take_word(p, "spans", {"on", "off"});
  if (!spans) return spans.error();
  o.colour = *colour == 1 || (*colour == 0 && is_terminal(p.target));
  o.ids = *ids == 1;
  o.spans = *spans == 0;
  return o;
}

result<std::shared_ptr<sink>> make_text(parsed p) {
  const auto o = take_text_options(p);
  if (!o) return o.error();
  const auto q = take_queue(p);
  if (!q) return q.error();
  if (auto left = nothing_left(p, "color, ids, spans, overflow, pending"); !left) return left.error();
  auto target = open_target(p);
  if (!target) return target.error();
  return detail::make_text_sink(std::make_unique<output>(*target, q->overflow, q->pending), *o);
}

result<std::shared_ptr<sink>> make_json(parsed p) {
  const auto q = take_queue(p);
  if (!q) return q.error();
  if (auto left = nothing_left(p, "overflow, pending"); !left) return left.error();
  auto target = open_target(p);
  if (!target) return target.error();
  return detail::make_json_sink(std::make_unique<output>(*target, q->overflow, q->pending));
}

result<detail::rolling_options> take_rolling(parsed& p) {
  detail::rolling_options o;
  if (const auto text = take(p, "max_size")) {
    const auto size = detail::parse_size(*text);
    if (!size) return bad(p, "option max_size: " + size.error().message);
    if (*size == 0) return bad(p, "option max_size must be above 0");
    o.max_bytes = *size;
  }
  if (const auto text = take(p, "every")) {
    const auto age = detail::parse_duration(*text);
    if (!age) return bad(p, "option every: " + age.error().message);
    if (*age < std::chrono::seconds(1)) return bad(p, "option every must be at least 1s");
    o.max_age = std::chrono::duration_cast<std::chrono::seconds>(*age);
  }
  if (const auto text = take(p, "keep")) {
    const auto keep = detail::parse_size(*text);
    if (!keep || *keep > 10000) return bad(p, "option keep is a whole number up to 10000, not \"" + *text + "\"");
    o.keep = static_cast<unsigned>(*keep);
  }
  return o;
}

result<std::shared_ptr<sink>> make_rolling(parsed p) {
  const auto format = take_word(p, "format", {"json", "text"});
  if (!format) return format.error();
  const auto o = take_rolling(p);
  if (!o) return o.error();
  const auto q = take_queue(p);
  if (!q) return q.error();
  result<detail::text_options> text = detail::text_options{};
  if (*format == 1) text = take_text_options(p);
  if (!text) return text.error();
  if (auto left = nothing_left(p, "format, max_size, every, keep, overflow, pending"); !left) return left.error();
  if (p.target.empty()) return bad(p, "it needs the path of a file");
  auto target = detail::rolling_target(p.target, *o);
  if (!target) return target.error();
  auto out = std::make_unique<output>(*target, q->overflow, q->pending);
  return *format == 0 ? detail::make_json_sink(std::move(out)) : detail::make_text_sink(std::move(out), *text);
}

}  // namespace

result<std::vector<std::shared_ptr<sink>>> make_sinks(std::string_view specification) {
  std::vector<std::shared_ptr<sink>> sinks;
  while (!specification.empty()) {
    const std::size_t next = specification.find(';');
    const std::string_view one = trim(specification.substr(0, next));
    specification = next == std::string_view::npos ? std::string_view{} : specification.substr(next + 1);
    if (one.empty() || one == "none") continue;
    auto p = parse(one);
    if (!p) return p.error();
    result<std::shared_ptr<sink>> made = p->kind == "text"   ? make_text(*p)
                                         : p->kind == "json" ? make_json(*p)
                                         : p->kind == "rolling"
                                             ? make_rolling(*p)
                                             : bad(*p, "there is no sink of kind \"" + p->kind +
                                                           "\". Kinds are text, json, rolling and none, for example "
                                                           "\"text:stderr; json:trace.jsonl\"");
    if (!made) return made.error();
    sinks.push_back(*made);
  }
  return sinks;
}

}  // namespace telltale

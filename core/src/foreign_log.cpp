// Lines whose module is known only at run time: a call site per module and level, made once, and the C interface's way
// of writing attributes.
#include "foreign_log.hpp"

#include <telltale/core/telltale.h>

#include <array>
#include <atomic>
#include <span>
#include <string>

namespace telltale {

namespace detail {

struct source_sites {
  std::string module;
  bool is_overflow;                  // stands for every module beyond the limit
  std::array<telltale_site*, 6> of;  // by level
  const source_sites* next;
};

}  // namespace detail

namespace {

using detail::source_sites;

constexpr std::uint32_t max_sources = 1024;  // five call sites each, out of the catalogue's 16,384

// A list without a lock, so that a fork cannot leave one held: two threads that meet the same name at once may both
// make it, which costs five call sites.
constinit std::atomic<const source_sites*> first{nullptr};
constinit std::atomic<std::uint32_t> sources{0};

const source_sites* find(std::string_view module) noexcept {
  for (const source_sites* s = first.load(std::memory_order_acquire); s != nullptr; s = s->next) {
    if (s->module == module) return s;
  }
  return nullptr;
}

telltale_str c_str(std::string_view s) noexcept {
  return {s.data(), s.size()};
}

const source_sites* make(std::string_view module, bool is_overflow) {
  auto* fresh = new source_sites{std::string(module), is_overflow, {}, nullptr};  // for ever, like every call site
  for (std::size_t l = 0; l < fresh->of.size(); ++l) {
    telltale_site_description d{};
    d.kind = TELLTALE_LOG_SITE;
    d.level = static_cast<std::int32_t>(l);
    d.name = c_str("{message}");
    d.module = c_str(fresh->module);
    fresh->of[l] = telltale_site_new(&d);
  }
  fresh->next = first.load(std::memory_order_relaxed);
  while (!first.compare_exchange_weak(fresh->next, fresh, std::memory_order_release, std::memory_order_relaxed)) {
  }
  return fresh;
}

const source_sites* sites_of(std::string_view module) {
  constexpr std::string_view overflow = "foreign";
  if (const source_sites* known = find(module)) return known;
  if (sources.fetch_add(1, std::memory_order_relaxed) < max_sources) return make(module, false);
  sources.store(max_sources, std::memory_order_relaxed);
  const source_sites* rest = find(overflow);
  return rest != nullptr ? rest : make(overflow, true);
}

telltale_attribute text_attribute(std::string_view key, std::string_view value) noexcept {
  telltale_attribute a{};
  a.key = c_str(key);
  a.type = TELLTALE_STRING;
  a.value.string = c_str(value);
  return a;
}
telltale_attribute number_attribute(std::string_view key, std::uint64_t value) noexcept {
  telltale_attribute a{};
  a.key = c_str(key);
  a.type = TELLTALE_UINT64;
  a.value.uint64 = value;
  return a;
}
telltale_attribute flag_attribute(std::string_view key) noexcept {
  telltale_attribute a{};
  a.key = c_str(key);
  a.type = TELLTALE_BOOL;
  a.value.boolean = 1;
  return a;
}

// The attributes of one line, gathered without allocating.
class attributes {
 public:
  void add(const telltale_attribute& a) noexcept { list_[count_++] = a; }
  void text(std::string_view key, std::string_view value) noexcept {
    if (!value.empty()) add(text_attribute(key, value));
  }
  void number(std::string_view key, std::uint64_t value) noexcept {
    if (value != 0) add(number_attribute(key, value));
  }
  void write(telltale_site* site) const noexcept { telltale_log(site, list_.data(), count_); }

 private:
  std::array<telltale_attribute, 8> list_{};
  std::size_t count_ = 0;
};

}  // namespace

log_source::log_source(std::string_view module) : sites_(sites_of(module)) {}

bool log_source::enabled(level l) const noexcept {
  return l != level::off && telltale_site_enabled(sites_->of[static_cast<std::size_t>(l) % sites_->of.size()]) != 0;
}

void log_source::write(level l, std::string_view message, const foreign_line& about) const noexcept {
  if (!enabled(l)) return;
  if (message.ends_with('\n')) message.remove_suffix(1);
  attributes a;
  a.add(text_attribute("message", message));
  a.text("log.logger", about.logger);
  a.text("log.iostream", about.stream);
  a.text("code.file.path", about.file);
  a.number("code.line.number", about.line);
  if (about.continued) a.add(flag_attribute("log.continued"));
  if (about.shared) a.add(flag_attribute("log.shared"));
  a.write(sites_->of[static_cast<std::size_t>(l)]);
}

void log_source::write_under(const context& c, level l, std::string_view message,
                             const foreign_line& about) const noexcept {
  const with_context guard(c);
  write(l, message, about);
}

void detail::record_diagnostic(std::string_view module, level l, const diagnostic& d) noexcept {
  telltale_site* site = sites_of(module)->of[static_cast<std::size_t>(l)];
  if (telltale_site_enabled(site) == 0) return;
  attributes a;
  a.add(text_attribute("message", d.message()));
  a.text("diagnostic.code", d.code());
  if (d.topic() != topic::input) a.text("diagnostic.topic", to_string(d.topic()));
  if (const label* where = d.main_label()) {
    const source_position at = where->where.file->position(where->where.begin);
    a.text("code.file.path", where->where.file->name());
    a.number("code.line.number", at.line);
    a.number("code.column.number", at.column);
  }
  a.write(site);
}

}  // namespace telltale

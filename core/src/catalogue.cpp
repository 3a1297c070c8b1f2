// Registers call sites and keys, and switches sites on and off.
#include "catalogue.hpp"

#include <dlfcn.h>
#include <link.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <string>
#include <telltale/core/span.hpp>
#include <vector>

#include "engine.hpp"

namespace telltale::detail {

struct site_access {
  // A site that is counted stays so until the governor lets go of it, or it is switched off.
  static void settle(site& s, bool on) noexcept {
    if (on && s.how() == site::counted) return;
    s.state_.store(on ? site::enabled : site::off, std::memory_order_release);
  }
  static void count(site& s, std::uint8_t tally) noexcept {
    s.tally_ = tally;
    s.state_.store(site::counted, std::memory_order_release);
  }
  static void record(site& s) noexcept { s.state_.store(site::enabled, std::memory_order_release); }
  static bool settled(const site& s) noexcept { return s.how() != site::unknown; }
  static bool is_on(const site& s) noexcept { return s.how() >= site::enabled; }
  static void set_id(site& s, std::uint32_t id) noexcept { s.id_ = id; }
  static site*& next(site& s) noexcept { return s.next_; }
};

namespace {

constinit site* first_site = nullptr;

struct filters {
  filter log;
  filter trace;
};

// Never destroyed: sites may be hit while statics are.
filters& in_force() {
  static filters& f = *new filters{};
  return f;
}

// Numbers of keys. A key is looked up once per type of key and process, so a map under the lock will do.
std::map<std::string, std::uint32_t, std::less<>>& known_keys() {
  static auto& k = *new std::map<std::string, std::uint32_t, std::less<>>{};
  return k;
}

bool is_on(const site_description& d) noexcept {
  if (d.kind == site_kind::event) return true;  // its span decides
  const filter& f = d.kind == site_kind::log ? in_force().log : in_force().trace;
  return d.level <= f.level_for(d.module);
}

mapped_text add_text(memory_map& m, std::string_view s) noexcept {
  const std::uint32_t used = m.header->text_used.load(std::memory_order_relaxed);
  const auto size = static_cast<std::uint32_t>(std::min<std::size_t>(s.size(), max_string_bytes));
  if (used + size > catalogue_text_bytes) return {0, 0};
  std::memcpy(m.text + used, s.data(), size);
  m.header->text_used.store(used + size, std::memory_order_release);
  return {used, size};
}

std::uint32_t key_locked(memory_map& m, std::string_view key) {
  auto& keys = known_keys();
  if (const auto found = keys.find(key); found != keys.end()) return found->second;
  const std::uint32_t number = m.header->keys.load(std::memory_order_relaxed);
  if (number == max_keys) return 0;
  m.keys[number] = add_text(m, key);
  m.header->keys.store(number + 1, std::memory_order_release);
  keys.emplace(key, number);
  return number;
}

// Sites of a library that is unloaded would leave dangling descriptions: its first hit keeps it loaded.
void pin_library_of(const void* address) noexcept {
  Dl_info info;
  link_map* object = nullptr;
  if (::dladdr1(address, &info, reinterpret_cast<void**>(&object), RTLD_DL_LINKMAP) == 0) return;
  if (object == nullptr || object->l_name == nullptr || object->l_name[0] == '\0') return;  // the program itself
  ::dlopen(object->l_name, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);
}

// One look-up per page of call sites, not per site. The loader's lock is taken inside, and a constructor that the
// loader is running may record: so registry_mutex must not be held meanwhile.
void pin_once(const void* address) noexcept {
  static auto& pinned = *new std::vector<std::uintptr_t>;
  const std::uintptr_t page = reinterpret_cast<std::uintptr_t>(address) & ~std::uintptr_t{4095};
  {
    const std::lock_guard lock(registry_mutex);
    if (std::find(pinned.begin(), pinned.end(), page) != pinned.end()) return;
  }
  pin_library_of(address);
  const std::lock_guard lock(registry_mutex);
  pinned.push_back(page);
}

std::uint32_t add_site(memory_map& m, const site_description& d, const attribute_description* attributes,
                       std::uint32_t count) {
  memory_header& h = *m.header;
  const std::uint32_t id = h.sites.load(std::memory_order_relaxed);
  const std::uint32_t first = h.attributes.load(std::memory_order_relaxed);
  if (id == max_sites || first + count > max_site_attributes) return 0;
  for (std::uint32_t i = 0; i < count; ++i) {
    m.attributes[first + i] = {key_locked(m, attributes[i].key), attributes[i].type};
  }
  h.attributes.store(first + count, std::memory_order_release);
  m.sites[id] = {add_text(m, d.name),
                 add_text(m, d.module),
                 add_text(m, d.file),
                 d.line,
                 d.level,
                 d.kind,
                 static_cast<std::uint16_t>(count),
                 first};
  h.sites.store(id + 1, std::memory_order_release);
  return id;
}

}  // namespace

bool register_site(site& s, const attribute_description* attributes, std::uint32_t count) noexcept {
  if (site_access::settled(s)) return site_access::is_on(s);
  engine::ensure_configured();
  pin_once(&s);
  return register_own_site(s, attributes, count);
}

bool register_own_site(site& s, const attribute_description* attributes, std::uint32_t count) noexcept {
  const std::lock_guard lock(registry_mutex);
  if (site_access::settled(s)) return site_access::is_on(s);
  memory_map* m = memory_locked();
  if (m == nullptr) return false;
  const std::uint32_t id = add_site(*m, s.description(), attributes, count);
  // With the catalogue full the site works on under number 0, without its name: recorded rather than lost.
  site_access::set_id(s, id);
  site_access::next(s) = first_site;
  first_site = &s;
  const bool on = is_on(s.description());
  site_access::settle(s, on);
  return on;
}

std::uint32_t register_key(std::string_view key) noexcept {
  engine::ensure_configured();
  const std::lock_guard lock(registry_mutex);
  memory_map* m = memory_locked();
  return m != nullptr ? key_locked(*m, key) : 0;
}

void apply_filters_locked(const filter& log, const filter& trace) noexcept {
  in_force() = {log, trace};
  for (site* s = first_site; s != nullptr; s = site_access::next(*s)) site_access::settle(*s, is_on(s->description()));
}

namespace {
site* find_site_locked(std::uint32_t id) noexcept {
  site* s = first_site;
  while (s != nullptr && s->id() != id) s = site_access::next(*s);
  return s;
}
}  // namespace

bool count_site(std::uint32_t id, std::uint8_t tally) noexcept {
  const std::lock_guard lock(registry_mutex);
  site* s = find_site_locked(id);
  if (s == nullptr || s->how() != site::enabled || s->description().kind != site_kind::span) return false;
  site_access::count(*s, tally);
  return true;
}

bool is_counted(std::uint32_t id) noexcept {
  const std::lock_guard lock(registry_mutex);
  const site* s = find_site_locked(id);
  return s != nullptr && s->how() == site::counted;
}

void record_counted_sites_locked() noexcept {
  for (site* s = first_site; s != nullptr; s = site_access::next(*s)) {
    if (s->how() == site::counted) site_access::record(*s);
  }
}

void record_site(std::uint32_t id) noexcept {
  const std::lock_guard lock(registry_mutex);
  if (site* s = find_site_locked(id); s != nullptr && s->how() == site::counted) site_access::record(*s);
}

site_info read_site(const memory_map& m, std::uint32_t id) {
  const mapped_site& s = m.sites[id];
  site_info info;
  info.id = id;
  info.name = m.string(s.name);
  info.module = m.string(s.module);
  info.file = m.string(s.file);
  info.line = s.line;
  info.level = s.level;
  info.kind = s.kind;
  for (std::uint32_t i = 0; i < s.attribute_count; ++i) {
    const mapped_attribute& a = m.attributes[s.first_attribute + i];
    info.attributes.push_back({std::string(read_key(m, a.key)), a.type, a.key});
  }
  return info;
}

std::string_view read_key(const memory_map& m, std::uint32_t number) noexcept {
  return number < m.header->keys.load(std::memory_order_acquire) ? m.string(m.keys[number]) : std::string_view{};
}

site* make_site(const site_description& d, const attribute_description* attributes, std::uint32_t count) {
  // Never freed, like the static sites of C++.
  const auto keep = [](std::string_view s) {
    auto* copy = new char[s.size() + 1];
    std::copy(s.begin(), s.end(), copy);  // an empty one may have no address
    return std::string_view{copy, s.size()};
  };
  auto* s = new site(*new site_description{keep(d.name), keep(d.module), keep(d.file), d.line, d.level, d.kind});
  std::vector<attribute_description> list(attributes, attributes + count);  // registering copies the keys
  register_site(*s, list.data(), count);
  return s;
}

}  // namespace telltale::detail

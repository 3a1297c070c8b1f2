// A call site: the static description of one span, scope or log line in the source.
//
// The description never changes and costs nothing at run time; what changes is one byte that says whether the site
// is on. It starts at "not known yet", so that the first hit registers the site with the filters in force; when the
// filters change, every registered site is rewritten (under the registry's lock, so that no site keeps a stale
// answer). A site's library is pinned at its first hit: descriptions outlive dlclose.
#pragma once

#include <atomic>
#include <cstdint>
#include <string_view>
#include <telltale/core/attribute.hpp>
#include <telltale/core/context.hpp>
#include <telltale/core/level.hpp>

namespace telltale {

enum class site_kind : std::uint8_t { span = 0, scope = 1, log = 2, event = 3 };

// A static attribute of a site: its position in the list is its position in the record.
struct attribute_description {
  std::string_view key;
  attribute_type type;
};

struct site_description {
  std::string_view name;    // of the span or event; the template of a log line
  std::string_view module;  // the "target": "prover::msm"
  std::string_view file;
  std::uint32_t line;
  telltale::level level;
  site_kind kind;
};

class site;
namespace detail {
// Registers the site on its first hit and says whether it is on. Takes the registry's lock, may allocate.
TELLTALE_EXPORT bool register_site(site& s, const attribute_description* attributes, std::uint32_t count) noexcept;
struct site_access;
}  // namespace detail

class site {
 public:
  constexpr explicit site(const site_description& d) noexcept : description_(&d) {}
  site(const site&) = delete;
  site& operator=(const site&) = delete;

  enum mode : std::uint8_t {
    unknown = 0,  // never hit
    off = 1,
    enabled = 2,
    counted = 3,  // it fires too often: its calls are counted, and a sample of them is timed (detail/tally.hpp)
  };
  mode how() const noexcept { return state_.load(std::memory_order_acquire); }

  // One relaxed load and one compare. A site that was never hit answers true, so that the caller goes the slow way.
  bool maybe_on() const noexcept { return state_.load(std::memory_order_relaxed) != off; }

  // Registered and recorded in full. What it says is as old as maybe_on()'s answer.
  bool is_on() const noexcept { return how() == enabled; }

  // What maybe_on() left open: settles a site that was never hit. `attributes` must live for ever.
  bool on(const attribute_description* attributes, std::uint32_t count) noexcept {
    if (is_on()) [[likely]]
      return true;
    return detail::register_site(*this, attributes, count);
  }

  const site_description& description() const noexcept { return *description_; }
  // Index in the catalogue of the mapped memory; 0 until registered.
  std::uint32_t id() const noexcept { return id_; }
  // The number of its tally, where it is `counted`.
  std::uint8_t tally() const noexcept { return tally_; }

 private:
  friend struct detail::site_access;

  std::atomic<mode> state_{unknown};
  std::uint8_t tally_ = 0;  // written once before state_ becomes `counted`
  std::uint32_t id_ = 0;    // written once before state_ leaves `unknown`
  const site_description* description_;
  site* next_ = nullptr;
};

namespace detail {

// Which module a file belongs to: see module.hpp. The lowest-ranking answer, found by argument-dependent lookup
// where a file says nothing.
struct module_default {};
struct module_of_file : module_default {};
constexpr std::string_view telltale_module(module_default) noexcept {
  return "main";
}

template <class... A>
constexpr bool keys_are_unique() noexcept {
  constexpr std::string_view keys[] = {A::key..., {}};
  for (std::size_t i = 0; i < sizeof...(A); ++i) {
    for (std::size_t k = 0; k < i; ++k) {
      if (keys[i] == keys[k]) return false;
    }
  }
  return true;
}

// The static attribute table of a site, from the types of its arguments.
template <class... A>
struct attribute_table {
  static_assert(sizeof...(A) <= max_attributes, "a span or a line carries at most 128 attributes");
  static_assert(keys_are_unique<A...>(), "two attributes of one span or line have the same key");
  static constexpr std::uint32_t count = sizeof...(A);
  static constexpr attribute_description entries[sizeof...(A) + 1] = {{A::key, A::type}...,
                                                                      {{}, attribute_type::boolean}};
};

// Given the attributes of a call site, names the type of its table: only ever used unevaluated.
struct collect_table {
  template <class... A>
  attribute_table<A...> operator()(const A&...) const noexcept;
};

}  // namespace detail
}  // namespace telltale

// Names the module ("target") of a file, once, at namespace scope: TELLTALE_MODULE("prover::msm");
// A file that says nothing belongs to "main".
#define TELLTALE_MODULE(name)                                                                                       \
  [[maybe_unused]] static constexpr std::string_view telltale_module(::telltale::detail::module_of_file) noexcept { \
    return "" name;                                                                                                 \
  }                                                                                                                 \
  static_assert(true, "TELLTALE_MODULE ends with a semicolon")

#define TELLTALE_CONCAT_(a, b) a##b
#define TELLTALE_CONCAT(a, b) TELLTALE_CONCAT_(a, b)

// Whether a level survives compilation in this translation unit.
#define TELLTALE_COMPILED_IN_(level_) (static_cast<int>(level_) <= TELLTALE_MAX_LEVEL)

// The one static object of a call site, as a function that returns it: nothing of it exists where it is never called.
#define TELLTALE_SITE_(kind_, level_, name_)                             \
  []() noexcept -> ::telltale::site& {                                   \
    static constexpr ::telltale::site_description description{           \
        "" name_, telltale_module(::telltale::detail::module_of_file{}), \
        __FILE__, static_cast<std::uint32_t>(__LINE__),                  \
        level_,   kind_};                                                \
    static constinit ::telltale::site site{description};                 \
    return site;                                                         \
  }

// The attributes of a call site, as a function that hands them to another: evaluated only where the site is on.
#define TELLTALE_ATTRIBUTES_(...) [&](auto use) noexcept { return use(__VA_ARGS__); }

// Characters, fast and safe.
#include "format.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace telltale::detail {

void buffer::grow(std::size_t n) {
  const std::size_t used = size();
  const std::size_t capacity = std::max<std::size_t>(2 * (used + n), 512);
  std::unique_ptr<char[]> bigger(new char[capacity]);  // not value-initialised
  if (used != 0) std::memcpy(bigger.get(), data_.get(), used);
  data_ = std::move(bigger);
  at_ = data_.get() + used;
  end_ = data_.get() + capacity;
}

void put_hex(buffer& w, std::uint64_t v) noexcept {
#if defined(__SSE2__)
  // High and low nibbles side by side in sixteen bytes; a nibble above nine is 39 further on in ASCII ('a' - '0' - 10).
  const __m128i bytes = _mm_cvtsi64_si128(static_cast<long long>(__builtin_bswap64(v)));
  const __m128i mask = _mm_set1_epi8(15);
  const __m128i nibbles = _mm_unpacklo_epi8(_mm_and_si128(_mm_srli_epi16(bytes, 4), mask), _mm_and_si128(bytes, mask));
  const __m128i letters = _mm_and_si128(_mm_cmpgt_epi8(nibbles, _mm_set1_epi8(9)), _mm_set1_epi8(39));
  _mm_storeu_si128(reinterpret_cast<__m128i*>(w.here()),
                   _mm_add_epi8(_mm_add_epi8(nibbles, _mm_set1_epi8('0')), letters));
#else
  // Spreads the sixteen nibbles over sixteen bytes, eight at a time, and turns each into its digit without a table:
  // a nibble above nine carries into bit 4 when 6 is added, and is 39 further on in ASCII ('a' - '0' - 10).
  const auto eight = [](std::uint32_t x) noexcept {
    std::uint64_t n = x;
    n = (n | n << 16) & 0x0000ffff0000ffff;
    n = (n | n << 8) & 0x00ff00ff00ff00ff;
    n = (n | n << 4) & 0x0f0f0f0f0f0f0f0f;
    const std::uint64_t above_nine = (n + 0x0606060606060606) >> 4 & 0x0101010101010101;
    return __builtin_bswap64(n + 0x3030303030303030 + above_nine * 39);
  };
  const std::uint64_t high = eight(static_cast<std::uint32_t>(v >> 32));
  const std::uint64_t low = eight(static_cast<std::uint32_t>(v));
  std::memcpy(w.here(), &high, 8);
  std::memcpy(w.here() + 8, &low, 8);
#endif
  w.moved_to(w.here() + 16);
}

namespace {

// The last `count` digits of a number that is not negative.
void put_digits(char* p, std::int64_t v, int count) noexcept {
  for (int i = count - 1; i >= 0; --i) {
    p[i] = static_cast<char>('0' + v % 10);
    v /= 10;
  }
}

// "00" to "99".
constexpr std::array<char, 200> pairs_of_digits = [] {
  std::array<char, 200> t{};
  for (std::size_t i = 0; i < 100; ++i) {
    t[2 * i] = static_cast<char>('0' + i / 10);
    t[2 * i + 1] = static_cast<char>('0' + i % 10);
  }
  return t;
}();

// The six digits of a number below a million.
void put_six_digits(char* p, std::uint32_t v) noexcept {
  std::memcpy(p, &pairs_of_digits[std::size_t{2} * (v / 10'000)], 2);
  std::memcpy(p + 2, &pairs_of_digits[std::size_t{2} * (v / 100 % 100)], 2);
  std::memcpy(p + 4, &pairs_of_digits[std::size_t{2} * (v % 100)], 2);
}

std::int64_t floor_divide(std::int64_t a, std::int64_t b) noexcept {
  return a / b - (a % b < 0 ? 1 : 0);
}

}  // namespace

void time_writer::put(buffer& w, std::int64_t ns) noexcept {
  const std::int64_t second = floor_divide(ns, 1'000'000'000);
  if (second != second_) {
    second_ = second;
    // Days to a date (Howard Hinnant, "chrono-compatible low-level date algorithms", civil_from_days).
    const std::int64_t days = floor_divide(second, 86400);
    const std::int64_t of_day = second - days * 86400;
    const std::int64_t z = days + 719468;
    const std::int64_t era = floor_divide(z, 146097);
    const std::int64_t doe = z - era * 146097;
    const std::int64_t yoe = (doe - doe / 1460 + doe / 36524 - doe / 146096) / 365;
    const std::int64_t doy = doe - (365 * yoe + yoe / 4 - yoe / 100);
    const std::int64_t mp = (5 * doy + 2) / 153;
    const std::int64_t month = mp < 10 ? mp + 3 : mp - 9;
    put_digits(text_, yoe + era * 400 + (month <= 2 ? 1 : 0), 4);
    text_[4] = '-';
    put_digits(text_ + 5, month, 2);
    text_[7] = '-';
    put_digits(text_ + 8, doy - (153 * mp + 2) / 5 + 1, 2);
    text_[10] = 'T';
    put_digits(text_ + 11, of_day / 3600, 2);
    text_[13] = ':';
    put_digits(text_ + 14, of_day / 60 % 60, 2);
    text_[16] = ':';
    put_digits(text_ + 17, of_day % 60, 2);
    text_[19] = '.';
  }
  std::memcpy(w.here(), text_, 20);
  // Unsigned: the second of the smallest number begins before it.
  const auto rest =
      static_cast<std::int64_t>(static_cast<std::uint64_t>(ns) - static_cast<std::uint64_t>(second) * 1'000'000'000u);
  // Of three digits, the three after them are overwritten.
  put_six_digits(w.here() + 20, static_cast<std::uint32_t>(rest / 1'000));
  w.here()[20 + digits_] = 'Z';
  w.moved_to(w.here() + 21 + digits_);
}

void put_milliseconds(buffer& w, std::int64_t ns) noexcept {
  auto size = static_cast<std::uint64_t>(ns);
  if (ns < 0) {
    w.put('-');
    size = 0 - size;  // also right for the smallest number, which has no positive twin
  }
  w.number(size / 1'000'000);
  const auto rest = static_cast<std::uint32_t>(size % 1'000'000);
  if (rest == 0) return;
  w.put('.');
  put_six_digits(w.here(), rest);
  int digits = 6;
  while (w.here()[digits - 1] == '0') --digits;
  w.moved_to(w.here() + digits);
}

namespace {

// What a byte needs inside a JSON string: 0 nothing, 'u' a \u00XX, 'x' a look (it is not ASCII), else the letter.
constexpr std::array<char, 256> json_escapes = [] {
  std::array<char, 256> t{};
  for (std::size_t i = 0; i < 0x20; ++i) t[i] = 'u';
  for (std::size_t i = 0x80; i < 0x100; ++i) t[i] = 'x';
  t[0x7f] = 'u';
  t['"'] = '"';
  t['\\'] = '\\';
  t['\n'] = 'n';
  t['\r'] = 'r';
  t['\t'] = 't';
  t['\b'] = 'b';
  t['\f'] = 'f';
  return t;
}();

}  // namespace

std::size_t sequence_length(std::string_view s) noexcept {
  const auto byte = [&](std::size_t i) { return i < s.size() ? static_cast<unsigned char>(s[i]) : 0u; };
  const auto tail = [&](std::size_t i) { return (byte(i) & 0xc0) == 0x80; };
  const unsigned b = byte(0);
  if (b < 0x80) return 1;
  if (b >= 0xc2 && b <= 0xdf) return tail(1) ? 2 : 0;
  if (b >= 0xe0 && b <= 0xef) {
    if (b == 0xe0 && byte(1) < 0xa0) return 0;
    if (b == 0xed && byte(1) > 0x9f) return 0;
    return tail(1) && tail(2) ? 3 : 0;
  }
  if (b >= 0xf0 && b <= 0xf4) {
    if (b == 0xf0 && byte(1) < 0x90) return 0;
    if (b == 0xf4 && byte(1) > 0x8f) return 0;
    return tail(1) && tail(2) && tail(3) ? 4 : 0;
  }
  return 0;
}

namespace {

constexpr std::string_view replacement = "\xef\xbf\xbd";  // U+FFFD

// Bytes at the start of `s` that stand as they are in a JSON string, eight at a time.
std::size_t plain_prefix(std::string_view s) noexcept {
  constexpr std::uint64_t ones = 0x0101010101010101;
  constexpr std::uint64_t tops = 0x8080808080808080;
  std::size_t i = 0;
  while (i + 8 <= s.size()) {
    std::uint64_t v;
    std::memcpy(&v, s.data() + i, 8);
    const auto has_zero = [](std::uint64_t x) { return (x - ones) & ~x & tops; };
    const std::uint64_t special = (v & tops) | ((v - ones * 0x20) & ~v & tops) | has_zero(v ^ ones * '"') |
                                  has_zero(v ^ ones * '\\') | has_zero(v ^ ones * 0x7f);
    if (special != 0) break;  // the exact place is found below
    i += 8;
  }
  while (i < s.size() && json_escapes[static_cast<unsigned char>(s[i])] == 0) ++i;
  return i;
}

constexpr char hex_digits[] = "0123456789abcdef";

}  // namespace

void append_json_string(buffer& w, std::string_view s) {
  w.reserve(s.size() * 6 + 2);
  w.put('"');
  for (;;) {
    const std::size_t plain = plain_prefix(s);
    w.put(s.substr(0, plain));
    s.remove_prefix(plain);
    if (s.empty()) break;
    const auto b = static_cast<unsigned char>(s[0]);
    const char escape = json_escapes[b];
    std::size_t taken = 1;
    if (escape == 'x') {
      taken = sequence_length(s);
      w.put(taken != 0 ? s.substr(0, taken) : replacement);
      if (taken == 0) taken = 1;
    } else if (escape == 'u') {
      w.put("\\u00");
      w.put(hex_digits[b >> 4]);
      w.put(hex_digits[b & 15]);
    } else {
      w.put('\\');
      w.put(escape);
    }
    s.remove_prefix(taken);
  }
  w.put('"');
}

namespace {

// Bytes at the start of `s` that are ASCII, counted eight at a time.
std::size_t ascii_prefix(std::string_view s) noexcept {
  std::size_t i = 0;
  for (; i + 8 <= s.size(); i += 8) {
    std::uint64_t v;
    std::memcpy(&v, s.data() + i, 8);
    if ((v & 0x8080808080808080) != 0) break;
  }
  while (i < s.size() && static_cast<unsigned char>(s[i]) < 0x80) ++i;
  return i;
}

}  // namespace

std::string_view valid_utf8(std::string_view s, std::string& scratch) {
  const auto good_prefix = [](std::string_view rest) {
    std::size_t i = 0;
    for (;;) {
      i += ascii_prefix(rest.substr(i));
      const std::size_t sequence = i < rest.size() ? sequence_length(rest.substr(i)) : 0;
      if (sequence == 0) return i;
      i += sequence;
    }
  };
  std::size_t good = good_prefix(s);
  if (good == s.size()) [[likely]]
    return s;
  scratch.clear();
  for (std::string_view rest = s;; good = good_prefix(rest)) {
    scratch += rest.substr(0, good);
    if (good == rest.size()) return scratch;
    scratch += replacement;
    rest.remove_prefix(good + 1);
  }
}

namespace {

std::string_view not_finite(double v) noexcept {
  return std::isnan(v) ? "NaN" : v > 0 ? "Infinity" : "-Infinity";
}

}  // namespace

void append_json_value(buffer& w, const attribute_view& a) {
  w.reserve(40);
  switch (a.type) {
    case attribute_type::boolean:
      w.put(a.bits != 0 ? std::string_view{"true"} : std::string_view{"false"});
      break;
    case attribute_type::int64:
      w.number(static_cast<std::int64_t>(a.bits));
      break;
    case attribute_type::uint64:
      w.number(a.bits);
      break;
    case attribute_type::float64: {
      const auto v = std::bit_cast<double>(a.bits);
      if (std::isfinite(v)) {
        w.moved_to(std::to_chars(w.here(), w.here() + 32, v).ptr);
      } else {
        w.put('"');
        w.put(not_finite(v));
        w.put('"');
      }
      break;
    }
    case attribute_type::string:
      append_json_string(w, a.text);
      break;
  }
}

namespace {

template <class Special>
void append_escaped(std::string& out, std::string_view s, Special is_special) {
  while (!s.empty()) {
    const auto b = static_cast<unsigned char>(s[0]);
    std::size_t taken = 1;
    if (is_special(s[0])) {
      out += '\\';
      out += s[0];
    } else if (b == '\n' || b == '\r' || b == '\t') {
      out += '\\';
      out += b == '\n' ? 'n' : b == '\r' ? 'r' : 't';
    } else if (b < 0x20 || b == 0x7f) {
      out += "\\x";
      out += hex_digits[b >> 4];
      out += hex_digits[b & 15];
    } else if (b >= 0x80) {
      taken = sequence_length(s);
      const std::string_view whole = s.substr(0, taken);
      if (taken == 0) {
        out += replacement;
        taken = 1;
      } else if (taken == 2 && b == 0xc2 && static_cast<unsigned char>(s[1]) < 0xa0) {  // C1 controls
        out += "\\x";
        out += hex_digits[static_cast<unsigned char>(s[1]) >> 4];
        out += hex_digits[static_cast<unsigned char>(s[1]) & 15];
      } else if (whole == "\xe2\x80\xa8" || whole == "\xe2\x80\xa9") {  // line and paragraph separator
        out += whole == "\xe2\x80\xa8" ? "\\u2028" : "\\u2029";
      } else {
        out += whole;
      }
    } else {
      out += s[0];
    }
    s.remove_prefix(taken);
  }
}

}  // namespace

void append_safe_text(std::string& out, std::string_view s) {
  append_escaped(out, s, [](char) { return false; });
}

void append_quoted(std::string& out, std::string_view s) {
  out += '"';
  append_escaped(out, s, [](char c) { return c == '"' || c == '\\'; });
  out += '"';
}

}  // namespace telltale::detail

void telltale::append_value(std::string& out, const attribute_view& a) {
  switch (a.type) {
    case attribute_type::boolean:
      out += a.bits != 0 ? "true" : "false";
      break;
    case attribute_type::int64:
      out += std::to_string(static_cast<std::int64_t>(a.bits));
      break;
    case attribute_type::uint64:
      out += std::to_string(a.bits);
      break;
    case attribute_type::float64: {
      const auto v = std::bit_cast<double>(a.bits);
      if (std::isfinite(v)) {
        char text[32];
        out.append(text, std::to_chars(text, text + sizeof text, v).ptr);
      } else {
        out += detail::not_finite(v);
      }
      break;
    }
    case attribute_type::string:
      out += a.text;
      break;
  }
}

void telltale::append_message(std::string& out, const log_view& line) {
  std::string_view m = line.site.name;
  while (!m.empty()) {
    const std::size_t brace = m.find_first_of("{}");
    out += m.substr(0, brace);
    if (brace == std::string_view::npos) return;
    m.remove_prefix(brace);
    const std::size_t close = m.find('}');
    if (m.size() > 1 && m[1] == m[0]) {
      out += m[0];
      m.remove_prefix(2);
      continue;
    }
    const std::string_view key =
        m[0] == '{' && close != std::string_view::npos ? m.substr(1, close - 1) : std::string_view{};
    const attribute_view* found = nullptr;
    for (const attribute_view& a : line.attributes) {
      if (!key.empty() && a.key == key) found = &a;
    }
    if (found == nullptr) {  // a template from the C ABI that names what it does not carry stays as it is
      out += m[0];
      m.remove_prefix(1);
    } else {
      append_value(out, *found);
      m.remove_prefix(close + 1);
    }
  }
}

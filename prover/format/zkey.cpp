// Reading and checking .zkey files. Nothing is allocated before the section that fills it is known to be in the file.
#include "prover/format/zkey.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <mutex>
#include <type_traits>

#include "prover/curve/subgroup.hpp"
#include "prover/format/test_key_notice.hpp"
#include "prover/format/value_table.hpp"
#include "prover/msm/resident_points.hpp"
#include "prover/msm/subgroup_batch.hpp"
#include "prover/ntt/domain.hpp"

namespace prover::format {
namespace {

using telltale::error;
using telltale::result;

enum id : std::uint32_t {
  protocol = 1,
  header = 2,
  ic = 3,
  coefficients = 4,
  a = 5,
  b1 = 6,
  b2 = 7,
  c = 8,
  h = 9,
  contributions = 10
};

constexpr const char* ic_points = "the public signals' points";
constexpr const char* a_points = "the A points";
constexpr const char* b1_points = "the B points in G1";
constexpr const char* b2_points = "the B points in G2";
constexpr const char* c_points = "the C points";
constexpr const char* h_points = "the H points";

struct header_and_points {
  zkey_header header;
  std::vector<std::byte> bytes;  // the section
  std::size_t points_at = 0;     // where alpha1 begins in it
};

// That every section has the size its header asks for. Done before anything else is read, so that a header that
// promises too much costs no memory: all that is allocated later is in proportion to the file.
result<void> check_sizes(const section_table& table, const zkey_header& header, u64 coordinate) {
  struct expected {
    std::uint32_t number;
    const char* holds;
    u64 size;
  };
  const u64 g1 = 2 * coordinate;
  const u64 variables = header.variables;
  for (const auto& [number, holds, size] : {expected{ic, ic_points, (u64{header.publics} + 1) * g1},
                                            {coefficients, "the coefficients", 4 + u64{header.coefficients} * 44},
                                            {a, a_points, variables * g1},
                                            {b1, b1_points, variables * g1},
                                            {b2, b2_points, variables * 2 * g1},
                                            {c, c_points, (variables - header.publics - 1) * g1},
                                            {h, h_points, u64{header.domain_size} * g1}}) {
    if (const auto found = table.find(number, holds, size); !found) return found.error();
  }
  return {};
}

// Whether the key's first contributor is the notice. What else the section holds is of no use to a prover.
result<bool> has_notice(const section_table& table, u64 coordinate) {
  if (!table.has(contributions)) return false;
  const auto place = table.find(contributions, "the contributions");
  std::array<std::byte, test_key_notice.size()> text{};
  const u64 at = test_key_notice_at(2 * coordinate);
  if (place->size < at + text.size()) return false;
  if (auto done = table.source().read(place->offset + at, text); !done) return done.error();
  return std::ranges::equal(text, std::as_bytes(std::span(test_key_notice)));
}

result<header_and_points> read_header(const section_table& table) {
  const byte_source& source = table.source();
  const auto first = table.find(protocol, "the protocol", 4);
  if (!first) return first.error();
  const auto kind = read_section(source, *first);
  if (!kind) return kind.error();
  if (const std::uint32_t number = byte_cursor(*kind).u32(); number != 1) {
    return source.wrong("its protocol is " + std::to_string(number) +
                            (number == 2    ? " (PLONK)"
                             : number == 10 ? " (FFLONK)"
                                            : "") +
                            ", and only Groth16 (1) is supported",
                        "Make a Groth16 key for the circuit");
  }
  const auto place = table.find(header, "the header");
  if (!place) return place.error();
  constexpr u64 largest = 4 + 48 + 4 + 32 + 12 + 3 * 96 + 3 * 192;
  if (place->size > largest || place->size < 8) {
    return source.wrong("section 2 (the header) has " + grouped(place->size) + " bytes, which fits no supported curve");
  }
  auto bytes = read_section(source, *place);
  if (!bytes) return bytes.error();

  header_and_points r;
  byte_cursor cursor(*bytes);
  const auto prime = [&]() -> std::optional<std::span<const std::byte>> {
    if (cursor.left() < 4) return std::nullopt;
    const std::uint32_t n = cursor.u32();
    if (n > 64 || cursor.left() < n) return std::nullopt;
    return cursor.take(n);
  };
  const auto q = prime();
  const auto modulus = prime();
  if (!q || !modulus) return source.wrong("section 2 (the header) ends inside its primes");
  const auto by_q = curve_with_coordinates(*q);
  const auto by_r = curve_with_scalars(*modulus);
  if (!by_q || !by_r || *by_q != *by_r) {
    return source.wrong("its primes are not those of BN254 or of BLS12-381", "Make the key over one of these curves");
  }
  r.header.curve = *by_q;
  const std::size_t coordinate = q->size();
  if (cursor.left() != 12 + 9 * 2 * coordinate) {
    return source.wrong("section 2 (the header) has " + grouped(place->size) + " bytes, and " +
                        name_of(r.header.curve) + " keys have " + grouped(4 + 4 + 12 + 32 + 19 * coordinate));
  }
  r.header.variables = cursor.u32();
  r.header.publics = cursor.u32();
  r.header.domain_size = cursor.u32();
  r.points_at = bytes->size() - cursor.left();
  r.bytes = std::move(*bytes);

  if (r.header.variables > msm::max_points) {
    return source.wrong("it promises " + grouped(r.header.variables) + " variables, and at most " +
                            grouped(msm::max_points) + " are supported",
                        "Divide the circuit");
  }
  if (u64{r.header.publics} + 1 > r.header.variables) {
    return source.wrong("it promises " + grouped(r.header.publics) + " public signals but only " +
                        grouped(r.header.variables) + " variables");
  }
  const unsigned max_log = r.header.curve == curve_id::bn254 ? ntt::domain<bn254>::max_log_size : 31;
  if (!std::has_single_bit(r.header.domain_size)) {
    return source.wrong("its domain size, " + grouped(r.header.domain_size) + ", is not a power of two");
  }
  if (r.header.domain_size > u64{1} << max_log) {
    return source.wrong(
        "its domain size, " + grouped(r.header.domain_size) + ", is above the supported 2^" + std::to_string(max_log),
        "Divide the circuit");
  }

  const auto place4 = table.find(coefficients, "the coefficients");
  if (!place4) return place4.error();
  if (place4->size < 4) return source.wrong("section 4 (the coefficients) is too short for its count");
  std::array<std::byte, 4> count{};
  if (auto done = source.read(place4->offset, count); !done) return done.error();
  r.header.coefficients = byte_cursor(count).u32();
  if (auto done = check_sizes(table, r.header, coordinate); !done) return done.error();
  const auto notice = has_notice(table, coordinate);
  if (!notice) return notice.error();
  r.header.is_test_key = *notice;
  return r;
}

// ---- points

template <class G>
const char* fault(const affine<G>& p, key_checks checks) {
  if (!p.x.is_reduced() || !p.y.is_reduced()) return "has a coordinate that is not below the field's prime";
  if (checks != key_checks::none && !p.is_on_curve()) return "is not on the curve";
  return nullptr;
}

constexpr const char* outside_subgroup = "is not in the subgroup of prime order";

// The first fault that many threads found, by position.
class first_fault {
 public:
  void report(u64 position, const char* what) {
    const std::lock_guard lock(mutex_);
    if (what_ == nullptr || position < position_) {
      position_ = position;
      what_ = what;
    }
  }
  void report(telltale::error why) {
    const std::lock_guard lock(mutex_);
    if (!failure_) failure_ = std::move(why);
  }
  const char* what() const { return what_; }
  u64 position() const { return position_; }
  const std::optional<telltale::error>& failure() const { return failure_; }

 private:
  std::mutex mutex_;
  u64 position_ = 0;
  const char* what_ = nullptr;
  std::optional<telltale::error> failure_;
};

enum class infinity : std::uint8_t { allowed, refused };

template <class G>
result<std::vector<affine<G>>> read_points(const section_table& table, std::uint32_t number, const char* holds,
                                           u64 count, infinity may_be_infinite, key_checks checks, code_path path,
                                           thread_pool& pool) {
  static_assert(std::has_unique_object_representations_v<affine<G>>, "points are read as they lie in the file");
  const byte_source& source = table.source();
  const auto place = table.find(number, holds, count * sizeof(affine<G>));
  if (!place) return place.error();
  std::vector<affine<G>> points(count);
  first_fault fault_found;
  pool.for_ranges(count, 2048, [&](std::size_t begin, std::size_t end) {
    const auto some = std::span(points).subspan(begin, end - begin);
    if (auto done = source.read(place->offset + begin * sizeof(affine<G>), std::as_writable_bytes(some)); !done) {
      fault_found.report(done.error());
      return;
    }
    for (std::size_t i = begin; i < end; ++i) {
      const char* what = fault(points[i], checks);
      if (what == nullptr && may_be_infinite == infinity::refused && points[i].is_infinity())
        what = "is the point at infinity";
      if (what != nullptr) {
        fault_found.report(i, what);
        return;
      }
    }
  });
  if (fault_found.failure()) return *fault_found.failure();
  if (fault_found.what() == nullptr && checks == key_checks::full) {
    if (const auto outside = msm::find_outside_subgroup<G>(points, path, pool))
      fault_found.report(*outside, outside_subgroup);
  }
  if (fault_found.what() != nullptr) {
    return source.wrong("in section " + std::to_string(number) + " (" + holds + "), point " +
                        grouped(fault_found.position()) + " " + fault_found.what());
  }
  return points;
}

// ---- coefficients

// One coefficient on its way from the file into its row.
struct placed {
  std::uint32_t matrix;
  std::uint32_t row;
  sparse_rows::entry entry;
};

sparse_rows by_rows(const std::vector<placed>& all, std::uint32_t matrix, std::uint32_t rows) {
  sparse_rows r;
  r.starts.assign(std::size_t{rows} + 1, 0);
  for (const auto& p : all) {
    if (p.matrix == matrix) ++r.starts[std::size_t{p.row} + 1];
  }
  for (std::size_t i = 1; i < r.starts.size(); ++i) r.starts[i] += r.starts[i - 1];
  r.entries.resize(r.starts.back());
  std::vector<std::uint32_t> next(r.starts.begin(), r.starts.end() - 1);
  for (const auto& p : all) {
    if (p.matrix == matrix) r.entries[next[p.row]++] = p.entry;
  }
  return r;
}

template <class Curve>
result<void> read_coefficients(const section_table& table, zkey<Curve>& key) {
  using fr = typename Curve::fr;
  constexpr std::size_t record = 12 + sizeof(fr);
  const byte_source& source = table.source();
  const u64 count = key.header.coefficients;
  const auto place = table.find(coefficients, "the coefficients", 4 + count * record);
  if (!place) return place.error();

  std::vector<placed> all;
  all.reserve(count);
  value_table values;
  std::vector<std::byte> buffer;
  for (u64 begin = 0; begin < count;) {
    const u64 some = std::min<u64>(count - begin, 16384);
    buffer.resize(some * record);
    if (auto done = source.read(place->offset + 4 + begin * record, buffer); !done) return done.error();
    byte_cursor cursor(buffer);
    for (u64 i = begin; i < begin + some; ++i) {
      placed p{};
      p.matrix = cursor.u32();
      p.row = cursor.u32();
      p.entry.signal = cursor.u32();
      const auto value = cursor.number<4>();
      const auto wrong = [&](const std::string& what) {
        return source.wrong("in section 4 (the coefficients), entry " + grouped(i) + " " + what);
      };
      if (p.matrix > 1) return wrong("names matrix " + grouped(p.matrix) + ", and there are only 0 (A) and 1 (B)");
      if (p.row >= key.header.domain_size) {
        return wrong("names constraint " + grouped(p.row) + ", and the domain has " + grouped(key.header.domain_size));
      }
      if (p.entry.signal >= key.header.variables) {
        return wrong("names signal " + grouped(p.entry.signal) + ", and there are " + grouped(key.header.variables));
      }
      if (!less(value, fr::modulus)) return wrong("has a value that is not below the field's prime");
      p.entry.value = values.number_of(value);
      all.push_back(p);
    }
    begin += some;
  }
  key.values.reserve(values.values().size());
  for (const auto& value : values.values()) key.values.push_back(fr{value});
  key.a_rows = by_rows(all, 0, key.header.domain_size);
  key.b_rows = by_rows(all, 1, key.header.domain_size);
  return {};
}

}  // namespace

result<zkey_header> read_zkey_header(const byte_source& source) {
  const auto table = section_table::read(source, "zkey", 1);
  if (!table) return table.error();
  const auto read = read_header(*table);
  if (!read) return read.error();
  return read->header;
}

template <class Curve>
result<zkey<Curve>> read_zkey(const byte_source& source, key_checks checks, code_path path, thread_pool& pool) {
  const auto table = section_table::read(source, "zkey", 1);
  if (!table) return table.error();
  const auto read = read_header(*table);
  if (!read) return read.error();

  zkey<Curve> key;
  key.header = read->header;
  byte_cursor cursor(std::span(read->bytes).subspan(read->points_at));
  const auto point = [&]<class G>(affine<G>& into, const char* name) -> result<void> {
    const auto bytes = cursor.take(sizeof into);
    std::copy(bytes.begin(), bytes.end(), std::as_writable_bytes(std::span(&into, 1)).begin());
    const char* what = fault(into, checks);
    if (what == nullptr && into.is_infinity()) what = "is the point at infinity";
    if (what == nullptr && checks == key_checks::full && !is_in_subgroup(into)) what = outside_subgroup;
    if (what != nullptr) return source.wrong(std::string("in section 2 (the header), ") + name + " " + what);
    return {};
  };
  if (auto done = point(key.alpha1, "alpha1"); !done) return done.error();
  if (auto done = point(key.beta1, "beta1"); !done) return done.error();
  if (auto done = point(key.beta2, "beta2"); !done) return done.error();
  if (auto done = point(key.gamma2, "gamma2"); !done) return done.error();
  if (auto done = point(key.delta1, "delta1"); !done) return done.error();
  if (auto done = point(key.delta2, "delta2"); !done) return done.error();

  const auto section_of = [&]<class G>(std::vector<affine<G>>& into, std::uint32_t number, const char* holds, u64 count,
                                       infinity may_be_infinite) -> result<void> {
    auto points = read_points<G>(*table, number, holds, count, may_be_infinite, checks, path, pool);
    if (!points) return points.error();
    into = std::move(*points);
    return {};
  };
  const u64 variables = key.header.variables;
  const u64 publics = key.header.publics;
  if (auto done = section_of(key.ic, ic, ic_points, publics + 1, infinity::allowed); !done) return done.error();
  if (auto done = read_coefficients(*table, key); !done) return done.error();
  if (auto done = section_of(key.a, a, a_points, variables, infinity::allowed); !done) return done.error();
  if (auto done = section_of(key.b1, b1, b1_points, variables, infinity::allowed); !done) return done.error();
  if (auto done = section_of(key.b2, b2, b2_points, variables, infinity::allowed); !done) return done.error();
  if (auto done = section_of(key.c, c, c_points, variables - publics - 1, infinity::allowed); !done)
    return done.error();
  if (auto done = section_of(key.h, h, h_points, key.header.domain_size, infinity::refused); !done) return done.error();
  return key;
}

template result<zkey<bn254>> read_zkey(const byte_source&, key_checks, code_path, thread_pool&);
template result<zkey<bls12_381>> read_zkey(const byte_source&, key_checks, code_path, thread_pool&);

}  // namespace prover::format

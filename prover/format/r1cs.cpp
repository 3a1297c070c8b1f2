// Reading and checking .r1cs files.
#include "prover/format/r1cs.hpp"

#include <algorithm>

#include "prover/format/value_table.hpp"

namespace prover::format {
namespace {

constexpr std::string_view advice = "Compile the circuit again";

telltale::result<r1cs_header> read_header(const section_table& table) {
  const byte_source& source = table.source();
  const auto place = table.find(1, "the header", 64);
  if (!place) return place.error();
  const auto bytes = read_section(source, *place);
  if (!bytes) return bytes.error();
  byte_cursor cursor(*bytes);
  if (const std::uint32_t n8 = cursor.u32(); n8 != 32) {
    return source.wrong("its values have " + grouped(n8) + " bytes each, and those of BN254 and BLS12-381 have 32",
                        advice);
  }
  const auto curve = curve_with_scalars(cursor.take(32));
  if (!curve) return source.wrong("its prime is not the order of BN254 or of BLS12-381", advice);
  r1cs_header h;
  h.curve = *curve;
  h.wires = cursor.u32();
  h.public_outputs = cursor.u32();
  h.public_inputs = cursor.u32();
  h.private_inputs = cursor.u32();
  h.labels = cursor.u64_();
  h.constraints = cursor.u32();
  if (u64{h.public_outputs} + h.public_inputs + h.private_inputs + 1 > h.wires) {
    return source.wrong("it promises more inputs and outputs than its " + grouped(h.wires) + " wires", advice);
  }
  for (const std::uint32_t id : {4U, 5U}) {
    if (!table.has(id)) continue;
    const auto gates = table.find(id, "custom gates");
    std::array<std::byte, 4> count{};
    if (gates->size == 4) {
      if (auto done = source.read(gates->offset, count); !done) return done.error();
    }
    if (gates->size != 0 && (gates->size != 4 || byte_cursor(count).u32() != 0)) {
      return source.wrong("it uses custom gates (section " + std::to_string(id) + "), which Groth16 can't prove",
                          "Compile the circuit without custom templates");
    }
  }
  return h;
}

// Reads the constraints' section through a window, so that no more than its part of the file is in memory.
class stream {
 public:
  stream(const byte_source& source, const section& place)
      : source_(source), at_(place.offset), end_(place.offset + place.size) {}

  u64 left() const noexcept { return end_ - at_; }

  // n bytes, n at most a window; the caller has checked left().
  telltale::result<byte_cursor> take(std::size_t n) {
    if (at_ < base_ || at_ + n > base_ + window_.size() || window_.empty()) {
      window_.resize(static_cast<std::size_t>(std::min<u64>(left(), window_size)));
      base_ = at_;
      if (auto done = source_.read(base_, window_); !done) return done.error();
    }
    const byte_cursor r(std::span<const std::byte>(window_).subspan(static_cast<std::size_t>(at_ - base_), n));
    at_ += n;
    return r;
  }

 private:
  static constexpr std::size_t window_size = std::size_t{1} << 20;
  const byte_source& source_;
  u64 at_;
  u64 end_;
  u64 base_ = 0;
  std::vector<std::byte> window_;
};

}  // namespace

telltale::result<r1cs_header> read_r1cs_header(const byte_source& source) {
  const auto table = section_table::read(source, "r1cs", 1);
  if (!table) return table.error();
  return read_header(*table);
}

telltale::result<r1cs> read_r1cs(const byte_source& source) {
  const auto table = section_table::read(source, "r1cs", 1);
  if (!table) return table.error();
  const auto header = read_header(*table);
  if (!header) return header.error();
  if (table->has(3)) {
    if (const auto labels = table->find(3, "the labels", u64{header->wires} * 8); !labels) return labels.error();
  }
  const auto place = table->find(2, "the constraints");
  if (!place) return place.error();
  if (u64{header->constraints} * 12 > place->size) {
    return source.wrong("it promises " + grouped(header->constraints) + " constraints, and section 2 has only " +
                            grouped(place->size) + " bytes",
                        advice);
  }
  const integer<4> modulus = header->curve == curve_id::bn254 ? bn254_fr::modulus : bls12_381_fr::modulus;

  r1cs r;
  r.header = *header;
  r.starts.reserve(std::size_t{header->constraints} * 3 + 1);
  r.starts.push_back(0);
  value_table values;
  stream in(source, *place);
  for (u64 k = 0; k < u64{header->constraints} * 3; ++k) {
    const auto wrong = [&](const std::string& what) {
      return source.wrong("in section 2 (the constraints), constraint " + grouped(k / 3) + " " + what, advice);
    };
    if (in.left() < 4) return wrong("is beyond the section's end");
    auto count = in.take(4);
    if (!count) return count.error();
    const std::uint32_t n = count->u32();
    if (u64{n} * 36 > in.left()) return wrong("promises " + grouped(n) + " terms, which is beyond the section's end");
    for (std::uint32_t i = 0; i < n; ++i) {
      auto fields = in.take(36);
      if (!fields) return fields.error();
      const std::uint32_t wire = fields->u32();
      const auto value = fields->number<4>();
      if (wire >= header->wires) {
        return wrong("names wire " + grouped(wire) + ", and there are " + grouped(header->wires));
      }
      if (!less(value, modulus)) return wrong("has a coefficient that is not below the field's prime");
      r.terms.push_back({wire, values.number_of(value)});
    }
    r.starts.push_back(r.terms.size());
  }
  if (in.left() != 0) {
    return source.wrong("section 2 (the constraints) has " + grouped(in.left()) + " bytes after the last constraint",
                        advice);
  }
  r.values = values.values();
  return r;
}

}  // namespace prover::format

// Reading and checking .wtns files.
#include "prover/format/wtns.hpp"

namespace prover::format {
namespace {

constexpr std::string_view advice = "Compute the witness again with the circuit's own generator";

telltale::result<wtns_header> read_header(const section_table& table) {
  const byte_source& source = table.source();
  const auto place = table.find(1, "the header");
  if (!place) return place.error();
  if (place->size < 4 || place->size > 128) {
    return source.wrong("section 1 (the header) has " + grouped(place->size) + " bytes, and 40 are expected", advice);
  }
  const auto bytes = read_section(source, *place);
  if (!bytes) return bytes.error();
  byte_cursor cursor(*bytes);
  const std::uint32_t n8 = cursor.u32();
  if (n8 != 32) {
    return source.wrong("its values have " + grouped(n8) + " bytes each, and those of BN254 and BLS12-381 have 32",
                        advice);
  }
  if (place->size != 40) {
    return source.wrong("section 1 (the header) has " + grouped(place->size) + " bytes, and 40 are expected", advice);
  }
  const auto curve = curve_with_scalars(cursor.take(32));
  if (!curve) return source.wrong("its prime is not the order of BN254 or of BLS12-381", advice);
  return wtns_header{*curve, cursor.u32()};
}

}  // namespace

telltale::result<wtns_header> read_wtns_header(const byte_source& source) {
  const auto table = section_table::read(source, "wtns", 2);
  if (!table) return table.error();
  return read_header(*table);
}

telltale::result<wtns> read_wtns(const byte_source& source) {
  const auto table = section_table::read(source, "wtns", 2);
  if (!table) return table.error();
  const auto header = read_header(*table);
  if (!header) return header.error();
  const auto place = table->find(2, "the values", u64{header->count} * 32);
  if (!place) return place.error();
  if (header->count == 0) return source.wrong("it holds no values, not even the leading 1", advice);

  wtns r{*header, secret_vector<integer<4>>(header->count)};
  if (auto done = source.read(place->offset, std::as_writable_bytes(std::span(r.values))); !done) return done.error();
  const integer<4> modulus = header->curve == curve_id::bn254 ? bn254_fr::modulus : bls12_381_fr::modulus;
  for (std::size_t i = 0; i < r.values.size(); ++i) {
    if (!less(r.values[i], modulus)) {
      return source.wrong("value " + grouped(i) + " is not below the field's prime", advice);
    }
  }
  if (r.values[0] != small_integer<4>(1)) return source.wrong("its first value is not 1", advice);
  return r;
}

}  // namespace prover::format

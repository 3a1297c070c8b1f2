// Mutates .zkey, .wtns and .r1cs files as what they are: sections of numbers, field elements and points. libFuzzer's
// own mutations rarely get past a header whose counts must agree with every section's size; these move, repeat, cut and
// relabel sections, put telling values where numbers stand, and a format's own `repair` makes the counts agree again.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <random>
#include <vector>

#include "prover/field/parameters.hpp"

extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t max_size);

namespace prover::fuzz {

using bytes = std::vector<std::uint8_t>;

struct piece {
  std::uint32_t id = 0;
  std::uint64_t claimed = 0;  // the size that the file says it has
  bytes content;
};

struct container {
  std::array<std::uint8_t, 8> magic_and_version{};
  std::uint32_t claimed = 0;  // the number of sections that the file says it has
  std::vector<piece> sections;

  piece* find(std::uint32_t id) noexcept {
    for (auto& s : sections) {
      if (s.id == id) return &s;
    }
    return nullptr;
  }
};

// Little-endian numbers inside bytes; beyond the end they read as zero and aren't written.
inline std::uint64_t get(const bytes& from, std::size_t at, std::size_t n) noexcept {
  std::uint64_t r = 0;
  for (std::size_t i = 0; i < n && at + i < from.size(); ++i) r |= std::uint64_t{from[at + i]} << (8 * i);
  return r;
}
inline void put(bytes& into, std::size_t at, std::uint64_t value, std::size_t n) noexcept {
  for (std::size_t i = 0; i < n && at + i < into.size(); ++i)
    into[at + i] = static_cast<std::uint8_t>(value >> (8 * i));
}

// As long as the content's end lets it be; repeats what is there where it must grow.
inline void resize(bytes& content, std::size_t size) {
  const std::size_t had = content.size();
  content.resize(size);
  for (std::size_t i = had; had != 0 && i < size; ++i) content[i] = content[i - had];
}

// Reads as far as the file makes sense; false where not even the header does.
inline bool parse(const bytes& file, container& into) {
  if (file.size() < 12) return false;
  std::memcpy(into.magic_and_version.data(), file.data(), 8);
  into.claimed = static_cast<std::uint32_t>(get(file, 8, 4));
  for (std::size_t at = 12; at + 12 <= file.size() && into.sections.size() < 70;) {
    piece s;
    s.id = static_cast<std::uint32_t>(get(file, at, 4));
    s.claimed = get(file, at + 4, 8);
    at += 12;
    const auto size = static_cast<std::size_t>(std::min<std::uint64_t>(s.claimed, file.size() - at));
    const auto begin = file.begin() + static_cast<std::ptrdiff_t>(at);
    s.content.assign(begin, begin + static_cast<std::ptrdiff_t>(size));
    at += size;
    into.sections.push_back(std::move(s));
  }
  return !into.sections.empty();
}

inline bytes serialise(const container& from) {
  bytes file(from.magic_and_version.begin(), from.magic_and_version.end());
  const auto append = [&](std::uint64_t value, std::size_t n) {
    for (std::size_t i = 0; i < n; ++i) file.push_back(static_cast<std::uint8_t>(value >> (8 * i)));
  };
  append(from.claimed, 4);
  for (const auto& s : from.sections) {
    append(s.id, 4);
    append(s.claimed, 8);
    file.insert(file.end(), s.content.begin(), s.content.end());
  }
  return file;
}

class section_mutator {
 public:
  section_mutator(container& file, std::size_t room, unsigned seed) : file_(file), room_(room), random_(seed) {}

  bool once_in(unsigned n) { return below(n) == 0; }

  void mutate() {
    do step();
    while (once_in(2));
    // Usually the container itself is right, so that what it holds is looked at.
    if (!once_in(8)) {
      file_.claimed = static_cast<std::uint32_t>(file_.sections.size());
      for (auto& s : file_.sections) s.claimed = s.content.size();
    }
  }

 private:
  std::size_t below(std::size_t n) { return n == 0 ? 0 : random_() % n; }
  piece& any() { return file_.sections[below(file_.sections.size())]; }

  void step() {
    if (file_.sections.empty()) return;
    piece& s = any();
    switch (below(12)) {
      case 0:
      case 1:
      case 2:
        put(s.content, 4 * below(s.content.size() / 4 + 1), telling_number(), 4);
        break;
      case 3:
        put(s.content, 4 * below(s.content.size() / 4 + 1), telling_number(), 8);
        break;
      case 4:
      case 5:
        put_element(s.content);
        break;
      case 6: {  // one place takes what stands at another
        const piece& from = any();
        const std::size_t n = std::min({std::size_t{32} << below(3), from.content.size(), s.content.size()});
        if (n == 0) break;
        const bytes copy(from.content.begin() + static_cast<std::ptrdiff_t>(below(from.content.size() - n + 1) / 4 * 4),
                         from.content.end());
        std::memcpy(s.content.data() + below(s.content.size() - n + 1) / 4 * 4, copy.data(), std::min(n, copy.size()));
        break;
      }
      case 7: {
        const std::size_t had = s.content.size();
        const std::size_t room = std::min<std::size_t>(room_, had + 64);
        s.content.resize(room);
        s.content.resize(room == 0 ? 0 : LLVMFuzzerMutate(s.content.data(), std::min(had, room), room));
        break;
      }
      case 8:
        resize(s.content, below(2) == 0 ? below(s.content.size() + 1) : s.content.size() + 4 * below(16));
        break;
      case 9:
        std::swap(s, any());
        break;
      case 10:
        if (once_in(2)) {
          if (file_.sections.size() < 12) file_.sections.push_back(piece(s));
        } else {
          file_.sections.erase(file_.sections.begin() + (&s - file_.sections.data()));
        }
        break;
      default:
        if (once_in(3)) {
          s.claimed = telling_number();
        } else if (once_in(2)) {
          s.id = static_cast<std::uint32_t>(below(12));
        } else {
          file_.claimed = static_cast<std::uint32_t>(telling_number());
        }
    }
  }

  std::uint64_t telling_number() {
    constexpr std::array<std::uint64_t, 12> edges{0,
                                                  1,
                                                  2,
                                                  3,
                                                  8,
                                                  10,
                                                  0x7fff'ffff,
                                                  0x8000'0000,
                                                  0xffff'ffff,
                                                  0xffff'ffff'ffff'ffff,
                                                  0x8000'0000'0000'0000,
                                                  std::uint64_t{1} << 40};
    switch (below(3)) {
      case 0:
        return edges[below(edges.size())] + below(3) - 1;
      case 1:
        return below(70);
      default:
        return std::uint64_t{1} << below(64);
    }
  }

  // A field element that is just right or just wrong, where one may stand.
  void put_element(bytes& into) {
    bytes element;
    const auto from = [&](const auto& limbs) {
      for (const std::uint64_t limb : limbs) {
        for (int i = 0; i < 8; ++i) element.push_back(static_cast<std::uint8_t>(limb >> (8 * i)));
      }
    };
    switch (below(6)) {
      case 0:
        from(bn254_fr::modulus);
        break;
      case 1:
        from(bn254_fp::modulus);
        break;
      case 2:
        from(bls12_381_fr::modulus);
        break;
      case 3:
        from(bls12_381_fp::modulus);
        break;
      case 4:
        element.assign(std::size_t{32} << below(3), 0);  // an element, a point of G1, of G2
        break;
      default:
        element.assign(32, 0xff);
    }
    if (once_in(2)) element[0] = static_cast<std::uint8_t>(element[0] - 1);
    if (into.size() < element.size()) return;
    std::memcpy(into.data() + below(into.size() - element.size() + 1) / 4 * 4, element.data(), element.size());
  }

  container& file_;
  std::size_t room_;
  std::minstd_rand random_;
};

// What a format's LLVMFuzzerCustomMutator does. `repair(file)` makes the counts and sizes agree with each other.
template <class Repair>
std::size_t mutate_sections(std::uint8_t* data, std::size_t size, std::size_t max_size, unsigned seed, Repair repair) {
  container file;
  if (seed % 16 == 0 || !parse(bytes(data, data + size), file)) return LLVMFuzzerMutate(data, size, max_size);
  section_mutator mutator(file, max_size, seed);
  mutator.mutate();
  if (!mutator.once_in(4)) {
    repair(file);
    if (!mutator.once_in(8)) {
      for (auto& s : file.sections) s.claimed = s.content.size();
    }
  }
  const bytes changed = serialise(file);
  const std::size_t n = std::min(changed.size(), max_size);
  std::memcpy(data, changed.data(), n);
  return n;
}

}  // namespace prover::fuzz

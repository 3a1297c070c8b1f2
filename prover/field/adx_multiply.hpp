// Montgomery multiplication with the instructions of BMI2 and ADX: mulx leaves the flags alone, and adcx and adox are
// additions with a carry each of their own, so that the low and the high halves of a row of products are added in two
// independent chains. The same "no-carry" rounds as in field.hpp (hackmd.io/@gnark/modular_multiplication).
#pragma once

#include "prover/field/integer.hpp"

#if defined(__x86_64__)
namespace prover::adx {

// The result is below twice the modulus where both operands are below the modulus; `modulus` is P::modulus of
// field.hpp. To be called only on processors that have BMI2 and ADX.
//
// Row by row: t += a * b[i], then t = (t + m * modulus) / 2^64 with the m that makes it divisible. No row carries out
// of its highest word, so both flags are clear where a chain begins; in one block, for the compiler knows nothing of
// that.
template <const integer<4>& modulus, u64 negated_inverse>
[[gnu::always_inline]] inline integer<4> multiply(const integer<4>& a, const integer<4>& b) noexcept {
  static constexpr u64 factor = negated_inverse;
  u64 t0, t1, t2, t3, t4, low, high, zero;
  asm("xor %k[zero], %k[zero]\n\t"
      "mov (%[b]), %%rdx\n\t"
      "mulx (%[a]), %[t0], %[t1]\n\t"
      "mulx 8(%[a]), %[low], %[t2]\n\t"
      "adcx %[low], %[t1]\n\t"
      "mulx 16(%[a]), %[low], %[t3]\n\t"
      "adcx %[low], %[t2]\n\t"
      "mulx 24(%[a]), %[low], %[t4]\n\t"
      "adcx %[low], %[t3]\n\t"
      "adcx %[zero], %[t4]\n\t"
      "mov %[factor], %%rdx\n\t"
      "mulx %[t0], %%rdx, %[low]\n\t"
      "mulx %[p0], %[low], %[high]\n\t"
      "adcx %[t0], %[low]\n\t"
      "mulx %[p1], %[t0], %[low]\n\t"
      "adcx %[high], %[t0]\n\t"
      "adox %[t1], %[t0]\n\t"
      "mulx %[p2], %[t1], %[high]\n\t"
      "adcx %[low], %[t1]\n\t"
      "adox %[t2], %[t1]\n\t"
      "mulx %[p3], %[t2], %[low]\n\t"
      "adcx %[high], %[t2]\n\t"
      "adox %[t3], %[t2]\n\t"
      "mov %[zero], %[t3]\n\t"
      "adcx %[low], %[t3]\n\t"
      "adox %[t4], %[t3]\n\t"
      "mov 8(%[b]), %%rdx\n\t"
      "mov %[zero], %[t4]\n\t"
      "mulx 0(%[a]), %[low], %[high]\n\t"
      "adcx %[low], %[t0]\n\t"
      "adox %[high], %[t1]\n\t"
      "mulx 8(%[a]), %[low], %[high]\n\t"
      "adcx %[low], %[t1]\n\t"
      "adox %[high], %[t2]\n\t"
      "mulx 16(%[a]), %[low], %[high]\n\t"
      "adcx %[low], %[t2]\n\t"
      "adox %[high], %[t3]\n\t"
      "mulx 24(%[a]), %[low], %[high]\n\t"
      "adcx %[low], %[t3]\n\t"
      "adox %[high], %[t4]\n\t"
      "adcx %[zero], %[t4]\n\t"
      "mov %[factor], %%rdx\n\t"
      "mulx %[t0], %%rdx, %[low]\n\t"
      "mulx %[p0], %[low], %[high]\n\t"
      "adcx %[t0], %[low]\n\t"
      "mulx %[p1], %[t0], %[low]\n\t"
      "adcx %[high], %[t0]\n\t"
      "adox %[t1], %[t0]\n\t"
      "mulx %[p2], %[t1], %[high]\n\t"
      "adcx %[low], %[t1]\n\t"
      "adox %[t2], %[t1]\n\t"
      "mulx %[p3], %[t2], %[low]\n\t"
      "adcx %[high], %[t2]\n\t"
      "adox %[t3], %[t2]\n\t"
      "mov %[zero], %[t3]\n\t"
      "adcx %[low], %[t3]\n\t"
      "adox %[t4], %[t3]\n\t"
      "mov 16(%[b]), %%rdx\n\t"
      "mov %[zero], %[t4]\n\t"
      "mulx 0(%[a]), %[low], %[high]\n\t"
      "adcx %[low], %[t0]\n\t"
      "adox %[high], %[t1]\n\t"
      "mulx 8(%[a]), %[low], %[high]\n\t"
      "adcx %[low], %[t1]\n\t"
      "adox %[high], %[t2]\n\t"
      "mulx 16(%[a]), %[low], %[high]\n\t"
      "adcx %[low], %[t2]\n\t"
      "adox %[high], %[t3]\n\t"
      "mulx 24(%[a]), %[low], %[high]\n\t"
      "adcx %[low], %[t3]\n\t"
      "adox %[high], %[t4]\n\t"
      "adcx %[zero], %[t4]\n\t"
      "mov %[factor], %%rdx\n\t"
      "mulx %[t0], %%rdx, %[low]\n\t"
      "mulx %[p0], %[low], %[high]\n\t"
      "adcx %[t0], %[low]\n\t"
      "mulx %[p1], %[t0], %[low]\n\t"
      "adcx %[high], %[t0]\n\t"
      "adox %[t1], %[t0]\n\t"
      "mulx %[p2], %[t1], %[high]\n\t"
      "adcx %[low], %[t1]\n\t"
      "adox %[t2], %[t1]\n\t"
      "mulx %[p3], %[t2], %[low]\n\t"
      "adcx %[high], %[t2]\n\t"
      "adox %[t3], %[t2]\n\t"
      "mov %[zero], %[t3]\n\t"
      "adcx %[low], %[t3]\n\t"
      "adox %[t4], %[t3]\n\t"
      "mov 24(%[b]), %%rdx\n\t"
      "mov %[zero], %[t4]\n\t"
      "mulx 0(%[a]), %[low], %[high]\n\t"
      "adcx %[low], %[t0]\n\t"
      "adox %[high], %[t1]\n\t"
      "mulx 8(%[a]), %[low], %[high]\n\t"
      "adcx %[low], %[t1]\n\t"
      "adox %[high], %[t2]\n\t"
      "mulx 16(%[a]), %[low], %[high]\n\t"
      "adcx %[low], %[t2]\n\t"
      "adox %[high], %[t3]\n\t"
      "mulx 24(%[a]), %[low], %[high]\n\t"
      "adcx %[low], %[t3]\n\t"
      "adox %[high], %[t4]\n\t"
      "adcx %[zero], %[t4]\n\t"
      "mov %[factor], %%rdx\n\t"
      "mulx %[t0], %%rdx, %[low]\n\t"
      "mulx %[p0], %[low], %[high]\n\t"
      "adcx %[t0], %[low]\n\t"
      "mulx %[p1], %[t0], %[low]\n\t"
      "adcx %[high], %[t0]\n\t"
      "adox %[t1], %[t0]\n\t"
      "mulx %[p2], %[t1], %[high]\n\t"
      "adcx %[low], %[t1]\n\t"
      "adox %[t2], %[t1]\n\t"
      "mulx %[p3], %[t2], %[low]\n\t"
      "adcx %[high], %[t2]\n\t"
      "adox %[t3], %[t2]\n\t"
      "mov %[zero], %[t3]\n\t"
      "adcx %[low], %[t3]\n\t"
      "adox %[t4], %[t3]\n\t"
      : [t0] "=&r"(t0), [t1] "=&r"(t1), [t2] "=&r"(t2), [t3] "=&r"(t3), [t4] "=&r"(t4), [low] "=&r"(low),
        [high] "=&r"(high), [zero] "=&r"(zero)
      : [a] "r"(a.data()), [b] "r"(b.data()), [factor] "m"(factor), [p0] "m"(modulus[0]), [p1] "m"(modulus[1]),
        [p2] "m"(modulus[2]), [p3] "m"(modulus[3]), "m"(a), "m"(b)
      : "rdx", "cc");
  return {t0, t1, t2, t3};
}

// In blocks, as one would need every register there is.
template <const integer<6>& modulus, u64 negated_inverse>
[[gnu::always_inline]] inline integer<6> multiply(const integer<6>& a, const integer<6>& b) noexcept {
  static constexpr u64 factor = negated_inverse;
  u64 t0, t1, t2, t3, t4, t5, top, low, high;
  u64 rdx = b[0];
  const auto reduce = [&] {
    asm("mov %[negated_inverse], %%rdx\n\t"
        "imul %[t0], %%rdx\n\t"
        "xor %k[low], %k[low]\n\t"
        "mulx %[p0], %[low], %[high]\n\t"
        "adcx %[t0], %[low]\n\t"
        "mov %[high], %[t0]\n\t"
        "adcx %[t1], %[t0]\n\t"
        "mulx %[p1], %[low], %[t1]\n\t"
        "adox %[low], %[t0]\n\t"
        "adcx %[t2], %[t1]\n\t"
        "mulx %[p2], %[low], %[t2]\n\t"
        "adox %[low], %[t1]\n\t"
        "adcx %[t3], %[t2]\n\t"
        "mulx %[p3], %[low], %[t3]\n\t"
        "adox %[low], %[t2]\n\t"
        "adcx %[t4], %[t3]\n\t"
        "mulx %[p4], %[low], %[t4]\n\t"
        "adox %[low], %[t3]\n\t"
        "adcx %[t5], %[t4]\n\t"
        "mulx %[p5], %[low], %[t5]\n\t"
        "adox %[low], %[t4]\n\t"
        "mov $0, %k[low]\n\t"
        "adcx %[low], %[t5]\n\t"
        "adox %[top], %[t5]\n\t"
        : [t0] "+r"(t0), [t1] "+r"(t1), [t2] "+r"(t2), [t3] "+r"(t3), [t4] "+r"(t4), [t5] "+r"(t5), [low] "=&r"(low),
          [high] "=&r"(high), "=&d"(rdx)
        : [top] "r"(top), [negated_inverse] "m"(factor), [p0] "m"(modulus[0]), [p1] "m"(modulus[1]),
          [p2] "m"(modulus[2]), [p3] "m"(modulus[3]), [p4] "m"(modulus[4]), [p5] "m"(modulus[5])
        : "cc");
  };
  asm("mulx (%[a]), %[t0], %[t1]\n\t"
      "mulx 8(%[a]), %[low], %[t2]\n\t"
      "add %[low], %[t1]\n\t"
      "mulx 16(%[a]), %[low], %[t3]\n\t"
      "adc %[low], %[t2]\n\t"
      "mulx 24(%[a]), %[low], %[t4]\n\t"
      "adc %[low], %[t3]\n\t"
      "mulx 32(%[a]), %[low], %[t5]\n\t"
      "adc %[low], %[t4]\n\t"
      "mulx 40(%[a]), %[low], %[top]\n\t"
      "adc %[low], %[t5]\n\t"
      "adc $0, %[top]\n\t"
      : [t0] "=&r"(t0), [t1] "=&r"(t1), [t2] "=&r"(t2), [t3] "=&r"(t3), [t4] "=&r"(t4), [t5] "=&r"(t5),
        [top] "=&r"(top), [low] "=&r"(low)
      : [a] "r"(a.data()), "d"(rdx), "m"(a)
      : "cc");
  reduce();
#pragma GCC unroll 8
  for (std::size_t i = 1; i < 6; ++i) {
    rdx = b[i];
    asm("xor %k[low], %k[low]\n\t"
        "mulx 0(%[a]), %[low], %[top]\n\t"
        "adox %[low], %[t0]\n\t"
        "adcx %[top], %[t1]\n\t"
        "mulx 8(%[a]), %[low], %[top]\n\t"
        "adox %[low], %[t1]\n\t"
        "adcx %[top], %[t2]\n\t"
        "mulx 16(%[a]), %[low], %[top]\n\t"
        "adox %[low], %[t2]\n\t"
        "adcx %[top], %[t3]\n\t"
        "mulx 24(%[a]), %[low], %[top]\n\t"
        "adox %[low], %[t3]\n\t"
        "adcx %[top], %[t4]\n\t"
        "mulx 32(%[a]), %[low], %[top]\n\t"
        "adox %[low], %[t4]\n\t"
        "adcx %[top], %[t5]\n\t"
        "mulx 40(%[a]), %[low], %[top]\n\t"
        "adox %[low], %[t5]\n\t"
        "mov $0, %k[low]\n\t"
        "adcx %[low], %[top]\n\t"
        "adox %[low], %[top]\n\t"
        : [t0] "+r"(t0), [t1] "+r"(t1), [t2] "+r"(t2), [t3] "+r"(t3), [t4] "+r"(t4), [t5] "+r"(t5), [top] "=&r"(top),
          [low] "=&r"(low)
        : [a] "r"(a.data()), "d"(rdx), "m"(a)
        : "cc");
    reduce();
  }
  return {t0, t1, t2, t3, t4, t5};
}

}  // namespace prover::adx
#endif

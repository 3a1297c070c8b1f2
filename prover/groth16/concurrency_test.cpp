// Many threads prove with many keys at once, through one engine: every proof must be valid.
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <thread>

#include "prover/circuits/synthetic.hpp"
#include "prover/setup/test_key.hpp"
#include "telltale/prover/engine.hpp"

namespace prover {
namespace {

namespace fs = std::filesystem;
using circuits::synthetic_kind;
using circuits::synthetic_request;

constexpr std::size_t threads = 8;

struct job {
  proving_key key;
  witness values;
};

job load(engine& e, const fs::path& stem) {
  auto key = e.load_key(stem.string() + ".zkey", key_checks::none);
  EXPECT_TRUE(key) << key.error().message;
  auto values = witness::load(stem.string() + ".wtns");
  EXPECT_TRUE(values) << values.error().message;
  return {std::move(*key), std::move(*values)};
}

template <class Curve>
void write_key(const fs::path& stem) {
  const auto source = format::byte_source::open(stem.string() + ".r1cs", "constraint system");
  auto system = format::read_r1cs(*source);
  ASSERT_TRUE(system) << system.error().message;
  thread_pool pool(1);
  const auto written = setup::write_test_key<Curve>(std::move(*system),
                                                    *format::byte_sink::create(stem.string() + ".zkey", "key"), pool);
  ASSERT_TRUE(written) << written.error().message;
}

job synthetic(engine& e, const synthetic_request& wanted) {
  const fs::path folder = fs::path(::testing::TempDir()) / ("telltale_concurrency_" + std::to_string(::getpid()));
  fs::create_directories(folder);
  const fs::path stem = folder / "circuit";
  const auto written =
      circuits::write_synthetic(wanted, *format::byte_sink::create(stem.string() + ".r1cs", "constraint system"),
                                *format::byte_sink::create(stem.string() + ".wtns", "witness"));
  EXPECT_TRUE(written) << written.error().message;
  wanted.curve == curve_id::bn254 ? write_key<bn254>(stem) : write_key<bls12_381>(stem);
  job made = load(e, stem);
  fs::remove_all(folder);
  return made;
}

// Each thread goes through the keys in turn, from another start.
void prove_at_once(engine& e, const std::vector<job>& jobs, std::size_t proofs_per_thread) {
  std::array<std::string, threads> problems;
  std::array<std::size_t, threads> valid{};
  const auto work = [&](std::size_t t) {
    for (std::size_t i = 0; i < proofs_per_thread; ++i) {
      const job& j = jobs[(t + i) % jobs.size()];
      const auto made = e.prove(j.key, j.values);
      if (!made) {
        problems[t] = made.error().message;
        return;
      }
      const auto verdict = e.verify(j.key.verification(), made->proof, made->signals);
      if (verdict && *verdict == engine::verdict::valid) ++valid[t];
    }
  };
  std::vector<std::thread> running;
  for (std::size_t t = 0; t < threads; ++t) running.emplace_back(work, t);
  for (auto& thread : running) thread.join();
  for (std::size_t t = 0; t < threads; ++t) {
    EXPECT_EQ(problems[t], "") << "thread " << t;
    EXPECT_EQ(valid[t], proofs_per_thread) << "thread " << t;
  }
}

TEST(threads_at_once, make_fifty_valid_proofs_each_over_four_tiny_keys) {
  engine e(3);
  std::vector<job> jobs;
  jobs.push_back(synthetic(e, {5, synthetic_kind::chain, curve_id::bn254, 1}));
  jobs.push_back(synthetic(e, {12, synthetic_kind::bits, curve_id::bls12_381, 2}));
  jobs.push_back(synthetic(e, {29, synthetic_kind::mixed, curve_id::bn254, 3}));
  jobs.push_back(synthetic(e, {60, synthetic_kind::chain, curve_id::bls12_381, 4}));
  ASSERT_EQ(jobs[0].key.domain_size(), 8U);
  ASSERT_EQ(jobs[3].key.domain_size(), 64U);
  prove_at_once(e, jobs, 50);
}

// Two proofs each, fifty with TELLTALE_TEST_LONG (./test --long): under the address sanitizer those take minutes.
TEST(threads_at_once, make_valid_proofs_over_real_keys) {
#if defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "SKIPPED: real keys take too long under the thread sanitizer; tiny ones do the same";
#endif
  const fs::path data = fs::path(PROVER_SOURCE_DIR).parent_path() / "data";
  engine e(2);
  std::vector<job> jobs;
  for (const char* name : {"semaphore-1", "semaphore-10", "semaphore-20"}) jobs.push_back(load(e, data / name));
  jobs.push_back(synthetic(e, {4000, synthetic_kind::mixed, curve_id::bls12_381, 5}));
  const bool long_version = std::getenv("TELLTALE_TEST_LONG") != nullptr;
  prove_at_once(e, jobs, long_version ? 50 : 2);
}

}  // namespace
}  // namespace prover

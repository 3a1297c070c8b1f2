// The cache of keys: gives back what was put in, and nothing else, whatever happened to the file or while it was made.
#include "prover/groth16/key_cache.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "prover/format/tiny_files.hpp"
#include "prover/vector/kernels.h"
#include "telltale/prover/engine.hpp"

namespace prover::groth16 {
namespace {

namespace fs = std::filesystem;

class key_cache : public ::testing::TestWithParam<code_path> {
 protected:
  void SetUp() override {
    if (GetParam() == code_path::ifma && !vector::available()) GTEST_SKIP() << "no AVX-512 IFMA here";
    std::string name = (fs::temp_directory_path() / "key-cache-XXXXXX").string();
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    root_ = name;
    folder = (root_ / "cache").string();
  }
  void TearDown() override { fs::remove_all(root_); }

  template <class Curve>
  key_content<Curve> content() {
    const auto source = format::byte_source::from_memory(testing::tiny_zkey<Curve>(), "tiny.zkey", "key");
    return prepare(*format::read_zkey<Curve>(source, key_checks::full, GetParam(), pool), GetParam(), pool);
  }
  std::string file() const { return cache_path(folder, digest, GetParam()); }
  auto read() { return read_cache<bn254>(folder, digest, GetParam(), pool); }
  void write() {
    const auto done = write_cache(folder, digest, content<bn254>(), pool);
    ASSERT_TRUE(done) << done.error().message;
  }
  std::string problem() {
    const auto r = read();
    return r ? *r ? "none, and a key" : "none, and no key" : r.error().message;
  }
  void overwrite(std::size_t at, char value) const {
    std::fstream f(file(), std::ios::in | std::ios::out | std::ios::binary);
    f.seekp(static_cast<std::streamoff>(at));
    f.put(value);
  }

  thread_pool pool{1};
  fs::path root_;
  std::string folder;
  const format::digest digest = format::sha256(std::as_bytes(std::span("key", 3)));
};

template <class G>
void expect_same(const msm::resident_points<G>& a, const msm::resident_points<G>& b) {
  EXPECT_EQ(a.given(), b.given());
  EXPECT_TRUE(std::ranges::equal(a.prepared().index, b.prepared().index));
  EXPECT_TRUE(std::ranges::equal(a.prepared().words, b.prepared().words));
}
void expect_same(const format::sparse_rows& a, const format::sparse_rows& b) {
  EXPECT_EQ(a.starts, b.starts);
  EXPECT_TRUE(std::ranges::equal(
      a.entries, b.entries, [](const auto& x, const auto& y) { return x.signal == y.signal && x.value == y.value; }));
}
template <class Curve>
void expect_same(const key_content<Curve>& a, const key_content<Curve>& b) {
  EXPECT_EQ(a.header.variables, b.header.variables);
  EXPECT_EQ(a.header.publics, b.header.publics);
  EXPECT_EQ(a.header.domain_size, b.header.domain_size);
  EXPECT_EQ(a.header.coefficients, b.header.coefficients);
  EXPECT_EQ(a.header.is_test_key, b.header.is_test_key);
  EXPECT_EQ(a.alpha1, b.alpha1);
  EXPECT_EQ(a.beta1, b.beta1);
  EXPECT_EQ(a.delta1, b.delta1);
  EXPECT_EQ(a.beta2, b.beta2);
  EXPECT_EQ(a.gamma2, b.gamma2);
  EXPECT_EQ(a.delta2, b.delta2);
  EXPECT_EQ(a.ic, b.ic);
  expect_same(a.a, b.a);
  expect_same(a.b1, b.b1);
  expect_same(a.b2, b.b2);
  expect_same(a.c, b.c);
  expect_same(a.h, b.h);
  expect_same(a.a_rows, b.a_rows);
  expect_same(a.b_rows, b.b_rows);
  EXPECT_EQ(a.values, b.values);
}

TEST_P(key_cache, has_nothing_at_first) {
  EXPECT_EQ(problem(), "none, and no key");
}

TEST_P(key_cache, gives_back_what_was_written) {
  write();
  const auto back = read();
  ASSERT_TRUE(back && *back) << problem();
  expect_same(**back, content<bn254>());
  struct stat s{};
  ASSERT_EQ(::stat(file().c_str(), &s), 0);
  EXPECT_EQ(s.st_mode & 0777, 0600u);
  EXPECT_FALSE(fs::exists(file() + ".part"));
}

TEST_P(key_cache, remembers_that_a_key_is_for_tests) {
  auto k = content<bn254>();
  k.header.is_test_key = true;
  const auto done = write_cache(folder, digest, k, pool);
  ASSERT_TRUE(done) << done.error().message;
  const auto back = read();
  ASSERT_TRUE(back && *back);
  EXPECT_TRUE((*back)->header.is_test_key);
}

TEST_P(key_cache, gives_back_a_key_on_bls12_381) {
  const auto done = write_cache(folder, digest, content<bls12_381>(), pool);
  ASSERT_TRUE(done) << done.error().message;
  const auto back = read_cache<bls12_381>(folder, digest, GetParam(), pool);
  ASSERT_TRUE(back && *back);
  expect_same(**back, content<bls12_381>());
}

TEST_P(key_cache, refuses_a_truncated_file) {
  write();
  const auto whole = fs::file_size(file());
  for (std::uintmax_t size = 0; size < whole; size += 97) {
    write();
    fs::resize_file(file(), size);
    EXPECT_NE(problem().find("(truncated?)"), std::string::npos) << size << ": " << problem();
  }
  write();
  EXPECT_EQ(problem(), "none, and a key");
}

// The bytes between arrays are nobody's: a change there changes nothing.
TEST_P(key_cache, refuses_a_flipped_bit_or_is_not_concerned) {
  write();
  std::string whole(fs::file_size(file()), 0);
  std::ifstream(file(), std::ios::binary).read(whole.data(), static_cast<std::streamsize>(whole.size()));
  const auto expected = content<bn254>();
  std::size_t refused = 0;
  for (std::size_t i = 0; i < whole.size(); ++i) {
    overwrite(i, static_cast<char>(whole[i] ^ (1 << i % 8)));
    const auto back = read();
    if (!back) {
      ++refused;
    } else {
      ASSERT_TRUE(*back);
      expect_same(**back, expected);
    }
    overwrite(i, whole[i]);
  }
  EXPECT_GT(refused, whole.size() / 2);
}

TEST_P(key_cache, refuses_the_file_of_another_key) {
  write();
  const auto other = format::sha256({});
  fs::rename(file(), cache_path(folder, other, GetParam()));
  const auto r = read_cache<bn254>(folder, other, GetParam(), pool);
  ASSERT_FALSE(r);
  EXPECT_NE(r.error().message.find("it belongs to another key or processor"), std::string::npos);
}

TEST_P(key_cache, refuses_the_file_of_the_other_curve) {
  write();
  const auto r = read_cache<bls12_381>(folder, digest, GetParam(), pool);
  ASSERT_FALSE(r);
  EXPECT_NE(r.error().message.find("it belongs to another key or processor"), std::string::npos);
}

TEST_P(key_cache, refuses_a_file_that_others_may_write) {
  write();
  ASSERT_EQ(::chmod(file().c_str(), 0622), 0);
  EXPECT_EQ(problem(), "cannot read key cache \"" + file() +
                           "\": others than this user may have written it. Delete it, or let it be replaced.");
}

TEST_P(key_cache, says_where_it_cannot_write) {
  std::ofstream(root_ / "file") << "not a folder";
  folder = (root_ / "file" / "cache").string();
  const auto done = write_cache(folder, digest, content<bn254>(), pool);
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().message, "cannot write key cache \"" + file() +
                                      "\": Not a directory. Check the folder, its permissions and the space on its "
                                      "disk.");
}

TEST_P(key_cache, leaves_nothing_behind_on_a_full_disk) {
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  const auto old = std::signal(SIGXFSZ, SIG_IGN);
  const rlimit small{1000, before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
  const auto done = write_cache(folder, digest, content<bn254>(), pool);
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
  std::signal(SIGXFSZ, old);
  ASSERT_FALSE(done);
  EXPECT_TRUE(fs::is_empty(folder));
}

TEST_P(key_cache, survives_the_death_of_its_writer) {
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    std::signal(SIGXFSZ, SIG_DFL);
    const rlimit small{1000, 1000};
    ::setrlimit(RLIMIT_FSIZE, &small);
    (void)write_cache(folder, digest, content<bn254>(), pool);
    ::_exit(0);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFSIGNALED(status));
  EXPECT_TRUE(fs::exists(file() + ".part"));
  EXPECT_EQ(problem(), "none, and no key");
  write();
  EXPECT_FALSE(fs::exists(file() + ".part"));
  EXPECT_EQ(problem(), "none, and a key");
}

TEST_P(key_cache, leaves_a_file_to_the_process_that_is_writing_it) {
  fs::create_directory(folder);
  const int other = ::open((file() + ".part").c_str(), O_CREAT | O_WRONLY, 0600);
  ASSERT_EQ(::flock(other, LOCK_EX), 0);
  write();
  EXPECT_FALSE(fs::exists(file()));
  EXPECT_TRUE(fs::exists(file() + ".part"));
  ::close(other);
}

INSTANTIATE_TEST_SUITE_P(both, key_cache, ::testing::Values(code_path::portable, code_path::ifma),
                         [](const auto& i) { return name_of(i.param); });

// ---- through the engine

class cached_engine : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string name = (fs::temp_directory_path() / "key-cache-XXXXXX").string();
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    root = name;
    storage.cache_folder = (root / "cache").string();
    save(testing::tiny_zkey<bn254>());
  }
  void TearDown() override { fs::remove_all(root); }

  std::string key() const { return (root / "tiny.zkey").string(); }
  void save(const testing::bytes& content) const {
    std::ofstream(key(), std::ios::binary)
        .write(reinterpret_cast<const char*>(content.data()), static_cast<std::streamsize>(content.size()));
  }
  std::size_t cached() const {
    return static_cast<std::size_t>(std::distance(fs::directory_iterator(storage.cache_folder), {}));
  }

  fs::path root;
  key_storage storage;
  engine e{1};
};

TEST_F(cached_engine, writes_one_file_per_content_of_a_key) {
  ASSERT_TRUE(e.load_key(key(), key_checks::full, storage));
  ASSERT_TRUE(e.load_key(key(), key_checks::full, storage));
  EXPECT_EQ(cached(), 1u);
  save(testing::tiny_zkey<bls12_381>());
  ASSERT_TRUE(e.load_key(key(), key_checks::full, storage));
  EXPECT_EQ(cached(), 2u);
}

TEST_F(cached_engine, keeps_only_keys_that_passed_the_full_checks) {
  ASSERT_TRUE(e.load_key(key(), key_checks::on_curve, storage));
  ASSERT_TRUE(e.load_key(key(), key_checks::none, storage));
  EXPECT_FALSE(fs::exists(storage.cache_folder));
}

// A key with a bad point, and in the cache, under its digest, a good one: only a start from the cache succeeds.
TEST_F(cached_engine, starts_from_the_cache_and_falls_back_when_it_is_damaged) {
  auto sections = testing::tiny_zkey_sections<bn254>();
  sections[6].content[0] ^= std::byte{1};
  save(testing::container("zkey", 1, sections));
  ASSERT_FALSE(e.load_key(key(), key_checks::full, storage));

  thread_pool pool(1);
  const auto digest = *format::digest_of(*format::byte_source::open(key(), "key"), pool);
  const auto good = format::byte_source::from_memory(testing::tiny_zkey<bn254>(), "tiny.zkey", "key");
  const code_path path = choose_code_path();
  ASSERT_TRUE(write_cache(storage.cache_folder, digest,
                          prepare(*format::read_zkey<bn254>(good, key_checks::full, path, pool), path, pool), pool));
  EXPECT_TRUE(e.load_key(key(), key_checks::full, storage));

  fs::resize_file(cache_path(storage.cache_folder, digest, path), 100);
  EXPECT_FALSE(e.load_key(key(), key_checks::full, storage));
}

TEST_F(cached_engine, replaces_a_damaged_file) {
  ASSERT_TRUE(e.load_key(key(), key_checks::full, storage));
  const fs::path file = fs::directory_iterator(storage.cache_folder)->path();
  const auto size = fs::file_size(file);
  fs::resize_file(file, size / 2);
  ASSERT_TRUE(e.load_key(key(), key_checks::full, storage));
  EXPECT_EQ(fs::file_size(file), size);
}

TEST_F(cached_engine, loads_without_a_cache_that_cannot_be_written) {
  storage.cache_folder = key() + "/cache";
  EXPECT_TRUE(e.load_key(key(), key_checks::full, storage));
}

}  // namespace
}  // namespace prover::groth16

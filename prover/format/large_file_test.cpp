// Keys, witnesses and circuits beyond 4 GiB: offsets and sizes are 64-bit numbers everywhere. The files are sparse, so
// that they take no space; where the file system can't do that, these tests are skipped, loudly.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "prover/format/r1cs.hpp"
#include "prover/format/tiny_files.hpp"
#include "prover/format/wtns.hpp"
#include "prover/format/zkey.hpp"

namespace prover::format {
namespace {

using prover::testing::byte_writer;
using prover::testing::bytes;
using prover::testing::file_section;

// A file that consists of sections; what isn't written is a hole of zeros.
class sparse_file {
 public:
  sparse_file(std::string_view magic, std::uint32_t version, std::uint32_t sections)
      : path_(
            (std::filesystem::path(::testing::TempDir()) / ("telltale_sparse_" + std::to_string(::getpid()))).string()),
        fd_(::open(path_.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600)) {
    auto head = prover::testing::container(magic, version, {});
    const auto count = byte_writer().u32(sections).done();
    std::copy(count.begin(), count.end(), head.begin() + 8);
    put(head);
  }
  ~sparse_file() {
    ::close(fd_);
    std::filesystem::remove(path_);
  }
  sparse_file(const sparse_file&) = delete;
  sparse_file& operator=(const sparse_file&) = delete;

  void section(const file_section& s) {
    put(byte_writer().u32(s.id).u64_(s.content.size()).done());
    put(s.content);
  }
  void hole(std::uint32_t id, u64 size) {
    put(byte_writer().u32(id).u64_(size).done());
    end_ += size;
    is_sparse_ = is_sparse_ && ::ftruncate(fd_, static_cast<off_t>(end_)) == 0;
  }

  bool is_sparse() const {
    struct stat status{};
    return is_sparse_ && ::fstat(fd_, &status) == 0 && status.st_blocks < 2 * 1024;  // of 512 bytes
  }
  byte_source source() const { return *byte_source::open(path_, "file"); }

 private:
  void put(const bytes& some) {
    const auto written = ::pwrite(fd_, some.data(), some.size(), static_cast<off_t>(end_));
    is_sparse_ = is_sparse_ && written == static_cast<ssize_t>(some.size());
    end_ += some.size();
  }

  std::string path_;
  int fd_;
  u64 end_ = 0;
  bool is_sparse_ = true;  // so far, and everything could be written
};

constexpr u64 gib = u64{1} << 30;
constexpr std::uint32_t unknown_section = 99;

// The sections behind a hole of 5 GiB.
void write_behind_a_hole(sparse_file& file, const std::vector<file_section>& sections) {
  file.hole(unknown_section, 5 * gib);
  for (const auto& s : sections) file.section(s);
}

#define SKIP_UNLESS_SPARSE(file) \
  if (!(file).is_sparse()) GTEST_SKIP() << "SKIPPED: no sparse files in " << ::testing::TempDir()

template <class Curve>
class large_file : public ::testing::Test {};
using curves = ::testing::Types<bn254, bls12_381>;
TYPED_TEST_SUITE(large_file, curves);

TYPED_TEST(large_file, key_is_read_from_behind_4_gib) {
  sparse_file file("zkey", 1, 10);
  write_behind_a_hole(file, prover::testing::tiny_zkey_sections<TypeParam>());
  SKIP_UNLESS_SPARSE(file);
  thread_pool pool(2);
  const auto key = read_zkey<TypeParam>(file.source(), key_checks::full, code_path::portable, pool);
  ASSERT_TRUE(key) << key.error().message;
  EXPECT_EQ(key->header.variables, prover::testing::tiny_variables);
  EXPECT_EQ(key->h.back(), TypeParam::g1::generator());
}

TYPED_TEST(large_file, witness_is_read_from_behind_4_gib) {
  sparse_file file("wtns", 2, 3);
  write_behind_a_hole(file, prover::testing::tiny_wtns_sections<TypeParam>());
  SKIP_UNLESS_SPARSE(file);
  const auto read = read_wtns(file.source());
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->values.back(), small_integer<4>(prover::testing::tiny_variables));
}

TYPED_TEST(large_file, circuit_is_read_from_behind_4_gib) {
  sparse_file file("r1cs", 1, 4);
  write_behind_a_hole(file, prover::testing::tiny_r1cs_sections<TypeParam>());
  SKIP_UNLESS_SPARSE(file);
  const auto read = read_r1cs(file.source());
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->terms.size(), 6u);
}

// Every section of points above 4 GiB by itself: no product of a count and a size may lose its upper bits.
TYPED_TEST(large_file, key_may_have_sections_above_4_gib) {
  constexpr u64 point = 2 * sizeof(typename TypeParam::fp);
  constexpr std::uint32_t variables = 100'000'000;
  constexpr std::uint32_t domain = 1U << 27;
  const auto header_of = [&] {
    auto all = prover::testing::tiny_zkey_sections<TypeParam>();
    auto& content = all[1].content;
    const auto counts = byte_writer().u32(variables).u32(1).u32(domain).done();
    std::copy(counts.begin(), counts.end(), content.begin() + 4 + sizeof(typename TypeParam::fp) + 4 + 32);
    return all[1];
  };
  const auto write = [&](sparse_file& file, u64 a_points) {
    file.section({1, byte_writer().u32(1).done()});
    file.section(header_of());
    file.hole(3, 2 * point);
    file.hole(4, 4);  // no coefficients
    file.hole(5, a_points * point);
    file.hole(6, variables * point);
    file.hole(7, variables * 2 * point);
    file.hole(8, (variables - 2) * point);
    file.hole(9, domain * point);
  };
  {
    sparse_file file("zkey", 1, 9);
    write(file, variables);
    SKIP_UNLESS_SPARSE(file);
    const auto read = read_zkey_header(file.source());
    ASSERT_TRUE(read) << read.error().message;
    EXPECT_EQ(read->variables, variables);
    EXPECT_EQ(read->domain_size, domain);
  }
  // One whose size lacks 4 GiB is told from one that has them.
  sparse_file file("zkey", 1, 9);
  constexpr u64 fewer = variables - (u64{1} << 32) / point;
  write(file, fewer);
  const auto read = read_zkey_header(file.source());
  ASSERT_FALSE(read);
  EXPECT_NE(read.error().message.find("section 5 (the A points) has " + grouped(fewer * point) +
                                      " bytes, and its header asks for " + grouped(variables * point)),
            std::string::npos)
      << read.error().message;
}

}  // namespace
}  // namespace prover::format

// A listener hears every stage of a proof, in order, and can stop it at each.
#include <gtest/gtest.h>

#include <filesystem>
#include <stdexcept>
#include <string>
#include <vector>

#include "telltale/prover/engine.hpp"

namespace prover {
namespace {

const std::vector<std::string> all_stages{"evaluate_rows", "intt_c", "intt_a",   "intt_b",   "ntt_a",
                                          "ntt_b",         "ntt_c",  "quotient", "msm_h",    "msm_a",
                                          "msm_b1",        "msm_b2", "msm_c",    "assemble", "verify"};

struct counting_listener final : stage_listener {
  std::size_t until = SIZE_MAX;
  bool throws = false;
  std::vector<std::string> heard;

  bool begins(const char* stage) override {
    heard.emplace_back(stage);
    if (heard.size() <= until) return true;
    if (throws) throw std::runtime_error("the listener's own");
    return false;
  }
};

class stages_of_a_proof : public ::testing::Test {
 protected:
  static std::string file(const char* name) {
    return (std::filesystem::path(PROVER_SOURCE_DIR).parent_path() / "data" / name).string();
  }
  engine e{2};
  telltale::result<proving_key> key = e.load_key(file("semaphore-1.zkey"), key_checks::none);
  telltale::result<witness> values = witness::load(file("semaphore-1.wtns"));
};

TEST_F(stages_of_a_proof, are_heard_once_each_in_order) {
  ASSERT_TRUE(key && values);
  counting_listener all;
  ASSERT_TRUE(e.prove(*key, *values, &all));
  EXPECT_EQ(all.heard, all_stages);
}

TEST_F(stages_of_a_proof, can_be_stopped_at_each) {
  ASSERT_TRUE(key && values);
  for (std::size_t i = 0; i < all_stages.size(); ++i) {
    counting_listener some;
    some.until = i;
    const auto made = e.prove(*key, *values, &some);
    ASSERT_FALSE(made) << all_stages[i];
    EXPECT_EQ(made.error().message, "the proof was stopped before it was made. Ask for it again.");
    EXPECT_EQ(some.heard.size(), i + 1);
  }
}

TEST_F(stages_of_a_proof, end_with_what_the_listener_throws) {
  ASSERT_TRUE(key && values);
  counting_listener some;
  some.until = 3;
  some.throws = true;
  EXPECT_THROW((void)e.prove(*key, *values, &some), std::runtime_error);
  EXPECT_TRUE(e.prove(*key, *values));
}

}  // namespace
}  // namespace prover

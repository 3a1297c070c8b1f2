// Random mixes of kinds, priorities, deadlines, batches, faults, cancels, evictions, wrong sizes and full disks, in a
// world whose clock moves as told. Always: never above the budget, never two proofs on one lane; in the end: exactly
// one answer for each accepted job, and the ledger back to what is set aside.
#include <gtest/gtest.h>

#include <cstdlib>
#include <random>

#include "prover/daemon/testing/simulation.hpp"

namespace prover::daemon {
namespace {

using namespace std::chrono_literals;
using testing::kind_named;
using testing::simulation;

class random_world {
 public:
  explicit random_world(std::uint64_t seed) : random_(seed), w_(setting()) {
    // Some keys turn out larger than they were thought to be.
    for (auto& e : w_.sizes) e.key += chance(30) ? between(0, 300) : 0;
  }

  void run(int steps) {
    for (int i = 0; i < steps; ++i) {
      step();
      check();
    }
  }

  // No new jobs, and everything ends: what runs is ended, and where nothing runs the clock goes to the next time that
  // the scheduler itself asked for.
  void finish() {
    for (int i = 0; i < 100'000 && (w_.plan.unfinished() != 0 || something_runs()); ++i) {
      if (something_runs()) {
        end_something();
      } else {
        const auto wake = w_.plan.next_wake(w_.now);
        ASSERT_NE(wake, steady_time::max()) << "jobs wait, and nothing would ever wake them";
        w_.now = wake;
        w_.settle();
      }
      check();
    }
    ASSERT_EQ(w_.plan.unfinished(), 0U);
    for (const auto& j : jobs_) {
      EXPECT_EQ(w_.answers[j->entry.id.value], 1) << j->entry.id.value;
      ASSERT_TRUE(j->result);
      ++ended[j->result->how];
      nanoseconds sum{0};
      for (const auto& p : j->result->times.phases) sum += p.wall;
      // The split of an instant among phases may lose a nanosecond for each piece of it.
      EXPECT_NEAR(static_cast<double>(sum.count()), static_cast<double>(j->result->times.total.count()), 1e4);
      EXPECT_EQ(j->result->proofs.size(), j->result->how == outcome::completed ? j->pieces.size() : 0);
      EXPECT_EQ(j->result->why.what == failure_class::none, j->result->how != outcome::failed);
    }
    // Keys are all that is left.
    for (std::size_t k = 0; k < w_.plan.kinds().size(); ++k) ASSERT_TRUE(w_.plan.evict(k, w_.now));
    w_.settle();
    while (something_runs()) end_something();
    EXPECT_EQ(w_.plan.memory().reserved(), 10U);
    EXPECT_EQ(w_.alive, 0);
  }

  // The daemon stops in the middle: what has no answer stays without, and nothing is held.
  void stop() {
    w_.plan.give_up(w_.now);
    w_.settle();
    while (something_runs()) {
      end_something();
      check();
    }
    EXPECT_EQ(w_.plan.active(), 0U);
    std::size_t left = 0;
    for (const auto& j : jobs_) {
      EXPECT_LE(w_.answers[j->entry.id.value], 1);
      if (w_.answers[j->entry.id.value] == 0) ++left;
    }
    // Full disks aside, whose jobs stay too.
    EXPECT_EQ(left, w_.plan.unfinished());
    for (const auto& [owner, bytes] : w_.plan.memory().by_owner()) EXPECT_FALSE(owner.starts_with("job ")) << owner;
  }

  std::map<outcome, int> ended;

 private:
  simulation::setting setting() {
    simulation::setting s;
    const auto kinds = between(1, 5);
    std::size_t largest = 0;
    for (std::size_t k = 0; k < kinds; ++k) {
      kind one = kind_named("kind" + std::to_string(k));
      one.preload = chance(20);
      one.table_bytes = chance(50) ? between(1, 200) : 0;
      s.kinds.push_back(one);
      s.sizes.push_back({between(1, 400), between(0, 100), between(1, 50), between(1, 100)});
      const auto& e = s.sizes.back();
      largest = std::max(largest, e.key + e.loading + e.witness + e.working + 1);
    }
    s.devices = static_cast<unsigned>(between(1, 4));
    s.bounds = simulation::bounds(10 + largest + between(0, 1500));
    s.bounds.ageing = std::chrono::seconds(between(1, 60));
    s.bounds.evict_idle = chance(50) ? nanoseconds(std::chrono::seconds(between(1, 20))) : nanoseconds{0};
    s.bounds.quarantine = std::chrono::seconds(between(1, 5));
    s.bounds.prepared_ahead = static_cast<unsigned>(between(0, 3));
    return s;
  }

  std::size_t between(std::size_t a, std::size_t b) {
    return std::uniform_int_distribution<std::size_t>(a, b)(random_);
  }
  bool chance(std::size_t percent) { return between(1, 100) <= percent; }

  bool something_runs() const {
    for (const auto& d : w_.proving) {
      if (!d.empty()) return true;
    }
    return !(w_.loading.empty() && w_.unloading.empty() && w_.preparing.empty() && w_.storing.empty());
  }

  void end_something() {
    for (;;) {
      switch (between(0, 4)) {
        case 0:
          if (w_.loading.empty()) break;
          return w_.end_load(between(0, w_.loading.size() - 1),
                             chance(10) ? std::optional(failure{failure_class::key, "no such file"}) : std::nullopt);
        case 1:
          if (w_.unloading.empty()) break;
          return w_.end_unload(between(0, w_.unloading.size() - 1));
        case 2:
          if (w_.preparing.empty()) break;
          return w_.end_preparation(
              between(0, w_.preparing.size() - 1),
              chance(10) ? std::optional(failure{failure_class::bad_input, "truncated"}) : std::nullopt);
        case 3: {
          const auto d = between(0, w_.proving.size() - 1);
          if (w_.proving[d].empty()) break;
          if (w_.proving[d][0].job->stop.stop_requested() && chance(80)) return w_.end_proof(d, device::stopped{});
          const auto dice = between(1, 100);
          if (dice <= 10) return w_.end_proof(d, device::fault{"it fell off the bus"});
          if (dice <= 15) return w_.end_proof(d, failure{failure_class::unsatisfied, "no"});
          return w_.end_proof(d);
        }
        default:
          if (w_.storing.empty()) break;
          return w_.end_store(between(0, w_.storing.size() - 1), chance(90));
      }
    }
  }

  void step() {
    const auto dice = between(1, 100);
    if (dice <= 30) {
      const auto deadline =
          chance(30) ? std::optional<nanoseconds>(std::chrono::milliseconds(between(1, 20'000))) : std::nullopt;
      w_.form = chance(30) ? payload_form::inputs : payload_form::wtns;
      jobs_.push_back(w_.submit(between(0, w_.plan.kinds().size() - 1), static_cast<priority>(between(0, 3)), deadline,
                                chance(20) ? between(2, 6) : 1));
    } else if (dice <= 70) {
      if (something_runs()) end_something();
    } else if (dice <= 85) {
      w_.pass(std::chrono::milliseconds(between(1, 3'000)));
    } else if (dice <= 93) {
      if (jobs_.empty()) return;
      w_.plan.cancel(*jobs_[between(0, jobs_.size() - 1)], w_.now);
      w_.settle();
    } else if (dice <= 96) {
      (void)w_.plan.evict(between(0, w_.plan.kinds().size() - 1), w_.now);
      w_.settle();
    } else {
      (void)w_.plan.preload(between(0, w_.plan.kinds().size() - 1), w_.now);
      w_.settle();
    }
  }

  void check() {
    const ledger& m = w_.plan.memory();
    ASSERT_LE(m.reserved(), m.budget());
    std::size_t sum = 0;
    for (const auto& [owner, bytes] : m.by_owner()) sum += bytes;
    ASSERT_EQ(sum, m.reserved());
    for (const auto& d : w_.proving) ASSERT_LE(d.size(), 1U);
    // Whoever waits has a reason.
    for (const auto& j : w_.plan.jobs()) {
      if (j->ends) continue;
      for (const auto& p : j->pieces) {
        const bool waits = p.at == piece::state::queued || p.at == piece::state::ready;
        ASSERT_TRUE(!waits || p.reason != wait_reason::none);
      }
    }
  }

  std::mt19937_64 random_;
  simulation w_;
  std::vector<job_pointer> jobs_;
};

std::uint64_t seeds() {
  return std::getenv("TELLTALE_TEST_LONG") != nullptr ? 5'000 : 150;
}

TEST(every_accepted_job, ends_in_exactly_one_answer) {
  std::map<outcome, int> ended;
  for (std::uint64_t seed = 1; seed <= seeds(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    random_world w(seed);
    w.run(300);
    w.finish();
    for (const auto& [how, n] : w.ended) ended[how] += n;
    if (HasFatalFailure() || HasNonfatalFailure()) return;
  }
  // The mix is one.
  for (const auto how : {outcome::completed, outcome::failed, outcome::cancelled, outcome::expired}) {
    EXPECT_GT(ended[how], 100) << telltale_name(how);
  }
}

TEST(every_accepted_job, is_answered_or_kept_where_the_daemon_stops) {
  for (std::uint64_t seed = 1; seed <= seeds(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    random_world w(seed);
    w.run(150);
    w.stop();
    if (HasFatalFailure() || HasNonfatalFailure()) return;
  }
}

}  // namespace
}  // namespace prover::daemon

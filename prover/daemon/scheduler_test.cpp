// The scheduler's decisions, one by one.
#include <gtest/gtest.h>

#include "prover/daemon/testing/simulation.hpp"

namespace prover::daemon {
namespace {

using namespace std::chrono_literals;
using testing::kind_named;
using testing::simulation;

// Key 100, 20 more while it is loaded; a job 41: payload 1, witness 10, working set 30.
constexpr size_estimate usual{100, 20, 10, 30};

simulation::setting world(std::size_t memory, std::size_t kinds = 1, unsigned devices = 1) {
  simulation::setting s;
  for (std::size_t k = 0; k < kinds; ++k) {
    s.kinds.push_back(kind_named("kind" + std::to_string(k)));
    s.sizes.push_back(usual);
  }
  s.devices = devices;
  s.bounds = simulation::bounds(memory);
  return s;
}

job_view look(const simulation& w, const job_pointer& j) {
  return w.plan.view(*j, w.now);
}

TEST(scheduler, a_job_goes_its_way_and_gets_one_answer) {
  simulation w(world(1000));
  const auto j = w.submit(0);
  ASSERT_EQ(w.loading.size(), 1U);
  ASSERT_EQ(w.preparing.size(), 1U);
  EXPECT_EQ(look(w, j).state, job_state::preparing);
  w.pass(10ms);
  w.end_preparation(0);
  EXPECT_EQ(look(w, j).waits_for, wait_reason::key);
  w.pass(10ms);
  w.end_load(0);
  EXPECT_EQ(look(w, j).state, job_state::proving);
  EXPECT_EQ(w.plan.memory().by_owner().at("key kind0"), 100U);
  w.pass(10ms);
  w.end_proof(0);
  ASSERT_EQ(w.storing.size(), 1U);
  EXPECT_EQ(j->result->how, outcome::completed);
  EXPECT_EQ(j->result->proofs.size(), 1U);
  EXPECT_TRUE(j->result->cold);
  w.end_store(0);
  EXPECT_EQ(w.answers["job0"], 1);
  EXPECT_EQ(w.plan.unfinished(), 0U);

  // 10 ms of witness, 10 of waiting for the key, 10 of msm: that is all.
  const timing& t = j->result->times;
  EXPECT_EQ(t.total, 30ms);
  ASSERT_EQ(t.phases.size(), 3U);
  EXPECT_EQ(t.phases[0].name, "witness");
  EXPECT_EQ(t.phases[1].name, "wait_key");
  EXPECT_EQ(t.phases[2].name, "msm");
  for (const auto& p : t.phases) EXPECT_EQ(p.wall, 10ms) << p.name;
  EXPECT_EQ(t.phases[1].busy, 0ms);
  EXPECT_EQ(t.phases[2].busy, 10ms);
}

TEST(scheduler, ten_jobs_for_a_cold_key_cause_one_load) {
  simulation w(world(1000));
  for (int i = 0; i < 10; ++i) w.submit(0);
  EXPECT_EQ(w.loading.size(), 1U);
  w.run_dry();
  EXPECT_EQ(w.plan.unfinished(), 0U);
  EXPECT_EQ(w.alive, 1);
}

TEST(scheduler, a_cold_kind_does_not_stop_another) {
  simulation w(world(1000, 2));
  w.submit(1);
  w.run_dry();
  for (int i = 0; i < 20; ++i) w.submit(0);  // cold
  const auto warm = w.submit(1);
  ASSERT_EQ(w.loading.size(), 1U);
  while (warm->pieces[0].at != piece::state::proving && !w.preparing.empty()) w.end_preparation(0);
  EXPECT_EQ(look(w, warm).state, job_state::proving);
}

TEST(scheduler, generators_that_hang_keep_no_other_kind_waiting) {
  simulation w(world(100'000, 3));
  w.form = payload_form::inputs;
  std::vector<job_pointer> hanging;
  for (int i = 0; i < 5; ++i) hanging.push_back(w.submit(0));
  const auto generated = w.submit(1);
  w.form = payload_form::wtns;
  const auto read = w.submit(2);
  while (!w.loading.empty()) w.end_load(0);
  // Two of the hanging kind, the other kind's generator, and the witness that is only read.
  ASSERT_EQ(w.preparing.size(), 4U);
  EXPECT_EQ(look(w, generated).state, job_state::preparing);
  EXPECT_EQ(look(w, read).state, job_state::preparing);
  w.end_preparation(3);
  w.end_preparation(2);
  while (!read->result || !generated->result) {
    ASSERT_FALSE(w.proving[0].empty());
    w.end_proof(0);
  }
  for (const auto& j : hanging) EXPECT_FALSE(j->result);
  EXPECT_EQ(look(w, hanging[4]).waits_for, wait_reason::turn);
  w.run_dry();
  for (const auto& j : hanging) EXPECT_EQ(j->result->how, outcome::completed);
}

TEST(scheduler, an_urgent_job_comes_next_though_all_places_are_taken) {
  simulation w(world(10000));
  w.submit(0);
  w.run_dry();
  for (int i = 0; i < 50; ++i) w.submit(0);
  while (!w.preparing.empty()) w.end_preparation(0);
  ASSERT_EQ(w.proving[0].size(), 1U);
  const auto urgent = w.submit(0, priority::urgent);
  while (!w.preparing.empty()) w.end_preparation(0);
  w.end_proof(0);
  ASSERT_EQ(w.proving[0].size(), 1U);
  EXPECT_EQ(w.proving[0][0].job, urgent);
}

TEST(scheduler, of_one_priority_the_earlier_deadline_comes_first) {
  simulation w(world(10000));
  const auto late = w.submit(0, priority::normal, 10h);
  const auto none = w.submit(0);
  while (!w.preparing.empty()) w.end_preparation(0);
  const auto soon = w.submit(0, priority::normal, 1h);
  EXPECT_EQ(w.plan.ahead_of(*soon, w.now), 0U);
  w.end_load(0);
  EXPECT_EQ(w.proving[0][0].job, late);
  while (!w.preparing.empty()) w.end_preparation(0);
  w.end_proof(0);
  EXPECT_EQ(w.proving[0][0].job, soon);
}

TEST(scheduler, a_low_job_is_not_starved_by_urgent_ones) {
  simulation w(world(10000));
  w.submit(0);
  w.run_dry();
  for (int i = 0; i < 5; ++i) w.submit(0, priority::urgent);
  const auto waiting = w.submit(0, priority::low);
  // One proof takes a second, and there is always another urgent job.
  for (int i = 0; i < 200 && !waiting->result; ++i) {
    w.submit(0, priority::urgent);
    w.submit(0, priority::urgent);
    while (!w.preparing.empty()) w.end_preparation(0);
    w.pass(1s);
    w.end_proof(0);
    while (!w.storing.empty()) w.end_store(0);
  }
  ASSERT_TRUE(waiting->result);
  // Three steps of 30 s lie between low and urgent; then those that came before it.
  EXPECT_GE(waiting->result->times.total, 90s);
  EXPECT_LE(waiting->result->times.total, 190s);
}

TEST(scheduler, memory_is_waited_for_with_a_reason_and_never_exceeded) {
  // Room for one key with its load and one job.
  simulation w(world(10 + 120 + 41, 2));
  const auto first = w.submit(0);
  const auto second = w.submit(1);
  EXPECT_EQ(look(w, second).waits_for, wait_reason::memory);
  EXPECT_NE(look(w, second).explanation.find("most have key kind0"), std::string::npos) << look(w, second).explanation;
  w.run_dry();
  EXPECT_EQ(first->result->how, outcome::completed);
  EXPECT_EQ(second->result->how, outcome::completed);
  EXPECT_EQ(w.alive, 1);  // the first key had to go
  EXPECT_LE(w.plan.memory().high_water(), w.plan.memory().budget());
}

TEST(scheduler, small_jobs_pass_one_that_waits_for_memory_but_not_for_ever) {
  auto s = world(1000, 2);
  s.sizes[1] = {500, 100, 10, 300};  // needs nearly all of it
  simulation w(s);
  w.submit(0);
  w.run_dry();
  w.submit(0);
  const auto large = w.submit(1);
  EXPECT_EQ(look(w, large).waits_for, wait_reason::memory);
  int passed = 0;
  for (int i = 0; i < 100 && !large->result; ++i) {
    w.submit(0);
    while (!w.preparing.empty()) w.end_preparation(0);
    w.pass(1s);
    if (!w.proving[0].empty()) w.end_proof(0);
    while (!w.unloading.empty()) w.end_unload(0);
    while (!w.loading.empty()) w.end_load(0);
    if (!large->result) ++passed;
  }
  ASSERT_TRUE(large->result);
  EXPECT_GE(passed, 25);
  EXPECT_LE(passed, 40);
}

TEST(scheduler, what_can_never_fit_is_known_beforehand) {
  simulation w(world(10 + 120 + 40));
  EXPECT_EQ(w.plan.largest_payload(0), 0U);
  simulation smaller(world(10 + 120 + 39));
  EXPECT_EQ(smaller.plan.largest_payload(0), std::nullopt);
  EXPECT_FALSE(smaller.plan.preload(0, smaller.now));
}

TEST(scheduler, a_key_larger_than_thought_is_loaded_again_with_enough_room) {
  simulation w(world(1000));
  w.sizes[0].key = 300;
  const auto j = w.submit(0);
  // Nothing else is free for it to grow into.
  auto filler = w.plan.memory().free();
  ASSERT_GT(filler, 300U);
  w.run_dry();
  EXPECT_EQ(j->result->how, outcome::completed);

  simulation tight(world(10 + 120 + 41));
  tight.sizes[0].key = 300;
  const auto never = tight.submit(0);
  tight.run_dry();
  ASSERT_TRUE(never->result);
  EXPECT_EQ(never->result->how, outcome::failed);
  EXPECT_EQ(never->result->why.what, failure_class::memory);
  EXPECT_EQ(tight.alive, 0);
}

TEST(scheduler, an_idle_key_goes_by_the_timer_alone) {
  auto s = world(1000);
  s.bounds.evict_idle = 60s;
  simulation w(s);
  w.submit(0);
  w.run_dry();
  EXPECT_EQ(w.plan.next_wake(w.now), w.now + 60s);
  w.pass(59s);
  EXPECT_TRUE(w.unloading.empty());
  w.pass(1s);
  ASSERT_EQ(w.unloading.size(), 1U);
  w.end_unload(0);
  EXPECT_EQ(w.plan.memory().reserved(), 10U);
}

TEST(scheduler, eviction_is_refused_while_the_key_is_used_and_says_by_whom) {
  simulation w(world(1000));
  w.submit(0);
  EXPECT_NE(w.plan.evict(0, w.now).error().message.find("job0"), std::string::npos);
  w.run_dry();
  const auto freed = w.plan.evict(0, w.now);
  ASSERT_TRUE(freed);
  EXPECT_EQ(*freed, 100U);
  w.settle();
  w.run_dry();
  EXPECT_EQ(w.alive, 0);
  EXPECT_EQ(*w.plan.evict(0, w.now), 0U);
}

TEST(scheduler, a_key_that_cannot_be_loaded_ends_its_jobs_and_the_next_one_tries_again) {
  simulation w(world(1000));
  const auto first = w.submit(0);
  const auto second = w.submit(0);
  w.end_load(0, failure{failure_class::key, "no such file"});
  while (!w.preparing.empty()) w.end_preparation(0);
  EXPECT_EQ(first->result->why.what, failure_class::key);
  EXPECT_EQ(second->result->why.message, "no such file");
  w.run_dry();
  const auto third = w.submit(0);
  w.run_dry();
  EXPECT_EQ(third->result->how, outcome::completed);
}

TEST(scheduler, preloaded_keys_are_loaded_at_start_and_stay) {
  auto s = world(1000, 2);
  s.kinds[0].preload = true;
  s.kinds[0].table_bytes = 50;
  s.bounds.evict_idle = 1s;
  simulation w(s);
  w.settle();
  ASSERT_EQ(w.loading.size(), 1U);
  EXPECT_EQ(w.loading[0].table_bytes, 50U);
  w.end_load(0);
  w.pass(100s);
  EXPECT_TRUE(w.unloading.empty());
  status now;
  w.plan.describe(now, w.now);
  EXPECT_EQ(now.keys[0].tier, residency_tier::hot);
  EXPECT_EQ(now.keys[0].bytes, 150U);
  EXPECT_EQ(now.keys[1].tier, residency_tier::cold);
}

TEST(scheduler, tables_are_left_out_where_there_is_no_room_for_them) {
  auto s = world(10 + 120 + 41);
  s.kinds[0].table_bytes = 500;
  simulation w(s);
  const auto j = w.submit(0);
  ASSERT_EQ(w.loading.size(), 1U);
  EXPECT_EQ(w.loading[0].table_bytes, 0U);
  w.run_dry();
  EXPECT_EQ(j->result->how, outcome::completed);
}

TEST(scheduler, a_key_without_tables_gets_them_when_there_is_room_and_nobody_needs_it) {
  auto s = world(10 + 240 + 300, 2);
  s.kinds[0].table_bytes = 200;
  s.bounds.evict_idle = 60s;
  s.sizes[1].key = 300;
  simulation w(s);
  w.submit(1);
  w.run_dry();  // 300 of 540 are another's
  w.submit(0);
  w.run_dry();
  status before;
  w.plan.describe(before, w.now);
  EXPECT_EQ(before.keys[0].tier, residency_tier::warm);
  w.pass(11s);
  EXPECT_TRUE(w.unloading.empty());
  ASSERT_TRUE(w.plan.evict(1, w.now));
  w.settle();
  w.run_dry();
  w.settle();
  w.run_dry();
  status after;
  w.plan.describe(after, w.now);
  EXPECT_EQ(after.keys[0].tier, residency_tier::hot);
  EXPECT_EQ(after.keys[0].bytes, 300U);
}

TEST(scheduler, work_of_a_faulty_device_is_done_elsewhere) {
  simulation w(world(10000, 1, 2));
  const auto j = w.submit(0);
  w.end_preparation(0);
  w.end_load(0);
  ASSERT_EQ(w.proving[0].size(), 1U);
  w.end_proof(0, device::fault{"it fell off the bus"});
  EXPECT_FALSE(j->result);
  w.run_dry();
  ASSERT_TRUE(j->result);
  EXPECT_EQ(j->result->how, outcome::completed);
  EXPECT_EQ(j->result->device, "gpu1");
  EXPECT_EQ(j->result->attempts, 2U);
}

TEST(scheduler, with_every_device_faulty_a_job_waits_and_tries_again_and_ends) {
  simulation w(world(10000, 1, 1));
  const auto j = w.submit(0);
  w.end_preparation(0);
  w.end_load(0);
  w.end_proof(0, device::fault{"once"});
  EXPECT_EQ(look(w, j).waits_for, wait_reason::faulty);
  EXPECT_NE(look(w, j).explanation.find("gpu0 comes back in 10.0 s"), std::string::npos) << look(w, j).explanation;
  w.pass(10s);
  ASSERT_EQ(w.proving[0].size(), 1U);
  w.end_proof(0, device::fault{"twice"});
  w.pass(19s);
  EXPECT_TRUE(w.proving[0].empty());
  w.pass(1s);
  ASSERT_EQ(w.proving[0].size(), 1U);
  w.end_proof(0, device::fault{"thrice"});
  ASSERT_TRUE(j->result);
  EXPECT_EQ(j->result->why.what, failure_class::device);
  EXPECT_NE(j->result->why.message.find("thrice"), std::string::npos);
}

TEST(scheduler, work_stays_where_its_key_is_until_waiting_costs_more_than_a_load) {
  simulation w(world(100000, 1, 2));
  w.submit(0);
  w.pass(1s);
  w.end_load(0, {}, 10s);
  w.end_preparation(0);
  w.pass(1s);
  w.run_dry();
  // A proof takes one second, a load ten.
  for (int i = 0; i < 4; ++i) w.submit(0);
  EXPECT_TRUE(w.loading.empty());
  EXPECT_EQ(w.plan.view(*w.plan.jobs().front(), w.now).state, job_state::preparing);
}

TEST(scheduler, four_devices_share_the_work) {
  auto s = world(100000, 1, 4);
  simulation w(s);
  w.load_threads = w.preparing_threads = 8;
  for (int i = 0; i < 40; ++i) {
    w.submit(0);
    w.pass(1ms);
  }
  while (!w.loading.empty()) w.end_load(0, {}, 1ms);
  while (!w.preparing.empty()) w.end_preparation(0);
  int busy = 0;
  for (const auto& d : w.proving) busy += d.empty() ? 0 : 1;
  EXPECT_EQ(busy, 4);
  w.run_dry();
  EXPECT_EQ(w.plan.unfinished(), 0U);
}

TEST(scheduler, cancel_takes_effect_at_once_in_the_queue_and_at_the_boundary_on_a_device) {
  simulation w(world(1000));
  const auto running = w.submit(0);
  w.end_preparation(0);
  w.end_load(0);
  const auto waiting = w.submit(0);
  w.pass(1ms);
  EXPECT_TRUE(w.plan.cancel(*running, w.now));
  EXPECT_FALSE(w.plan.cancel(*running, w.now));
  EXPECT_TRUE(running->stop.stop_requested());
  EXPECT_FALSE(running->result);
  EXPECT_TRUE(look(w, running).cancelling);
  w.end_proof(0, device::stopped{});
  EXPECT_EQ(running->result->how, outcome::cancelled);
  EXPECT_EQ(running->result->times.phases.back().name, "msm");
  w.end_preparation(0);
  const auto queued = w.submit(0, priority::low);
  (void)waiting;
  EXPECT_TRUE(w.plan.cancel(*queued, w.now));
  w.settle();
  while (!queued->result && !w.preparing.empty()) w.end_preparation(0);
  EXPECT_EQ(queued->result->how, outcome::cancelled);
  w.run_dry();
  EXPECT_EQ(w.plan.memory().reserved(), 110U);  // the key, and what is set aside
}

TEST(scheduler, a_deadline_ends_a_job_wherever_it_is) {
  simulation w(world(1000));
  const auto j = w.submit(0, priority::normal, 5s);
  EXPECT_EQ(w.plan.next_wake(w.now), w.now + 5s);
  w.end_preparation(0);
  w.pass(5s);
  ASSERT_TRUE(j->result);
  EXPECT_EQ(j->result->how, outcome::expired);
  EXPECT_EQ(j->result->times.total, 5s);
  w.run_dry();
  EXPECT_EQ(w.plan.memory().reserved(), 110U);
}

TEST(scheduler, a_stage_that_hangs_keeps_its_memory_but_not_the_answer) {
  simulation w(world(1000));
  const auto j = w.submit(0, priority::normal, 5s);
  w.end_preparation(0);
  w.end_load(0);
  w.pass(5s);
  EXPECT_FALSE(j->result);
  EXPECT_EQ(w.plan.next_wake(w.now), w.now + 5s);
  w.pass(5s);
  ASSERT_TRUE(j->result);
  EXPECT_EQ(j->result->how, outcome::expired);
  while (!w.storing.empty()) w.end_store(0);
  EXPECT_EQ(w.plan.unfinished(), 0U);
  EXPECT_EQ(w.plan.memory().reserved(), 150U);
  EXPECT_FALSE(w.plan.evict(0, w.now));
  w.end_proof(0);
  EXPECT_EQ(w.plan.memory().reserved(), 110U);
  EXPECT_EQ(w.answers["job0"], 1);
}

TEST(scheduler, what_lasts_too_long_is_said_once_and_shown_until_it_ends) {
  auto s = world(1000);
  s.bounds.slow = 60s;
  simulation w(s);
  const auto j = w.submit(0);
  w.end_preparation(0);
  w.pass(60s);
  const auto load = w.plan.newly_slow(w.now);
  ASSERT_EQ(load.size(), 1U);
  EXPECT_EQ(load[0].key, "key kind0");
  EXPECT_EQ(load[0].lasts, 60s);
  EXPECT_TRUE(w.plan.newly_slow(w.now).empty());
  w.end_load(0);
  ASSERT_EQ(w.proving[0].size(), 1U);
  j->pieces[0].stage.begins("msm_h", w.now);
  EXPECT_EQ(w.plan.next_wake(w.now), w.now + 60s);
  w.pass(59s);
  EXPECT_TRUE(w.plan.newly_slow(w.now).empty());
  EXPECT_FALSE(look(w, j).slow);
  w.pass(1s);
  const auto stage = w.plan.newly_slow(w.now);
  ASSERT_EQ(stage.size(), 1U);
  EXPECT_EQ(stage[0].job, j);
  EXPECT_STREQ(stage[0].stage, "msm_h");
  EXPECT_TRUE(w.plan.newly_slow(w.now).empty());
  EXPECT_TRUE(look(w, j).slow);
  status all;
  w.plan.describe(all, w.now);
  EXPECT_EQ(all.slow, 1U);
  // The next stage begins anew.
  j->pieces[0].stage.begins("msm_a", w.now);
  EXPECT_FALSE(look(w, j).slow);
  w.run_dry();
  EXPECT_EQ(w.answers["job0"], 1);
}

TEST(scheduler, a_batch_is_one_job_whose_proofs_come_in_order) {
  simulation w(world(10000, 1, 4));
  w.load_threads = w.preparing_threads = 8;
  const auto j = w.submit(0, priority::normal, {}, 10);
  int proofs = 0;
  while (!j->result) {
    while (!w.loading.empty()) w.end_load(0, {}, 1ms);
    while (!w.preparing.empty()) w.end_preparation(w.preparing.size() - 1);
    for (std::size_t d = 0; d < 4; ++d) {
      if (w.proving[d].empty()) continue;
      w.pass(10ms);
      const auto piece = w.proving[d][0].piece;
      w.end_proof(d, proof_text{"proof " + std::to_string(piece), "signals"});
      ++proofs;
    }
  }
  EXPECT_EQ(proofs, 10);
  ASSERT_EQ(j->result->proofs.size(), 10U);
  for (std::size_t i = 0; i < 10; ++i) EXPECT_EQ(j->result->proofs[i].proof, "proof " + std::to_string(i));
  nanoseconds sum{0};
  for (const auto& p : j->result->times.phases) sum += p.wall;
  EXPECT_EQ(sum, j->result->times.total);
}

TEST(scheduler, a_bad_payload_ends_its_whole_batch) {
  simulation w(world(10000));
  const auto j = w.submit(0, priority::normal, {}, 3);
  w.end_preparation(1, failure{failure_class::bad_input, "truncated"});
  while (!w.preparing.empty()) w.end_preparation(0);
  ASSERT_TRUE(j->result);
  EXPECT_EQ(j->result->why.what, failure_class::bad_input);
  EXPECT_TRUE(j->result->proofs.empty());
}

TEST(scheduler, a_result_that_cannot_be_stored_is_tried_again) {
  simulation w(world(1000));
  const auto j = w.submit(0);
  w.end_preparation(0);
  w.end_load(0);
  w.end_proof(0);
  w.end_store(0, false);
  EXPECT_TRUE(w.storing.empty());
  EXPECT_EQ(look(w, j).waits_for, wait_reason::journal);
  EXPECT_EQ(w.plan.next_wake(w.now), w.now + 1s);
  w.pass(1s);
  ASSERT_EQ(w.storing.size(), 1U);
  w.end_store(0);
  EXPECT_EQ(w.plan.unfinished(), 0U);
}

TEST(scheduler, giving_up_lets_everything_go_and_answers_nobody_wrongly) {
  simulation w(world(1000));
  const auto running = w.submit(0);
  w.end_preparation(0);
  w.end_load(0);
  const auto queued = w.submit(0);
  w.plan.give_up(w.now);
  w.settle();
  EXPECT_TRUE(running->stop.stop_requested());
  w.end_proof(0, device::stopped{});
  while (!w.preparing.empty()) w.end_preparation(0);
  EXPECT_FALSE(running->result);
  EXPECT_FALSE(queued->result);
  EXPECT_EQ(w.plan.unfinished(), 2U);
  EXPECT_EQ(w.plan.active(), 0U);
  EXPECT_EQ(w.plan.memory().reserved(), 110U);
}

}  // namespace
}  // namespace prover::daemon

// The service with its threads: on fake devices, and with the real engine on a small real key.
#include "prover/daemon/service.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <future>
#include <random>
#include <set>
#include <telltale/core/metric_snapshot.hpp>
#include <telltale/core/telltale.hpp>
#include <telltale/core/trace_model.hpp>

#include "prover/daemon/cpu_device.hpp"
#include "prover/daemon/testing/fake_device.hpp"
#include "prover/daemon/testing/memory_journal.hpp"
#include "prover/daemon/testing/tiny_witness.hpp"

namespace prover::daemon {
namespace {

using namespace std::chrono_literals;
using testing::fake_device;
using testing::memory_journal;
using testing::tiny_wtns;
namespace fs = std::filesystem;

constexpr auto patience = 60s;  // for what must come; never waited for in full

kind kind_named(const std::string& name) {
  kind k;
  k.name = name;
  return k;
}

limits small_limits(std::size_t memory = 100'000) {
  limits l;
  l.memory = memory;
  l.request_memory = 5'000;
  l.process_memory = 0;
  l.quarantine = 1ms;
  l.retry = 20ms;
  return l;
}

request one(const std::string& kind, std::vector<std::byte> content = tiny_wtns()) {
  request r;
  r.kind = kind;
  r.payloads.push_back({payload_form::wtns, std::move(content)});
  return r;
}

accepted taken(const std::variant<accepted, refusal>& answer) {
  if (const auto* no = std::get_if<refusal>(&answer)) {
    ADD_FAILURE() << no->message;
    return {};
  }
  return std::get<accepted>(answer);
}

awaited answer_of(service& s, const job_id& id, std::optional<nanoseconds> timeout = patience) {
  std::promise<awaited> promise;
  auto future = promise.get_future();
  s.await(id, timeout, [&](const awaited& a) { promise.set_value(a); });
  return future.get();
}

job_result result_of(service& s, const job_id& id) {
  const awaited a = answer_of(s, id);
  EXPECT_EQ(a.what, awaited::answer::finished);
  return a.result ? *a.result : job_result{};
}

class fakes : public ::testing::Test {
 protected:
  // A service on `n` fakes that all behave alike.
  std::unique_ptr<service> make(std::vector<kind> kinds, fake_device::behaviour b = {}, unsigned n = 1,
                                limits l = small_limits()) {
    std::vector<std::unique_ptr<device>> devices;
    for (unsigned i = 0; i < n; ++i) {
      auto d = std::make_unique<fake_device>("gpu" + std::to_string(i), b);
      gpus.push_back(d.get());
      devices.push_back(std::move(d));
    }
    auto s = std::make_unique<service>(std::move(l), std::move(kinds), std::move(devices), journal, reader);
    EXPECT_TRUE(s->start());
    return s;
  }
  memory_journal journal;
  wtns_reader reader;
  std::vector<fake_device*> gpus;
};

TEST_F(fakes, a_job_is_proved_and_a_late_await_still_gets_the_answer) {
  const auto s = make({kind_named("k")});
  const auto a = taken(s->submit(one("k")));
  const job_result first = result_of(*s, a.id);
  EXPECT_EQ(first.how, outcome::completed);
  ASSERT_EQ(first.proofs.size(), 1U);
  EXPECT_EQ(first.proofs[0].proof, "proof of k");
  EXPECT_EQ(result_of(*s, a.id).proofs[0].proof, "proof of k");
  EXPECT_EQ(s->find(a.id)->state, job_state::finished);
  EXPECT_EQ(answer_of(*s, {"nobody"}).what, awaited::answer::unknown);
  EXPECT_EQ(journal.starts(a.id), 1U);
}

TEST_F(fakes, what_cannot_be_accepted_is_refused_with_a_reason) {
  kind k = kind_named("k");
  k.max_payload = 4'000;
  k.max_batch = 2;
  auto l = small_limits(6'000);
  const auto s = make({k}, {}, 1, l);
  const auto why = [&](request r) {
    const auto answer = s->submit(std::move(r));
    const auto* no = std::get_if<refusal>(&answer);
    return no != nullptr ? std::optional(no->why) : std::nullopt;
  };
  EXPECT_EQ(why(one("other")), refusal_reason::unknown_kind);
  EXPECT_EQ(why(one("k", {})), refusal_reason::bad_request);
  EXPECT_EQ(why(request{"k", {}, {}, {}, {}}), refusal_reason::bad_request);
  request three = one("k");
  three.payloads.push_back(three.payloads[0]);
  three.payloads.push_back(three.payloads[0]);
  EXPECT_EQ(why(three), refusal_reason::bad_request);
  request over = one("k");
  over.deadline = 0ns;
  EXPECT_EQ(why(over), refusal_reason::bad_request);
  EXPECT_EQ(why(one("k", std::vector<std::byte>(4'001))), refusal_reason::too_large);
  EXPECT_EQ(why(one("k", std::vector<std::byte>(3'000))), refusal_reason::too_large);  // above the budget
  journal.full = true;
  EXPECT_EQ(why(one("k")), refusal_reason::journal);
  journal.full = false;
  EXPECT_EQ(why(one("k")), std::nullopt);
  const status now = s->get_status();
  EXPECT_EQ(now.total.refused.at(refusal_reason::too_large), 2U);
  EXPECT_EQ(now.total.accepted, 1U);
}

TEST_F(fakes, an_idempotency_key_joins_the_same_request_and_refuses_another) {
  const auto s = make({kind_named("k"), kind_named("other")});
  request r = one("k");
  r.idempotency_key = "mine";
  const auto first = taken(s->submit(r));
  EXPECT_FALSE(first.joined);
  const auto second = taken(s->submit(r));
  EXPECT_TRUE(second.joined);
  EXPECT_EQ(second.id, first.id);
  result_of(*s, first.id);
  EXPECT_EQ(taken(s->submit(r)).id, first.id);
  request changed = r;
  changed.payloads[0].content.push_back(std::byte{1});
  const auto conflict = s->submit(changed);
  ASSERT_TRUE(std::holds_alternative<refusal>(conflict));
  EXPECT_EQ(std::get<refusal>(conflict).why, refusal_reason::key_conflict);
  changed = r;
  changed.kind = "other";
  EXPECT_TRUE(std::holds_alternative<refusal>(s->submit(changed)));
  EXPECT_EQ(gpus[0]->begun, 1);
}

TEST_F(fakes, threads_that_submit_one_key_at_once_make_one_job) {
  const auto s = make({kind_named("k")});
  std::vector<std::thread> threads;
  std::array<job_id, 8> ids;
  for (auto& id : ids) {
    threads.emplace_back([&] {
      request r = one("k");
      r.idempotency_key = "mine";
      id = taken(s->submit(std::move(r))).id;
    });
  }
  for (auto& t : threads) t.join();
  for (const auto& id : ids) EXPECT_EQ(id, ids[0]);
  result_of(*s, ids[0]);
  EXPECT_EQ(gpus[0]->begun, 1);
}

TEST_F(fakes, a_full_queue_refuses_and_says_when_to_come_again) {
  fake_device::behaviour slow;
  slow.stage = 20ms;
  auto l = small_limits();
  l.queued_jobs = 3;
  const auto s = make({kind_named("k")}, slow, 1, l);
  std::optional<refusal> no;
  int taken_in = 0;
  for (int i = 0; i < 50 && !no; ++i) {
    auto answer = s->submit(one("k"));
    if (auto* r = std::get_if<refusal>(&answer)) {
      no = *r;
    } else {
      ++taken_in;
    }
  }
  ASSERT_TRUE(no);
  EXPECT_EQ(no->why, refusal_reason::queue_full);
  ASSERT_TRUE(no->retry_after);
  EXPECT_GE(*no->retry_after, 100ms);
  EXPECT_GE(taken_in, 3);
}

TEST_F(fakes, a_thousand_waits_cost_no_threads_and_are_all_answered) {
  fake_device::behaviour slow;
  slow.stage = 5ms;
  const auto s = make({kind_named("k")}, slow);
  const auto a = taken(s->submit(one("k")));
  std::promise<void> all;
  std::atomic<int> answered{0};
  for (int i = 0; i < 1000; ++i) {
    s->await(a.id, std::nullopt, [&](const awaited& got) {
      EXPECT_EQ(got.what, awaited::answer::finished);
      if (++answered == 1000) all.set_value();
    });
  }
  ASSERT_EQ(all.get_future().wait_for(patience), std::future_status::ready);
}

TEST_F(fakes, a_wait_ends_by_its_own_time_and_the_job_goes_on) {
  fake_device::behaviour slow;
  slow.stage = 50ms;
  const auto s = make({kind_named("k")}, slow);
  const auto a = taken(s->submit(one("k")));
  EXPECT_EQ(answer_of(*s, a.id, 1ms).what, awaited::answer::timed_out);
  EXPECT_EQ(result_of(*s, a.id).how, outcome::completed);
}

TEST_F(fakes, a_wait_that_was_taken_back_is_not_answered) {
  fake_device::behaviour slow;
  slow.stage = 10ms;
  const auto s = make({kind_named("k")}, slow);
  const auto a = taken(s->submit(one("k")));
  std::atomic<bool> told{false};
  const auto place = s->await(a.id, std::nullopt, [&](const awaited&) { told = true; });
  s->unsubscribe(place);
  result_of(*s, a.id);
  EXPECT_FALSE(told);
}

TEST_F(fakes, a_watcher_sees_the_stages_and_the_end) {
  fake_device::behaviour slow;
  slow.stage = 20ms;
  const auto s = make({kind_named("k")}, slow);
  const auto a = taken(s->submit(one("k")));
  std::promise<void> end;
  std::vector<progress> steps;
  ASSERT_NE(s->watch(a.id,
                     [&](const progress& p) {
                       steps.push_back(p);
                       if (p.last) end.set_value();
                     }),
            0U);
  ASSERT_EQ(end.get_future().wait_for(patience), std::future_status::ready);
  EXPECT_EQ(steps.back().job.state, job_state::finished);
  EXPECT_EQ(steps.back().job.how, outcome::completed);
  const auto saw = [&](const std::string& phase) {
    return std::any_of(steps.begin(), steps.end(), [&](const auto& p) { return p.job.phase == phase; });
  };
  EXPECT_TRUE(saw("msm"));
  EXPECT_EQ(s->watch(a.id, [](const progress&) {}), 0U);
}

TEST_F(fakes, cancel_stops_a_proof_at_its_next_stage) {
  fake_device::behaviour slow;
  slow.stage = 5ms;
  slow.stages = 100'000;
  const auto s = make({kind_named("k")}, slow);
  const auto a = taken(s->submit(one("k")));
  // A later stage than the first: that one's time is then known.
  while (s->find(a.id)->phase != "msm") std::this_thread::sleep_for(1ms);
  EXPECT_EQ(s->cancel(a.id), cancel_answer::at_next_boundary);
  const auto r = result_of(*s, a.id);
  EXPECT_EQ(r.how, outcome::cancelled);
  EXPECT_TRUE(std::any_of(r.times.phases.begin(), r.times.phases.end(), [](const auto& p) { return p.name == "ntt"; }));
  EXPECT_EQ(s->cancel(a.id), cancel_answer::already_finished);
  EXPECT_EQ(s->cancel({"nobody"}), cancel_answer::unknown);
}

TEST_F(fakes, a_deadline_ends_a_proof_that_would_take_for_ever) {
  fake_device::behaviour slow;
  slow.stage = 5ms;
  slow.stages = 100'000;
  const auto s = make({kind_named("k")}, slow);
  request r = one("k");
  r.deadline = 50ms;
  const auto got = result_of(*s, taken(s->submit(r)).id);
  EXPECT_EQ(got.how, outcome::expired);
  EXPECT_GE(got.times.total, 50ms);
}

TEST_F(fakes, a_journal_without_space_keeps_nobody_waiting_and_is_caught_up_with) {
  fake_device::behaviour slow;
  slow.stage = 10ms;
  const auto s = make({kind_named("k")}, slow);
  const auto a = taken(s->submit(one("k")));
  journal.full = true;
  EXPECT_EQ(result_of(*s, a.id).how, outcome::completed);
  EXPECT_EQ(result_of(*s, a.id).how, outcome::completed);  // from memory
  EXPECT_EQ(s->find(a.id)->waits_for, wait_reason::journal);
  journal.full = false;
  while (journal.finishes(a.id) == 0) std::this_thread::sleep_for(5ms);
  EXPECT_EQ(journal.finishes(a.id), 1U);
}

TEST_F(fakes, unfinished_jobs_run_after_a_restart_and_finished_ones_do_not) {
  fake_device::behaviour slow;
  slow.stage = 20ms;
  std::vector<job_id> ids;
  {
    const auto s = make({kind_named("k")}, slow);
    for (int i = 0; i < 6; ++i) ids.push_back(taken(s->submit(one("k"))).id);
    result_of(*s, ids[0]);
    std::promise<awaited> told;
    s->await(ids[5], std::nullopt, [&](const awaited& a) { told.set_value(a); });
    s->stop();
    EXPECT_EQ(told.get_future().get().what, awaited::answer::stopping);
    EXPECT_EQ(answer_of(*s, ids[5]).what, awaited::answer::stopping);
    const auto no = s->submit(one("k"));
    ASSERT_TRUE(std::holds_alternative<refusal>(no));
    EXPECT_EQ(std::get<refusal>(no).why, refusal_reason::draining);
  }
  EXPECT_LE(journal.starts(ids[3]), 1U);
  const auto again = make({kind_named("k")});
  for (const auto& id : ids) {
    EXPECT_EQ(result_of(*again, id).how, outcome::completed);
    EXPECT_EQ(journal.finishes(id), 1U);
  }
}

TEST_F(fakes, a_job_that_ends_the_daemon_each_time_is_given_up) {
  journal_entry e;
  e.id = {"0123456789abcdef"};
  e.kind = "k";
  e.parts.resize(1);
  e.starts = small_limits().starts;
  const payload p{payload_form::wtns, tiny_wtns()};
  ASSERT_TRUE(journal.accept(e, std::span(&p, 1)));
  const auto s = make({kind_named("k")});
  const auto r = result_of(*s, e.id);
  EXPECT_EQ(r.why.what, failure_class::internal);
  EXPECT_EQ(gpus[0]->begun, 0);
}

TEST_F(fakes, drain_lets_everything_end_that_was_accepted) {
  fake_device::behaviour slow;
  slow.stage = 1ms;
  const auto s = make({kind_named("k")}, slow);
  std::vector<job_id> ids;
  for (int i = 0; i < 10; ++i) ids.push_back(taken(s->submit(one("k"))).id);
  EXPECT_EQ(s->drain(patience), 0U);
  for (const auto& id : ids) EXPECT_EQ(journal.finishes(id), 1U);
}

TEST_F(fakes, a_cold_key_is_loaded_once_for_many_jobs_and_another_kind_goes_on) {
  fake_device::behaviour b;
  b.loading = 30ms;
  std::vector<job_id> ids;
  const auto s = make({kind_named("a"), kind_named("b")}, b);
  for (int i = 0; i < 10; ++i) ids.push_back(taken(s->submit(one(i % 2 == 0 ? "a" : "b"))).id);
  for (const auto& id : ids) EXPECT_EQ(result_of(*s, id).how, outcome::completed);
  EXPECT_EQ(gpus[0]->loads, 2);
  const auto freed = s->evict("a");
  ASSERT_TRUE(freed) << freed.error().message;
  EXPECT_EQ(*freed, 100U);
  while (gpus[0]->keys_alive != 1) std::this_thread::sleep_for(1ms);
  ASSERT_TRUE(s->preload("a"));
  while (gpus[0]->keys_alive != 2) std::this_thread::sleep_for(1ms);
  EXPECT_FALSE(s->preload("nothing"));
}

TEST_F(fakes, spans_lines_and_the_answer_tell_the_same_phases) {
  const auto recording = std::make_shared<telltale::recording>();
  telltale::add_sink(recording);
  fake_device::behaviour failing;
  failing.proof_fails = [](const kind& k) -> std::optional<device::proved> {
    if (k.name == "bad") return failure{failure_class::unsatisfied, "the witness does not satisfy the circuit"};
    return std::nullopt;
  };
  const auto s = make({kind_named("good"), kind_named("bad")}, failing);
  const auto good = taken(s->submit(one("good")));
  const auto bad = taken(s->submit(one("bad")));
  const auto good_result = result_of(*s, good.id);
  const auto bad_result = result_of(*s, bad.id);
  s->stop();
  telltale::flush();
  telltale::remove_sink(recording);

  for (const auto& [id, result] : {std::pair(good.id, good_result), std::pair(bad.id, bad_result)}) {
    nanoseconds sum{0};
    std::set<std::string> phases;
    for (const auto& p : result.times.phases) {
      sum += p.wall;
      phases.insert(p.name);
    }
    EXPECT_LE(std::abs((sum - result.times.total).count()), result.times.total.count() / 100);
    for (const char* phase : {"parse", "witness", "ntt", "msm"}) EXPECT_TRUE(phases.contains(phase)) << phase;
  }
  EXPECT_EQ(bad_result.why.what, failure_class::unsatisfied);

  const telltale::trace_tree tree(recording->take());
  int roots = 0;
  for (const auto& span : tree.spans()) {
    if (span.name != "prove_groth16") continue;
    ++roots;
    const auto* id = span.find("job_id");
    ASSERT_NE(id, nullptr);
    const bool is_good = telltale::to_string(*id) == good.id.value;
    EXPECT_EQ(span.failed, !is_good);
    EXPECT_EQ(telltale::to_string(*span.find("outcome")), is_good ? "completed" : "failed");
  }
  EXPECT_EQ(roots, 2);
  for (const auto& span : tree.spans()) {
    if (span.name != "parse" && span.name != "witness" && span.name != "queue" && span.name != "prove") continue;
    EXPECT_NE(span.find("job_id"), nullptr) << span.name;
  }
  bool told = false;
  for (const auto& line : recording->take_lines()) {
    if (line.message.find("does not satisfy") == std::string::npos) continue;
    told = true;
    EXPECT_TRUE(std::any_of(line.attributes.begin(), line.attributes.end(), [&](const auto& a) {
      return a.first == "job_id" && telltale::to_string(a.second) == bad.id.value;
    }));
  }
  EXPECT_TRUE(told);
}

// The figures that /metrics has agree with what was done.
TEST_F(fakes, metrics_count_what_happened) {
  const auto value = [](const std::string& name, const std::string& labels) {
    double sum = 0;
    for (const auto& m : telltale::snapshot_metrics().metrics) {
      if (m.name != name) continue;
      for (const auto& p : m.numbers) {
        if (p.labels->exposition.find(labels) == std::string::npos) continue;
        sum += std::visit([](auto v) { return static_cast<double>(v); }, p.value);
      }
      for (const auto& p : m.histograms) {
        if (p.labels->exposition.find(labels) != std::string::npos) sum += static_cast<double>(p.count);
      }
    }
    return sum;
  };
  const auto s = make({kind_named("counted")});
  for (int i = 0; i < 5; ++i) result_of(*s, taken(s->submit(one("counted"))).id);
  while (s->get_status().jobs_by_state.size() != 0) std::this_thread::sleep_for(1ms);
  EXPECT_EQ(value("prover.jobs.accepted", "kind=\"counted\""), 5);
  EXPECT_EQ(value("prover.jobs.ended", "kind=\"counted\""), 5);
  EXPECT_EQ(value("prover.job.duration", "kind=\"counted\""), 5);
  EXPECT_EQ(value("prover.phase.duration", "kind=\"counted\",phase=\"msm\""), 5);
  EXPECT_EQ(value("prover.memory.budget", ""), 100'000);
  EXPECT_EQ(value("prover.keys.resident", "kind=\"counted\""), 100);
  EXPECT_EQ(value("prover.memory.reserved", "owner=\"requests\""), 5'000);
  EXPECT_EQ(value("prover.key.load.duration", "kind=\"counted\""), 1);
}

// Many threads do everything at once on four devices that fault; then the service stops in the middle of it, and
// another one takes up the rest.
TEST_F(fakes, everything_at_once_ends_in_one_answer_each) {
  std::atomic<unsigned> dice{0};
  fake_device::behaviour wild;
  wild.sizes = {1'000, 100, 50, 200};
  wild.proof_fails = [&](const kind&) -> std::optional<device::proved> {
    switch (dice++ % 13) {
      case 3:
        return device::fault{"it fell off the bus"};
      case 7:
        return failure{failure_class::unsatisfied, "no"};
      case 11:
        throw std::runtime_error("a device's own");
      default:
        return std::nullopt;
    }
  };
  wild.load_fails = [&](const kind&) -> std::optional<failure> {
    if (dice++ % 17 == 5) return failure{failure_class::key, "no such file"};
    return std::nullopt;
  };
  std::vector<kind> kinds{kind_named("a"), kind_named("b"), kind_named("c")};
  auto l = small_limits(14'000);
  std::mutex mutex;
  std::vector<job_id> ids;
  {
    const auto s = make(kinds, wild, 4, l);
    std::vector<std::thread> threads;
    for (unsigned t = 0; t < 4; ++t) {
      threads.emplace_back([&, t] {
        std::mt19937 random(t);
        for (int i = 0; i < 40; ++i) {
          request r = one(kinds[random() % 3].name);
          if (random() % 4 == 0) r.payloads.push_back(r.payloads[0]);
          if (random() % 6 == 0) r.payloads[0].content.resize(20);
          if (random() % 5 == 0) r.deadline = std::chrono::milliseconds(1 + random() % 20);
          r.priority = static_cast<priority>(random() % 4);
          const auto answer = s->submit(std::move(r));
          if (!std::holds_alternative<accepted>(answer)) continue;
          const job_id id = std::get<accepted>(answer).id;
          {
            const std::lock_guard lock(mutex);
            ids.push_back(id);
          }
          const auto place = s->await(id, 1ms, [](const awaited&) {});
          if (random() % 3 == 0) s->unsubscribe(place);
          s->watch(id, [](const progress&) {});
          if (random() % 7 == 0) s->cancel(id);
          if (random() % 11 == 0) (void)s->evict(kinds[random() % 3].name);
          if (random() % 9 == 0) {
            const auto now = s->get_status();
            EXPECT_LE(now.ledger.high_water, now.ledger.budget);
          }
        }
      });
    }
    for (auto& t : threads) t.join();
    s->stop();
    const auto now = s->get_status();
    for (const auto& [owner, bytes] : now.ledger.by_owner) EXPECT_FALSE(owner.starts_with("job ")) << owner;
  }
  const auto s = make(kinds, {}, 4, l);
  std::map<outcome, int> ended;
  for (const auto& id : ids) {
    ++ended[result_of(*s, id).how];
    EXPECT_EQ(journal.finishes(id), 1U) << id.value;
  }
  EXPECT_GT(ids.size(), 100U);
  EXPECT_GT(ended[outcome::completed], 0);
  EXPECT_GT(ended[outcome::failed], 0);
}

// ---- the real engine

class real_engine : public ::testing::Test {
 protected:
  static std::string data(const std::string& name) {
    return (fs::path(PROVER_SOURCE_DIR).parent_path() / "data" / name).string();
  }
  static std::vector<std::byte> content_of(const std::string& path) {
    std::ifstream in(path, std::ios::binary);
    const std::vector<char> chars{std::istreambuf_iterator<char>(in), {}};
    std::vector<std::byte> all(chars.size());
    std::memcpy(all.data(), chars.data(), chars.size());
    return all;
  }
  static kind semaphore(const std::string& key = data("semaphore-1.zkey")) {
    kind k = kind_named("semaphore-1");
    k.key = key;
    k.verification_key = data("semaphore-1.vkey.json");
    k.checks = key_checks::none;
    return k;
  }
  std::unique_ptr<service> make(const kind& k) {
    limits l;
    l.memory = std::size_t{512} << 20;
    l.look = 20ms;
    std::vector<std::unique_ptr<device>> devices;
    devices.push_back(std::make_unique<cpu_device>(cpu_device::options{2, 1, {}}));
    auto s = std::make_unique<service>(l, std::vector<kind>{k}, std::move(devices), journal, reader);
    EXPECT_TRUE(s->start());
    return s;
  }
  memory_journal journal;
  wtns_reader reader;
};

TEST_F(real_engine, proofs_are_valid_and_their_breakdown_is_whole) {
  const auto s = make(semaphore());
  const auto wtns = content_of(data("semaphore-1.wtns"));
  std::vector<job_id> ids;
  for (int i = 0; i < 5; ++i) ids.push_back(taken(s->submit(one("semaphore-1", wtns))).id);
  engine e(1);
  const auto vkey = verification_key::load(data("semaphore-1.vkey.json"));
  ASSERT_TRUE(vkey);
  for (const auto& id : ids) {
    const auto r = result_of(*s, id);
    ASSERT_EQ(r.how, outcome::completed) << r.why.message;
    const auto p = proof::from_json(r.proofs[0].proof, "proof", vkey->curve());
    const auto signals = public_signals::from_json(r.proofs[0].signals, "public", vkey->curve());
    ASSERT_TRUE(p && signals);
    EXPECT_EQ(*e.verify(*vkey, *p, *signals), engine::verdict::valid);
    nanoseconds sum{0};
    std::set<std::string> phases;
    for (const auto& phase : r.times.phases) {
      sum += phase.wall;
      phases.insert(phase.name);
    }
    EXPECT_LE(std::abs((sum - r.times.total).count()), r.times.total.count() / 100);
    for (const char* phase : {"parse", "witness", "evaluate_rows", "intt_c", "ntt_a", "quotient", "msm_h", "msm_a",
                              "msm_b1", "msm_b2", "msm_c", "assemble", "verify"}) {
      EXPECT_TRUE(phases.contains(phase)) << phase;
    }
  }
  const auto now = s->get_status();
  EXPECT_LE(now.ledger.high_water, now.ledger.budget);
  EXPECT_EQ(now.keys[0].tier, residency_tier::warm);
}

TEST_F(real_engine, bad_witnesses_fail_each_in_its_class) {
  const auto s = make(semaphore());
  const auto good = content_of(data("semaphore-1.wtns"));
  auto flipped = good;
  flipped[flipped.size() - 32] ^= std::byte{1};
  auto truncated = good;
  truncated.resize(good.size() / 2);
  const auto a = taken(s->submit(one("semaphore-1", flipped)));
  const auto b = taken(s->submit(one("semaphore-1", truncated)));
  const auto c = taken(s->submit(one("semaphore-1", content_of(data("semaphore-10.wtns")))));
  request inputs = one("semaphore-1", good);
  inputs.payloads[0].form = payload_form::inputs;
  const auto d = taken(s->submit(std::move(inputs)));
  EXPECT_EQ(result_of(*s, a.id).why.what, failure_class::unsatisfied);
  EXPECT_EQ(result_of(*s, b.id).why.what, failure_class::bad_input);
  EXPECT_EQ(result_of(*s, c.id).why.what, failure_class::bad_input);
  EXPECT_EQ(result_of(*s, d.id).why.what, failure_class::bad_input);
  EXPECT_FALSE(result_of(*s, a.id).times.phases.empty());
}

TEST_F(real_engine, a_key_file_that_goes_away_matters_only_while_it_is_cold) {
  const fs::path copy = fs::path(::testing::TempDir()) / ("telltale_daemon_" + std::to_string(::getpid()) + ".zkey");
  fs::copy_file(data("semaphore-1.zkey"), copy, fs::copy_options::overwrite_existing);
  const auto wtns = content_of(data("semaphore-1.wtns"));
  const auto s = make(semaphore(copy.string()));
  EXPECT_EQ(result_of(*s, taken(s->submit(one("semaphore-1", wtns))).id).how, outcome::completed);

  fs::resize_file(copy, 1000);  // loaded: what is loaded stays in use
  EXPECT_EQ(result_of(*s, taken(s->submit(one("semaphore-1", wtns))).id).how, outcome::completed);
  while (s->get_status().keys[0].problem.empty()) std::this_thread::sleep_for(20ms);
  EXPECT_NE(s->get_status().keys[0].problem.find("was truncated"), std::string::npos);

  ASSERT_TRUE(s->evict("semaphore-1"));
  while (s->get_status().keys[0].tier != residency_tier::cold) std::this_thread::sleep_for(1ms);
  const auto truncated = result_of(*s, taken(s->submit(one("semaphore-1", wtns))).id);
  EXPECT_EQ(truncated.why.what, failure_class::key);
  EXPECT_NE(truncated.why.message.find("truncated"), std::string::npos) << truncated.why.message;

  fs::remove(copy);
  EXPECT_EQ(result_of(*s, taken(s->submit(one("semaphore-1", wtns))).id).why.what, failure_class::key);
  fs::copy_file(data("semaphore-1.zkey"), copy);
  EXPECT_EQ(result_of(*s, taken(s->submit(one("semaphore-1", wtns))).id).how, outcome::completed);
  fs::remove(copy);
}

TEST_F(real_engine, a_key_that_is_not_there_is_said_when_a_job_is_submitted) {
  const auto s = make(semaphore("/nowhere/x.zkey"));
  const auto answer = s->submit(one("semaphore-1"));
  ASSERT_TRUE(std::holds_alternative<refusal>(answer));
  EXPECT_EQ(std::get<refusal>(answer).why, refusal_reason::key);
}

}  // namespace
}  // namespace prover::daemon

// What the journal keeps, forgets and refuses.
#include "prover/daemon/journal/journal_sqlite.hpp"

#include <gtest/gtest.h>
#include <sqlite3.h>
#include <sys/resource.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <thread>

#include "prover/format/digest.hpp"

namespace prover::daemon {
namespace {

using namespace std::chrono_literals;
namespace fs = std::filesystem;

std::vector<std::byte> content(const std::string& text) {
  const auto* begin = reinterpret_cast<const std::byte*>(text.data());
  return {begin, begin + text.size()};
}

class Journal : public testing::Test {
 protected:
  Journal() {
    settings_.directory = testing::TempDir() + "journal-" + std::to_string(::getpid());
    fs::remove_all(settings_.directory);
  }
  ~Journal() override {
    journal_.reset();
    fs::remove_all(settings_.directory);
  }
  void open() {
    journal_.reset();
    auto opened = journal_sqlite::open(settings_);
    ASSERT_TRUE(opened) << opened.error().message;
    journal_ = std::move(*opened);
  }
  std::string refused() {
    journal_.reset();
    auto opened = journal_sqlite::open(settings_);
    return opened ? "(opened)" : opened.error().message;
  }

  static journal_entry entry(const std::string& id, const std::vector<payload>& payloads, const std::string& key = {}) {
    journal_entry e;
    e.id = {id};
    e.idempotency_key = key;
    e.request = format::sha256(content("request " + id));
    e.kind = "semaphore";
    e.priority = priority::high;
    e.when = std::chrono::system_clock::now();
    for (const payload& p : payloads) e.parts.push_back({p.form, p.content.size(), format::sha256(p.content)});
    return e;
  }
  telltale::result<void> accept(const std::string& id, const std::string& text, const std::string& key = {}) {
    const std::vector<payload> payloads{{payload_form::wtns, content(text)}};
    return journal_->accept(entry(id, payloads, key), payloads);
  }
  static job_result completed(const std::string& proof = "{\"pi\": 1}") {
    job_result r;
    r.how = outcome::completed;
    r.why.what = failure_class::none;
    r.proofs = {{proof, "[\"1\"]"}};
    r.times.total = 1234567ns;
    r.times.phases = {{"queue", 1, 1000ns, 0ns}, {"msm_h", 2, 1233567ns, 5000000ns}};
    r.device = "cpu";
    r.attempts = 2;
    r.cold = true;
    return r;
  }
  std::size_t files() const {
    return static_cast<std::size_t>(
        std::distance(fs::directory_iterator(settings_.directory + "/payloads"), fs::directory_iterator()));
  }
  bool files_become(std::size_t n) const {
    for (int i = 0; i < 500 && files() != n; ++i) std::this_thread::sleep_for(10ms);
    return files() == n;
  }

  journal_settings settings_;
  std::unique_ptr<journal_sqlite> journal_;
};

TEST_F(Journal, GivesBackWhatWasAcceptedAlsoToTheNextProcess) {
  open();
  const std::vector<payload> payloads{{payload_form::wtns, content("first")}, {payload_form::inputs, content("{}")}};
  journal_entry e = entry("a", payloads, "key-1");
  e.deadline = 90s;
  ASSERT_TRUE(journal_->accept(e, payloads));
  ASSERT_TRUE(accept("b", "second"));
  ASSERT_TRUE(journal_->started({"a"}));
  ASSERT_TRUE(journal_->started({"a"}));
  ASSERT_TRUE(journal_->put_back({"a"}));
  open();
  const auto left = journal_->unfinished();
  ASSERT_TRUE(left) << left.error().message;
  ASSERT_EQ(left->size(), 2u);
  const journal_entry& a = left->front();
  EXPECT_EQ(a.id.value, "a");
  EXPECT_EQ(a.idempotency_key, "key-1");
  EXPECT_EQ(a.request, e.request);
  EXPECT_EQ(a.kind, "semaphore");
  EXPECT_EQ(a.priority, priority::high);
  EXPECT_EQ(a.deadline, 90s);
  EXPECT_EQ(a.when, e.when);
  EXPECT_EQ(a.parts, e.parts);
  EXPECT_EQ(a.starts, 1u);
  EXPECT_EQ(left->back().id.value, "b");
  EXPECT_EQ(left->back().idempotency_key, "");
  EXPECT_EQ(left->back().deadline, std::nullopt);
  EXPECT_EQ(*journal_->load_payload({"a"}, 1), content("{}"));
  EXPECT_EQ(*journal_->load_payload({"b"}, 0), content("second"));
  EXPECT_FALSE(journal_->load_payload({"a"}, 2));
  EXPECT_FALSE(journal_->load_payload({"c"}, 0));
}

TEST_F(Journal, KeepsTheResultAndDropsThePayload) {
  open();
  ASSERT_TRUE(accept("a", "text", "key"));
  EXPECT_EQ(files(), 1u);
  ASSERT_TRUE(journal_->finish({"a"}, completed()));
  EXPECT_TRUE(files_become(0));
  open();
  EXPECT_TRUE(journal_->unfinished()->empty());
  const auto found = journal_->find_key("key");
  ASSERT_TRUE(found && *found && (*found)->result);
  const job_result& r = *(*found)->result;
  EXPECT_EQ(r.how, outcome::completed);
  EXPECT_EQ(r.why.what, failure_class::none);
  ASSERT_EQ(r.proofs.size(), 1u);
  EXPECT_EQ(r.proofs[0].proof, "{\"pi\": 1}");
  EXPECT_EQ(r.proofs[0].signals, "[\"1\"]");
  EXPECT_EQ(r.times.total, 1234567ns);
  ASSERT_EQ(r.times.phases.size(), 2u);
  EXPECT_EQ(r.times.phases[1].name, "msm_h");
  EXPECT_EQ(r.times.phases[1].count, 2u);
  EXPECT_EQ(r.times.phases[1].busy, 5000000ns);
  EXPECT_EQ(r.device, "cpu");
  EXPECT_EQ(r.attempts, 2u);
  EXPECT_TRUE(r.cold);
  EXPECT_EQ(journal_->finished(10)->size(), 1u);
  EXPECT_FALSE(*journal_->find({"b"}));
  EXPECT_FALSE(*journal_->find_key("other"));
}

TEST_F(Journal, TheFirstAnswerStands) {
  open();
  ASSERT_TRUE(accept("a", "text"));
  ASSERT_TRUE(journal_->finish({"a"}, completed("one")));
  job_result other;
  other.why = {failure_class::internal, "two"};
  ASSERT_TRUE(journal_->finish({"a"}, other));
  EXPECT_EQ((*journal_->find({"a"}))->result->proofs.at(0).proof, "one");
}

TEST_F(Journal, APayloadOfTwoJobsStaysUntilBothHaveEnded) {
  open();
  ASSERT_TRUE(accept("a", "same"));
  ASSERT_TRUE(accept("b", "same"));
  EXPECT_EQ(files(), 1u);
  ASSERT_TRUE(journal_->finish({"a"}, completed()));
  ASSERT_TRUE(journal_->started({"b"}));  // behind the removal, which comes from the same thread
  EXPECT_EQ(*journal_->load_payload({"b"}, 0), content("same"));
  ASSERT_TRUE(journal_->finish({"b"}, completed()));
  EXPECT_TRUE(files_become(0));
}

TEST_F(Journal, AKeyStandsForOneJob) {
  open();
  ASSERT_TRUE(accept("a", "text", "key"));
  const auto second = accept("b", "other", "key");
  ASSERT_FALSE(second);
  EXPECT_NE(second.error().message.find("UNIQUE"), std::string::npos) << second.error().message;
  EXPECT_TRUE(files_become(1)) << "the refused payload was left";
}

TEST_F(Journal, NoticesAPayloadThatChanged) {
  open();
  ASSERT_TRUE(accept("a", "text"));
  const auto file = fs::directory_iterator(settings_.directory + "/payloads")->path();
  std::ofstream(file) << "tExt";
  EXPECT_NE(journal_->load_payload({"a"}, 0).error().message.find("isn't what was accepted"), std::string::npos);
  fs::remove(file);
  EXPECT_NE(journal_->load_payload({"a"}, 0).error().message.find("No such file"), std::string::npos);
}

TEST_F(Journal, RemovesAtStartWhatACrashLeft) {
  open();
  ASSERT_TRUE(accept("a", "text"));
  const std::string folder = settings_.directory + "/payloads/";
  std::ofstream(folder + std::string(64, '0')) << "of no job";
  std::ofstream(folder + std::string(64, '1') + ".7.part") << "half";
  std::ofstream(folder + "README") << "not ours";
  open();
  EXPECT_EQ(files(), 2u);
  EXPECT_TRUE(fs::exists(folder + "README"));
  EXPECT_EQ(*journal_->load_payload({"a"}, 0), content("text"));
}

TEST_F(Journal, ForgetsOldResultsAndKeepsUnfinishedJobs) {
  open();
  for (const char* id : {"a", "b", "c"}) ASSERT_TRUE(accept(id, id));
  ASSERT_TRUE(journal_->finish({"a"}, completed()));
  ASSERT_TRUE(journal_->finish({"b"}, completed()));
  settings_.keep = 0ms;
  open();
  for (int i = 0; i < 500 && !journal_->finished(10)->empty(); ++i) std::this_thread::sleep_for(10ms);
  EXPECT_TRUE(journal_->finished(10)->empty());
  EXPECT_EQ(journal_->unfinished()->size(), 1u);
}

TEST_F(Journal, ForgetsTheOldestWhenThereAreTooMany) {
  settings_.keep_bytes = 8000;
  open();
  for (int i = 0; i < 20; ++i) {
    const std::string id = "job" + std::to_string(i);
    ASSERT_TRUE(accept(id, id));
    ASSERT_TRUE(journal_->finish({id}, completed(std::string(1000, 'p'))));
  }
  std::size_t kept = 20;
  for (int i = 0; i < 500 && kept > 5; ++i) {
    ASSERT_TRUE(accept("more" + std::to_string(i), "x"));  // the writer looks after each group
    kept = journal_->finished(100)->size();
  }
  EXPECT_LE(kept, 5u);
  EXPECT_GE(kept, 3u);
  EXPECT_EQ(journal_->finished(1)->at(0).entry.id.value, "job19");
  EXPECT_FALSE(*journal_->find({"job0"}));
}

TEST_F(Journal, IsOpenOnce) {
  open();
  const auto second = journal_sqlite::open(settings_);
  ASSERT_FALSE(second);
  EXPECT_NE(second.error().message.find("another prover-daemon runs on it"), std::string::npos);
}

TEST_F(Journal, RefusesWhatItDoesNotUnderstand) {
  open();
  journal_.reset();
  const std::string file = settings_.directory + "/journal.db";
  const auto change = [&](const char* sql) {
    sqlite3* c = nullptr;
    sqlite3_open(file.c_str(), &c);
    EXPECT_EQ(sqlite3_exec(c, sql, nullptr, nullptr, nullptr), SQLITE_OK);
    sqlite3_close(c);
  };
  change("PRAGMA user_version = 2");
  EXPECT_NE(refused().find("it has schema 2, this program knows 1; run the program that wrote it"), std::string::npos);
  change("PRAGMA user_version = 1; PRAGMA application_id = 7");
  EXPECT_NE(refused().find("another program's database"), std::string::npos);
  fs::remove(file + "-wal");
  std::ofstream(file) << std::string(5000, 'x');
  EXPECT_NE(refused().find("not a database"), std::string::npos);
}

// As a full disk: no file may grow beyond the limit.
TEST_F(Journal, AFullDiskRefusesWhatIsNewAndHarmsNothing) {
  open();
  ASSERT_TRUE(accept("a", "text"));
  std::signal(SIGXFSZ, SIG_IGN);
  rlimit former{};
  ::getrlimit(RLIMIT_FSIZE, &former);
  const rlimit small{8192, former.rlim_max};
  ::setrlimit(RLIMIT_FSIZE, &small);
  const auto large = accept("b", std::string(20000, 'x'));
  bool full = false;
  for (int i = 0; i < 2000 && !full; ++i) full = !accept("c" + std::to_string(i), "tiny");
  ::setrlimit(RLIMIT_FSIZE, &former);
  ASSERT_FALSE(large);
  EXPECT_NE(large.error().message.find("Make room"), std::string::npos) << large.error().message;
  EXPECT_TRUE(full);
  ASSERT_TRUE(accept("d", "room again"));
  open();
  EXPECT_EQ(*journal_->load_payload({"a"}, 0), content("text"));
  EXPECT_TRUE(*journal_->find({"d"}));
  EXPECT_FALSE(*journal_->find({"b"}));
}

TEST_F(Journal, ManyThreadsAcceptAndFinishAtOnce) {
  open();
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([this, t] {
      for (int i = 0; i < 25; ++i) {
        const std::string id = std::to_string(t) + "-" + std::to_string(i);
        EXPECT_TRUE(accept(id, "payload " + std::to_string(i % 3)));
        EXPECT_EQ(*journal_->load_payload({id}, 0), content("payload " + std::to_string(i % 3)));
        if (i % 2 == 0) {
          EXPECT_TRUE(journal_->finish({id}, completed()));
        }
      }
    });
  }
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(journal_->unfinished()->size(), 8u * 12);
  EXPECT_EQ(journal_->finished(1000)->size(), 8u * 13);
  EXPECT_TRUE(files_become(3));
}

}  // namespace
}  // namespace prover::daemon

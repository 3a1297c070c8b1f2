// A batch's tables: nothing is lost in them, and they fit a terminal.
#include "prover/cli/report.hpp"

#include <gtest/gtest.h>

#include <sstream>

namespace prover::cli {
namespace {

constexpr std::int64_t ms = 1'000'000;

job_times at_a_daemon() {
  return {"0123456789abcdef",
          "semaphore-20",
          false,
          100 * ms,
          {{"queue", 1 * ms},
           {"wait_device", 9 * ms},
           {"wait_key", 20 * ms},
           {"parse", 2 * ms},
           {"witness", 3 * ms},
           {"evaluate_rows", 5 * ms},
           {"intt_a", 4 * ms},
           {"ntt_c", 6 * ms},
           {"msm_b2", 30 * ms},
           {"assemble", 1 * ms},
           {"verify", 15 * ms},
           {"check", 3 * ms},  // a phase that no column is for
           {"other", 1 * ms}}};
}

std::vector<std::string> lines_of(const std::string& text) {
  std::istringstream in(text);
  std::vector<std::string> lines;
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

std::vector<std::string> words_of(const std::string& line) {
  std::istringstream in(line);
  std::vector<std::string> words;
  for (std::string word; in >> word;) words.push_back(word);
  return words;
}

TEST(BatchReport, PartsSumToTheTotal) {
  const auto lines = lines_of(batch_report({at_a_daemon()}).table());
  EXPECT_EQ(words_of(lines[0]), (std::vector<std::string>{"job", "circuit", "queue", "load", "witness", "ntt", "msm",
                                                          "verify", "rest", "total", "share"}));
  EXPECT_EQ(words_of(lines[1]), (std::vector<std::string>{"0123456789abcdef", "semaphore-20", "10.0", "20.0", "10.0",
                                                          "10.0", "30.0", "15.0", "5.0", "100.0", "100.0%"}));
  // Shares are of the work: without the queue.
  EXPECT_EQ(words_of(lines[2])[5], "22.2%");
  EXPECT_EQ(words_of(lines[4]),
            (std::vector<std::string>{"ntt", "and", "msm", "intt_a", "intt_b", "intt_c", "ntt_a", "ntt_b", "ntt_c",
                                      "quotient", "msm_h", "msm_a", "msm_b1", "msm_b2", "msm_c"}));
  EXPECT_EQ(words_of(lines[5])[1], "4.0");
  EXPECT_EQ(words_of(lines[5])[11], "30.0");
}

TEST(BatchReport, FitsATerminal) {
  auto slow = at_a_daemon();
  slow.total_ns = 99'999 * ms;
  for (auto& [phase, wall] : slow.walls) wall *= 1000;
  slow.failed = true;
  for (const std::string& line : lines_of(batch_report({at_a_daemon(), slow}).table())) {
    EXPECT_LE(line.size(), 120u) << line;
  }
}

TEST(BatchReport, JsonHasEachPart) {
  const std::string json = batch_report({at_a_daemon()}).json();
  EXPECT_NE(json.find("\"total_ns\": 100000000"), std::string::npos) << json;
  EXPECT_NE(json.find("\"queue\": 10000000"), std::string::npos) << json;
  EXPECT_NE(json.find("\"other\": 4000000"), std::string::npos) << json;
}

TEST(BatchReport, NothingIsATableToo) {
  const batch_report none(std::vector<job_times>{});
  EXPECT_EQ(lines_of(none.table()).size(), 5u);
  EXPECT_EQ(none.tree(), "");
  EXPECT_EQ(none.json(), "[]\n");
}

}  // namespace
}  // namespace prover::cli

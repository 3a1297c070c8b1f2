// What a person sees of a daemon, on a terminal of 24 lines and of any size.
#include "prover/cli/screen.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace prover::cli {
namespace {

using namespace std::chrono_literals;

std::string document(int kinds, int waiting) {
  std::string keys;
  for (int i = 0; i < kinds; ++i) {
    keys += std::string(i == 0 ? "" : ",") + R"({"kind": "kind)" + std::to_string(i) +
            R"(", "device": "cpu", "tier": "cold", "bytes": 0, "users": [], "idle": 0, "loads": 0, "last_load": 0})";
  }
  std::string jobs;
  for (int i = 0; i < waiting; ++i) {
    jobs += R"({"id": "w)" + std::to_string(i) +
            R"(", "kind": "kind0", "state": "queued", "priority": "normal", "age": 3, "waits_for": "turn",
                "explanation": "others come first"},)";
  }
  jobs += R"({"id": "r", "kind": "kind1", "state": "proving", "priority": "high", "age": 130, "phase": "msm_h",
              "phase_age": 61.5, "slow": true, "device": "cpu"})";
  return R"({"version": "1", "uptime": 10, "memory": {"budget": 1048576, "reserved": 524288}, "queue": {"jobs": 2},
             "devices": [{"name": "cpu", "description": "2 threads", "busy": 5, "proofs": 3, "faults": 0}],
             "keys": [)" +
         keys + "], \"jobs\": [" + jobs + "]}";
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = text.find('\n', at);
    lines.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return lines;
}

TEST(Screen, FitsATerminalAndShowsWhatRunsFirst) {
  const auto text = render_status(document(20, 50), 80, 23);
  ASSERT_TRUE(text) << text.error().message;
  const auto lines = lines_of(*text);
  EXPECT_EQ(lines.size(), 23U);
  for (const auto& line : lines) EXPECT_LE(line.size(), 82U) << line;  // an ellipsis has three bytes
  const auto job = std::ranges::find_if(lines, [](const auto& l) { return l.starts_with("JOB"); });
  ASSERT_NE(job, lines.end());
  EXPECT_NE((job + 1)->find("msm_h on cpu for 62 s, SLOW"), std::string::npos) << *(job + 1);
  EXPECT_NE(text->find("more keys"), std::string::npos);
  EXPECT_TRUE(lines.back().ends_with("more lines")) << lines.back();
  EXPECT_NE(text->find("[##########..........] 512 KiB of 1.0 MiB"), std::string::npos) << *text;
}

TEST(Screen, ShowsEverythingWhereThereIsRoom) {
  const auto text = render_status(document(20, 50), 0, 0);
  ASSERT_TRUE(text);
  EXPECT_NE(text->find("kind19"), std::string::npos);
  EXPECT_NE(text->find("w49"), std::string::npos);
  EXPECT_EQ(text->find(" more "), std::string::npos);
}

TEST(Screen, IsNotMovedByWhatADaemonSends) {
  const auto text = render_status(R"({"version": "\u001b[2J", "jobs": [{"id": "a\nb"}]})", 80, 24);
  ASSERT_TRUE(text);
  EXPECT_EQ(text->find('\x1b'), std::string::npos);
  EXPECT_NE(text->find("a b"), std::string::npos);
  EXPECT_FALSE(render_status("<html>", 80, 24));
}

TEST(Screen, ListsJobsWithWhatTheyDo) {
  daemon::job_view running;
  running.id = {"0123"};
  running.kind = "sha17";
  running.state = daemon::job_state::proving;
  running.phase = "msm_a";
  running.phase_age = 1500ms;
  running.device = "cpu";
  running.age = 2s;
  daemon::job_view ended = running;
  ended.state = daemon::job_state::finished;
  ended.how = daemon::outcome::cancelled;
  EXPECT_EQ(render_jobs({running, ended}),
            "JOB   KIND   STATE      AGE    DOES, OR WAITS FOR\n"
            "0123  sha17  proving    2.0 s  msm_a on cpu for 1.5 s\n"
            "0123  sha17  cancelled  -      took 2.0 s\n");
  EXPECT_EQ(render_jobs({}), "no jobs\n");
}

}  // namespace
}  // namespace prover::cli

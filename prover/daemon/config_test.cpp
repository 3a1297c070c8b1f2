// What the configuration means, and what is refused.
#include "prover/daemon/config.hpp"

#include <gtest/gtest.h>

namespace prover::daemon {
namespace {

using namespace std::chrono_literals;

constexpr const char* least = "[[kind]]\nname = \"a\"\nkey = \"a.zkey\"\n";

telltale::result<configuration> parse(const std::string& text, const std::vector<std::string>& changes = {}) {
  return parse_configuration(text, "p.toml", "/etc/prover", changes);
}
std::string problem(const std::string& text, const std::vector<std::string>& changes = {}) {
  const auto c = parse(text, changes);
  return c ? "(accepted)" : c.error().message;
}

TEST(Config, AKindWithAKeyIsEnoughAndListensOnLoopback) {
  const auto c = parse(least);
  ASSERT_TRUE(c) << c.error().message;
  EXPECT_EQ(c->server.listen, std::vector<std::string>{"127.0.0.1:9820"});
  EXPECT_EQ(c->server.http, "127.0.0.1:9821");
  EXPECT_EQ(c->generators.sandbox, sandbox_choice::bubblewrap);
  ASSERT_EQ(c->kinds.size(), 1u);
  EXPECT_EQ(c->kinds[0].registered.key, "/etc/prover/a.zkey");
  EXPECT_EQ(c->kinds[0].registered.default_priority, priority::normal);
}

TEST(Config, ReadsEveryKey) {
  const auto c = parse(R"(
[server]
listen = ["unix:/run/p.sock", "0.0.0.0:1"]
http = "off"
token_file = "token"
max_request = "1MiB"
[memory]
budget = "3GiB"
evict_after = "2m"
[jobs]
threads = 3
max_queued = 7
max_queued_bytes = "2MiB"
drain = "250ms"
slow_stage = "never"
[journal]
directory = "/j"
keep = "1h"
keep_bytes = "5KiB"
[keys]
cache = "cache"
[generators]
sandbox = "none"
directory = "/var/tmp"
[[kind]]
name = "b"
key = "/k/b.zkey"
verification_key = "b.json"
circuit = "b.r1cs"
signal_names = "b.sym"
priority = "urgent"
deadline = "9s"
max_payload = "4KiB"
max_batch = 5
checks = "on-curve"
tables = "6MiB"
preload = true
generator = ["node", "g.js"]
generator_time = "10s"
generator_memory = "1GiB"
)");
  ASSERT_TRUE(c) << c.error().message;
  EXPECT_EQ(c->server.listen[1], "0.0.0.0:1");
  EXPECT_EQ(c->server.token_file, "/etc/prover/token");
  EXPECT_EQ(c->server.max_request, 1u << 20);
  EXPECT_EQ(c->limits.memory, std::uint64_t{3} << 30);
  EXPECT_EQ(c->limits.evict_idle, 2min);
  EXPECT_EQ(c->threads, 3u);
  EXPECT_EQ(c->limits.queued_jobs, 7u);
  EXPECT_EQ(c->drain, 250ms);
  EXPECT_EQ(c->limits.slow, 0ns);
  EXPECT_EQ(c->journal.keep_bytes, 5u << 10);
  EXPECT_EQ(c->key_cache, "/etc/prover/cache");
  EXPECT_EQ(c->generators.sandbox, sandbox_choice::none);
  const kind& k = c->kinds.at(0).registered;
  EXPECT_EQ(k.signal_names, "/etc/prover/b.sym");
  EXPECT_EQ(k.default_priority, priority::urgent);
  EXPECT_EQ(k.default_deadline, 9s);
  EXPECT_EQ(k.max_payload, 4u << 10);
  EXPECT_EQ(k.max_batch, 5u);
  EXPECT_EQ(k.table_bytes, 6u << 20);
  EXPECT_EQ(k.checks, key_checks::on_curve);
  EXPECT_TRUE(k.preload);
  EXPECT_EQ(c->kinds[0].generator.command, (std::vector<std::string>{"node", "g.js"}));
  EXPECT_EQ(c->kinds[0].generator.time, 10s);
  EXPECT_EQ(k.witness_source_memory, 1u << 30);
}

TEST(Config, PrintsWhatItReadsBack) {
  auto c = parse(least);
  ASSERT_TRUE(c);
  c->kinds[0].generator.command = {"a \"quoted\" \\ word", "tab\tand\nline"};
  c->kinds[0].registered.default_deadline = 1500ms;
  c->limits.memory = 12345;
  c->kinds[0].registered.witness_source_memory = 1 << 20;
  const auto again = parse_configuration(to_toml(*c), "again", "/elsewhere");
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(to_toml(*again), to_toml(*c));
  EXPECT_EQ(again->kinds[0].generator.command, c->kinds[0].generator.command);
  EXPECT_EQ(again->kinds[0].registered.key, "/etc/prover/a.zkey");
}

TEST(Config, SaysWhereAnUnknownKeyStandsAndWhatWasMeant) {
  EXPECT_EQ(problem(std::string("[memory]\nbugdet = \"1GiB\"\n") + least),
            "p.toml:2:1: unknown key \"bugdet\" in [memory]; did you mean \"budget\"?");
  EXPECT_EQ(problem(std::string("[memroy]\n") + least),
            "p.toml:1:2: unknown section \"memroy\"; did you mean \"memory\"?");
  EXPECT_EQ(problem(std::string("[journal]\nxyzzyplugh = 1\n") + least),
            "p.toml:2:1: unknown key \"xyzzyplugh\" in [journal]. There are: directory, keep, keep_bytes");
}

TEST(Config, NamesEverythingThatIsWrongAtOnce) {
  const std::string all = problem("[memory]\nbudget = \"1.5GiB\"\n[jobs]\ndrain = \"soon\"\nthreads = -1\n");
  EXPECT_NE(all.find("p.toml:2:10: \"budget\" in [memory]: \"1.5GiB\" is no size"), std::string::npos) << all;
  EXPECT_NE(all.find(", or \"auto\""), std::string::npos) << all;
  EXPECT_NE(all.find("p.toml:4:9: \"drain\" in [jobs]: \"soon\" is no duration"), std::string::npos) << all;
  EXPECT_NE(all.find("p.toml:5:11: \"threads\" in [jobs] must be a whole number from 0 to 1024"), std::string::npos)
      << all;
  EXPECT_NE(all.find("there is no [[kind]]"), std::string::npos) << all;
}

TEST(Config, RefusesWrongTypes) {
  for (const char* line : {"budget = 1073741824", "budget = true", "evict_after = 5"}) {
    const std::string p = problem(std::string("[memory]\n") + line + "\n" + least);
    EXPECT_NE(p.find("must be a string such as"), std::string::npos) << line << ": " << p;
  }
  EXPECT_NE(problem(std::string("[server]\nlisten = \"127.0.0.1:1\"\n") + least).find("an array of strings"),
            std::string::npos);
  EXPECT_NE(problem("kind = 1\n").find("a [[kind]] for each"), std::string::npos);
  EXPECT_NE(problem("server = 1\n" + std::string(least)).find("must be a section"), std::string::npos);
  EXPECT_NE(problem("[memory\n").find("p.toml:1:"), std::string::npos);
}

TEST(Config, RefusesContradictions) {
  const auto server = [](const std::string& lines) { return problem("[server]\n" + lines + "\n" + least); };
  EXPECT_NE(server("listen = [\"0.0.0.0:9820\"]").find("reachable from other machines"), std::string::npos);
  EXPECT_EQ(server("listen = [\"0.0.0.0:9820\"]\nallow_anonymous = true"), "(accepted)");
  EXPECT_EQ(server("listen = [\"0.0.0.0:9820\"]\ntoken_file = \"t\""), "(accepted)");
  EXPECT_NE(server("listen = [\"127.0.0.1:9821\"]").find("a port each"), std::string::npos);
  EXPECT_NE(server("listen = [\"unix:/a\", \"unix:/a\"]").find("twice"), std::string::npos);
  EXPECT_NE(server("listen = [\"9820\"]").find("is no address"), std::string::npos);
  EXPECT_NE(server("tls_key = \"k.pem\"").find("go together"), std::string::npos);
  EXPECT_NE(server("tls_client_ca = \"ca.pem\"").find("needs tls_certificate"), std::string::npos);
  EXPECT_NE(server("max_request = \"2000MiB\"\n[jobs]\nmax_queued_bytes = \"1GiB\"").find("could never be accepted"),
            std::string::npos);
  EXPECT_NE(problem(std::string(least) + least).find("a second kind is called \"a\""), std::string::npos);
  EXPECT_NE(problem("[[kind]]\nname = \"a b\"\nkey = \"k\"\n").find("is no name for a kind"), std::string::npos);
  EXPECT_NE(problem(std::string(least) + "signal_names = \"a.sym\"\n").find("which is missing"), std::string::npos);
  EXPECT_NE(problem("[memory]\nbudget = \"1MiB\"\n" + std::string(least) + "tables = \"1MiB\"\n")
                .find("the whole of memory.budget"),
            std::string::npos);
}

TEST(Config, TheCommandLineWins) {
  const auto c = parse(std::string("[memory]\nbudget = \"1GiB\"\n") + least,
                       {"memory.budget=2GiB", "server.listen=[\"unix:/a.sock\"]", "jobs.threads=2", "server.http=off"});
  ASSERT_TRUE(c) << c.error().message;
  EXPECT_EQ(c->limits.memory, std::uint64_t{2} << 30);
  EXPECT_EQ(c->server.listen, std::vector<std::string>{"unix:/a.sock"});
  EXPECT_EQ(c->threads, 2u);
  EXPECT_EQ(c->server.http, "off");
  EXPECT_NE(problem(least, {"memory.bugdet=2GiB"}).find("--set: unknown key \"bugdet\""), std::string::npos);
  EXPECT_NE(problem(least, {"memory.budget=2GB"}).find("is no size"), std::string::npos);
  for (const char* change : {"x", "memory=1", "=1", ".a=1", "a.b.c=1", "memory.budget", "a.b\n[c]\nd=1"}) {
    EXPECT_NE(problem(least, {change}).find("is no change"), std::string::npos) << change;
  }
  EXPECT_NE(problem(least, {"kind.name=b"}).find("kinds stand in the file"), std::string::npos);
}

TEST(Config, NamesFilesThatCannotBeRead) {
  const auto c = parse_configuration(least, "p.toml", "/nonexistent");
  ASSERT_TRUE(c);
  const auto checked = check_files(*c);
  ASSERT_FALSE(checked);
  EXPECT_EQ(checked.error().message,
            "key of kind \"a\": cannot read \"/nonexistent/a.zkey\": No such file or directory");
  EXPECT_NE(load_configuration("/nonexistent/p.toml").error().message.find("Give the file with --config"),
            std::string::npos);
  EXPECT_NE(load_configuration("/").error().message.find("is a directory"), std::string::npos);
}

}  // namespace
}  // namespace prover::daemon

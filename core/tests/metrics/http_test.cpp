// The endpoint: what it answers, how it ends, and whether the real Prometheus gets what was counted.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <nlohmann/json.hpp>
#include <telltale/core/counter.hpp>
#include <telltale/core/histogram.hpp>
#include <telltale/core/serve_metrics.hpp>
#include <telltale/core/span.hpp>
#include <thread>

#include "../recorded.hpp"
#include "../support/process.hpp"
#include "snapshot.hpp"

TELLTALE_MODULE("test::http");

using namespace telltale::literals;
using namespace telltale::testing;

namespace {

constinit telltale::counter served{"http.test.served", "requests of this test", "{request}"};

int connect_to(std::uint16_t port) {
  const int s = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in a{};
  a.sin_family = AF_INET;
  a.sin_port = htons(port);
  a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (::connect(s, reinterpret_cast<const sockaddr*>(&a), sizeof a) == 0) return s;
  ::close(s);
  return -1;
}

// What comes back on a connection of its own; empty where there is none.
std::string talk(std::uint16_t port, const std::string& request) {
  const int s = connect_to(port);
  if (s < 0) return {};
  (void)!::send(s, request.data(), request.size(), MSG_NOSIGNAL);
  std::string answer;
  char part[4096];
  for (ssize_t n = 0; (n = ::recv(s, part, sizeof part, 0)) > 0;) answer.append(part, static_cast<std::size_t>(n));
  ::close(s);
  return answer;
}

std::string get(std::uint16_t port, const std::string& path, const std::string& headers = {},
                const std::string& method = "GET") {
  return talk(port, method + " " + path + " HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n" + headers + "\r\n");
}

std::string body_of(const std::string& answer) {
  const std::size_t at = answer.find("\r\n\r\n");
  return at == std::string::npos ? std::string() : answer.substr(at + 4);
}

telltale::metrics_server server() {
  auto s = telltale::serve_metrics("127.0.0.1:0");
  if (!s) throw std::runtime_error(s.error().message);
  return std::move(*s);
}

TEST(Endpoint, AnswersInTheFormatThatIsAskedFor) {
  const telltale::metrics_server s = server();
  EXPECT_EQ(s.address(), "127.0.0.1:" + std::to_string(s.port()));
  served.add(3, "path"_a = "/a");
  const std::string text = get(s.port(), "/metrics");
  EXPECT_TRUE(text.starts_with("HTTP/1.1 200 OK\r\n")) << text;
  EXPECT_NE(text.find("Content-Type: text/plain; version=0.0.4; charset=utf-8\r\n"), std::string::npos) << text;
  EXPECT_NE(text.find("\nhttp_test_served_total{path=\"/a\"} 3\n"), std::string::npos) << text;
  const std::string open = get(s.port(), "/metrics", "Accept: application/openmetrics-text;version=1.0.0\r\n");
  EXPECT_NE(open.find("Content-Type: application/openmetrics-text; version=1.0.0; charset=utf-8\r\n"),
            std::string::npos);
  EXPECT_TRUE(open.ends_with("# EOF\n")) << open;
}

TEST(Endpoint, SendsNoBodyForHead) {
  const telltale::metrics_server s = server();
  const std::string head = get(s.port(), "/metrics", {}, "HEAD");
  EXPECT_TRUE(head.starts_with("HTTP/1.1 200 OK\r\n")) << head;
  EXPECT_EQ(head.find("Content-Length: 0\r\n"), std::string::npos);
  EXPECT_EQ(body_of(head), "");
}

TEST(Endpoint, SaysThatItLives) {
  const telltale::metrics_server s = server();
  const std::string answer = get(s.port(), "/healthz");
  EXPECT_TRUE(answer.starts_with("HTTP/1.1 200 OK\r\n")) << answer;
  EXPECT_EQ(body_of(answer), "ok\n");
}

TEST(Endpoint, RefusesWhatItDoesNotKnow) {
  const telltale::metrics_server s = server();
  EXPECT_TRUE(get(s.port(), "/").starts_with("HTTP/1.1 404 "));
  const std::string post = get(s.port(), "/metrics", {}, "POST");
  EXPECT_TRUE(post.starts_with("HTTP/1.1 405 ")) << post;
  EXPECT_NE(post.find("Allow: GET, HEAD\r\n"), std::string::npos) << post;
}

TEST(Endpoint, AnswersAtPathsOfOnesOwn) {
  std::string kept = "info";
  auto s = telltale::serve_metrics("127.0.0.1:0", {},
                                   {{"/level", [&] { return telltale::http_answer{200, kept, "text/x-level"}; },
                                     [&](std::string_view body) {
                                       kept = body;
                                       return telltale::http_answer{body.size() < 10 ? 200u : 400u, "set\n"};
                                     }},
                                    {"/only-read", [] { return telltale::http_answer{503, "no\n"}; }, {}}});
  ASSERT_TRUE(s) << s.error().message;
  const auto put = [&](const std::string& path, const std::string& body) {
    return talk(s->port(), "PUT " + path + " HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: " +
                               std::to_string(body.size()) + "\r\n\r\n" + body);
  };
  EXPECT_TRUE(put("/level", "debug").starts_with("HTTP/1.1 200 "));
  const std::string level = get(s->port(), "/level");
  EXPECT_EQ(body_of(level), "debug");
  EXPECT_NE(level.find("Content-Type: text/x-level\r\n"), std::string::npos) << level;
  EXPECT_TRUE(put("/level", std::string(5000, 'x')).starts_with("HTTP/1.1 400 "));
  EXPECT_EQ(kept.size(), 5000u);
  EXPECT_TRUE(put("/level", std::string(20'000, 'x')).starts_with("HTTP/1.1 413 "));
  EXPECT_EQ(kept.size(), 5000u) << "what is too large reaches nobody";
  EXPECT_TRUE(put("/level", "").starts_with("HTTP/1.1 200 "));
  EXPECT_EQ(kept, "");
  EXPECT_TRUE(put("/only-read", "x").starts_with("HTTP/1.1 405 "));
  EXPECT_TRUE(put("/metrics", "x").starts_with("HTTP/1.1 405 "));
  EXPECT_TRUE(get(s->port(), "/only-read").starts_with("HTTP/1.1 503 "));
  EXPECT_TRUE(get(s->port(), "/level", {}, "POST").starts_with("HTTP/1.1 405 "));
  EXPECT_NE(body_of(get(s->port(), "/")).find("/level, /only-read"), std::string::npos);
}

TEST(Endpoint, SurvivesWhatIsNoRequest) {
  const telltale::metrics_server s = server();
  for (const std::string& odd : {std::string("\r\n\r\n\r\n\r\n"), std::string("GET /metrics\r\n\r\n"),
                                 std::string("GET /\0 HTTP/1.1\r\n\r\n", 19), std::string("GET /metrics HT")}) {
    const int client = connect_to(s.port());
    ASSERT_GE(client, 0);
    (void)!::send(client, odd.data(), odd.size(), MSG_NOSIGNAL);
    ::close(client);
  }
  const std::string huge = get(s.port(), "/metrics", "X: " + std::string(100'000, 'x') + "\r\n");
  EXPECT_EQ(huge.find("HTTP/1.1 200"), std::string::npos);
  EXPECT_EQ(body_of(get(s.port(), "/healthz")), "ok\n");
}

TEST(Endpoint, ServesManyAtOnce) {
  const telltale::metrics_server s = server();
  std::atomic<int> good{0};
  std::vector<std::thread> clients;
  for (int t = 0; t < 8; ++t) {
    clients.emplace_back([&] {
      for (int i = 0; i < 10; ++i) {
        served.add();
        if (body_of(get(s.port(), "/metrics")).find("http_test_served_total ") != std::string::npos) ++good;
      }
    });
  }
  for (auto& c : clients) c.join();
  EXPECT_EQ(good, 80);
}

TEST(Endpoint, SaysThatThePortIsTaken) {
  const telltale::metrics_server first = server();
  const auto second = telltale::serve_metrics(first.address());
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().message, "cannot serve metrics on \"" + first.address() +
                                        "\": the port is in use. Stop who has it, or choose another one (0 finds a "
                                        "free one).");
}

TEST(Endpoint, RefusesAddressesThatAreNone) {
  for (const char* address : {"", "9464", "localhost", "localhost:", "localhost:x", "localhost:65536", "::1:9464",
                              "[::1]", "[::1:80", "a:123456"}) {
    const auto s = telltale::serve_metrics(address);
    ASSERT_FALSE(s) << address;
    EXPECT_EQ(s.error().message, "cannot serve metrics on \"" + std::string(address) +
                                     "\": it is no address. Write HOST:PORT, [IPV6]:PORT or :PORT, with a port from 0 "
                                     "to 65535.");
  }
  const auto nowhere = telltale::serve_metrics("no.such.host.invalid:0");
  ASSERT_FALSE(nowhere);
  EXPECT_NE(nowhere.error().message.find("there is no such host"), std::string::npos) << nowhere.error().message;
}

TEST(Endpoint, TakesItsAddressFromTheEnvironment) {
  ::setenv("OTEL_EXPORTER_PROMETHEUS_HOST", "127.0.0.1", 1);
  ::setenv("OTEL_EXPORTER_PROMETHEUS_PORT", "0", 1);
  const auto s = telltale::serve_metrics();
  ASSERT_TRUE(s) << s.error().message;
  EXPECT_TRUE(s->address().starts_with("127.0.0.1:"));
  EXPECT_EQ(body_of(get(s->port(), "/healthz")), "ok\n");
  ::setenv("OTEL_EXPORTER_PROMETHEUS_PORT", "many", 1);
  EXPECT_FALSE(telltale::serve_metrics());
  ::unsetenv("OTEL_EXPORTER_PROMETHEUS_HOST");
  ::unsetenv("OTEL_EXPORTER_PROMETHEUS_PORT");
}

TEST(Endpoint, IsGoneWhenItsObjectIs) {
  std::uint16_t port = 0;
  {
    const telltale::metrics_server s = server();
    port = s.port();
    const int idle = connect_to(port);  // a connection that asks for nothing doesn't hold it up
    EXPECT_GE(idle, 0);
    EXPECT_EQ(body_of(get(port, "/healthz")), "ok\n");
    ::close(idle);
  }
  EXPECT_EQ(connect_to(port), -1);
}

TEST(Endpoint, IsNotHeldOpenByAChild) {
  int done[2];
  int ready[2];
  ASSERT_EQ(::pipe2(done, O_CLOEXEC), 0);
  ASSERT_EQ(::pipe2(ready, O_CLOEXEC), 0);
  auto first = std::make_unique<telltale::metrics_server>(server());
  const std::string address = first->address();
  const pid_t child = ::fork();
  if (child == 0) {
    ::close(done[1]);
    char c = 0;
    (void)!::write(ready[1], &c, 1);
    (void)!::read(done[0], &c, 1);  // until the parent closes its end
    ::_exit(0);
  }
  char c = 0;
  ASSERT_EQ(::read(ready[0], &c, 1), 1);  // fork() has come back in the child too
  ::close(ready[0]);
  ::close(ready[1]);
  EXPECT_EQ(body_of(get(first->port(), "/healthz")), "ok\n") << "the parent goes on";
  first.reset();
  {
    const auto again = telltale::serve_metrics(address);
    EXPECT_TRUE(again) << again.error().message;
  }
  ::close(done[1]);
  ::close(done[0]);
  int status = 0;
  EXPECT_TRUE(wait_for(child, std::chrono::seconds(20), status));
  EXPECT_EQ(status, 0);
}

TEST(Endpoint, IsScrapedByTheRealPrometheus) {
  if (run("/bin/sh", {"-c", "command -v prometheus"}).code != 0) {
    GTEST_SKIP() << "prometheus is missing: apt-get install prometheus";
  }
  const recorded r;
  static constinit telltale::histogram latency{"http.test.latency", "of this test", "s", {0.5, 1, 2}};
  telltale::context here;
  {
    TELLTALE_SPAN("request");
    here = telltale::current_context();
    for (const double v : {0.25, 0.75, 0.875, 4.0}) latency.record(v, "route"_a = "/\"odd\"\n\xc3\xa9");
  }
  const telltale::metrics_server s = server();
  const std::uint16_t prometheus_port = server().port();  // free a moment ago
  const temporary_directory dir;
  std::ofstream(dir / "prometheus.yml") << "scrape_configs:\n- job_name: test\n  scrape_interval: 1s\n"
                                           "  static_configs:\n  - targets: ['"
                                        << s.address() << "']\n";
  const std::string base = "127.0.0.1:" + std::to_string(prometheus_port);
  const pid_t prometheus = ::fork();
  if (prometheus == 0) {
    const int log = ::open((dir / "log").c_str(), O_WRONLY | O_CREAT, 0600);
    ::dup2(log, 1);
    ::dup2(log, 2);
    ::execlp("prometheus", "prometheus", ("--config.file=" + (dir / "prometheus.yml")).c_str(),
             ("--storage.tsdb.path=" + (dir / "data")).c_str(), ("--web.listen-address=" + base).c_str(),
             "--enable-feature=exemplar-storage", nullptr);
    ::_exit(127);
  }

  // Asks until there is an answer that has results.
  const auto ask = [&](const std::string& question) {
    for (int i = 0; i < 600; ++i) {
      const std::string body = body_of(get(prometheus_port, "/api/v1/" + question));
      const auto answer = nlohmann::json::parse(body, nullptr, false);
      if (answer.is_object() && answer.contains("data")) {
        const auto& data = answer["data"];
        const auto& results = data.is_object() ? data["result"] : data;
        if (!results.empty()) return results;
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
    }
    return nlohmann::json();
  };
  const auto up = ask("query?query=up==1");
  EXPECT_EQ(up.size(), 1u) << contents(dir / "log") << ask("targets").dump();
  const auto buckets = ask("query?query=http_test_latency_seconds_bucket");
  std::map<std::string, std::string> counts;
  for (const auto& b : buckets) {
    EXPECT_EQ(b["metric"]["route"], "/\"odd\"\n\xc3\xa9");
    counts[b["metric"]["le"].get<std::string>()] = b["value"][1].get<std::string>();
  }
  EXPECT_EQ(counts, (std::map<std::string, std::string>{{"0.5", "1"}, {"1.0", "3"}, {"2.0", "3"}, {"+Inf", "4"}}));
  EXPECT_EQ(ask("query?query=http_test_latency_seconds_sum")[0]["value"][1], "5.875");
  EXPECT_EQ(ask("query?query=telltale_metric_lost_total")[0]["value"][1], "0");

  const auto exemplars =
      ask("query_exemplars?query=http_test_latency_seconds_bucket&start=" + std::to_string(::time(nullptr) - 3600) +
          "&end=" + std::to_string(::time(nullptr) + 3600));
  char trace[33];
  std::snprintf(trace, sizeof trace, "%016llx%016llx", static_cast<unsigned long long>(here.trace.high),
                static_cast<unsigned long long>(here.trace.low));
  std::size_t found = 0;
  for (const auto& series : exemplars) {
    for (const auto& e : series["exemplars"]) {
      EXPECT_EQ(e["labels"]["trace_id"], trace);
      ++found;
    }
  }
  EXPECT_EQ(found, 3u) << "one in each of three buckets: " << exemplars.dump();

  ::kill(prometheus, SIGTERM);
  int status = 0;
  EXPECT_TRUE(wait_for(prometheus, std::chrono::seconds(30), status));
}

}  // namespace

// ./bench hub: spans from another process over gRPC into the store, and questions about them.
//
// Rates are per core: spans by the hub's own processor time, the sender being a process of its own. TELLTALE_HUB_SPANS
// sets how many spans (5,000,000).
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <mutex>
#include <thread>

#include "core/bench/report.hpp"
#include "hub/bench/generator.hpp"
#include "hub/server.hpp"

namespace {

using namespace telltale;
using hub::bench::generator;
using telltale::bench::value_at_least;
using telltale::bench::value_at_most;
using clock_type = std::chrono::steady_clock;

double cpu_seconds() {
  rusage u{};
  ::getrusage(RUSAGE_SELF, &u);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) / 1e6;
  };
  return seconds(u.ru_utime) + seconds(u.ru_stime);
}
std::uint64_t resident_bytes() {
  std::ifstream in("/proc/self/statm");
  std::uint64_t all = 0;
  std::uint64_t resident = 0;
  in >> all >> resident;
  return resident * 4096;
}

// The sending process: eight calls at a time, each again until it is taken.
[[noreturn]] void send_all(int port, std::uint64_t spans) {
  const auto channel = grpc::CreateChannel("127.0.0.1:" + std::to_string(port), grpc::InsecureChannelCredentials());
  generator g(spans);
  std::mutex mutex;
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&] {
      grpc::GenericStub stub(channel);
      for (;;) {
        std::string request;
        {
          const std::lock_guard lock(mutex);
          request = g.next();
        }
        if (request.empty()) return;
        const grpc::Slice slice(request);
        for (;;) {
          const grpc::ByteBuffer out(&slice, 1);
          grpc::ByteBuffer in;
          grpc::ClientContext context;
          std::mutex done_mutex;
          std::condition_variable changed;
          bool done = false;
          grpc::Status status;
          stub.UnaryCall(&context, std::string(otlp::grpc_paths[0]), {}, &out, &in, [&](grpc::Status s) {
            const std::lock_guard lock(done_mutex);
            status = std::move(s);
            done = true;
            changed.notify_one();
          });
          std::unique_lock lock(done_mutex);
          changed.wait(lock, [&] { return done; });
          if (status.ok()) break;
          if (status.error_code() != grpc::StatusCode::UNAVAILABLE) ::_exit(2);
          std::this_thread::sleep_for(std::chrono::milliseconds(20));
        }
      }
    });
  }
  for (std::thread& t : threads) t.join();
  ::_exit(0);
}

double median_ms(int times, const auto& f) {
  std::vector<double> all;
  for (int i = 0; i < times; ++i) {
    const auto begun = clock_type::now();
    f();
    all.push_back(std::chrono::duration<double, std::milli>(clock_type::now() - begun).count());
  }
  std::sort(all.begin(), all.end());
  return all[all.size() / 2];
}

}  // namespace

int main(int argc, char** argv) {
  const auto options = telltale::bench::parse_options(argc, argv);
  telltale::bench::report report("hub");
  const char* const wanted = std::getenv("TELLTALE_HUB_SPANS");
  const std::uint64_t spans = wanted != nullptr ? std::strtoull(wanted, nullptr, 10) : 5'000'000;

  // Senders are forked before anything here has threads; each learns the port by its pipe.
  int pipes[2][2];
  pid_t senders[2];
  for (int i = 0; i < 2; ++i) {
    if (::pipe(pipes[i]) != 0) return 2;
    senders[i] = ::fork();
    if (senders[i] == 0) {
      for (int k = 0; k <= i; ++k) ::close(pipes[k][1]);  // so that it ends when we do
      int port = 0;
      if (::read(pipes[i][0], &port, sizeof port) != sizeof port) ::_exit(2);
      send_all(port, spans);
    }
  }
  const auto begin = [&](int i, int port) { return ::write(pipes[i][1], &port, sizeof port) == sizeof port; };

  {  // decoding alone
    generator g(200'000);
    std::vector<std::string> requests;
    for (std::string r = g.next(); !r.empty(); r = g.next()) requests.push_back(std::move(r));
    const double before = cpu_seconds();
    std::size_t decoded = 0;
    for (int i = 0; i < 5; ++i) {
      for (const std::string& r : requests) decoded += (*hub::decode(otlp::signal_kind::traces, r))->spans.size();
    }
    report.add({.name = "decode, per core",
                .value = static_cast<double>(decoded) / (cpu_seconds() - before),
                .unit = "spans/s",
                .bar = value_at_least(400'000)});
  }

  std::string directory = (std::filesystem::current_path() / "hub-bench-XXXXXX").string();
  if (::mkdtemp(directory.data()) == nullptr) return 2;
  hub::configuration c;
  c.store.directory = directory;
  c.http.listen = {"127.0.0.1:0"};
  c.grpc.listen = {"127.0.0.1:0"};
  auto started = hub::server::start(c);
  if (!started) {
    std::cerr << started.error().message << "\n";
    return 2;
  }
  hub::server& server = **started;
  hub::store& store = *server.kept();

  std::atomic<bool> watching{true};
  std::uint64_t most = 0;
  std::thread watcher([&] {
    while (watching) {
      most = std::max(most, resident_bytes());
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
  });
  const double before = cpu_seconds();
  const auto wall = clock_type::now();
  int status = 0;
  if (!begin(0, server.grpc_ports().at(0)) || ::waitpid(senders[0], &status, 0) < 0 || status != 0) return 2;
  store.settle();
  const double cpu = cpu_seconds() - before;
  const double seconds = std::chrono::duration<double>(clock_type::now() - wall).count();
  watching = false;
  watcher.join();
  const hub::store_stats stats = store.stats();
  if (stats.spans != spans) {
    std::cerr << "of " << spans << " spans " << stats.spans << " arrived\n";
    return 2;
  }
  report.add({.name = "OTLP/gRPC to durable, per core",
              .value = static_cast<double>(spans) / cpu,
              .unit = "spans/s",
              .bar = value_at_least(100'000)});
  report.add({.name = "OTLP/gRPC to durable, wall", .value = static_cast<double>(spans) / seconds, .unit = "spans/s"});
  report.add({.name = "memory of the hub meanwhile, at most",
              .value = static_cast<double>(most) / 1e6,
              .unit = "MB",
              .bar = value_at_most(700)});
  std::uint64_t in_files = 0;
  for (const auto& e : std::filesystem::directory_iterator(directory)) {
    if (e.path().extension() == ".parquet") in_files += e.file_size();
  }
  const auto rows = store.query("SELECT count(*) FROM read_parquet('" + directory + "/spans-*.parquet')");
  if (rows) {
    report.add(
        {.name = "bytes per span in files",
         .value = static_cast<double>(in_files) / static_cast<double>(std::get<std::int64_t>(rows->rows.at(0).at(0))),
         .unit = "B",
         .bar = value_at_most(40)});
  }
  const auto timed = [&](std::string name, const std::string& sql, double bar) {
    const double ms = median_ms(5, [&] {
      if (const auto t = store.query(sql); !t) std::cerr << t.error().message << "\n";
    });
    report.add({.name = std::move(name), .value = ms, .unit = "ms", .bar = value_at_most(bar)});
  };
  timed("p50, p95, p99 by name, all",
        "SELECT name, approx_quantile(duration_ns, [0.5, 0.95, 0.99]) FROM spans GROUP BY name", 300);
  timed("job_id = value", "SELECT count(*) FROM spans WHERE job_id = 'job-77'", 150);
  timed("any other attribute = value",
        "SELECT count(*) FROM spans WHERE " +
            store.sql().attribute_is("points", hub::dialect::from::span, std::int64_t{4096}),
        1200);

  // A second sender goes on while traces are asked for.
  if (!begin(1, server.grpc_ports().at(0))) return 2;
  std::this_thread::sleep_for(std::chrono::milliseconds(500));
  std::vector<double> lookups;
  for (std::uint64_t i = 0; i < 300; ++i) {
    const auto begun = clock_type::now();
    const auto t = store.trace(generator::trace(100 + i * 31 % (spans / 600)));
    lookups.push_back(std::chrono::duration<double, std::milli>(clock_type::now() - begun).count());
    if (!t || t->empty()) std::cerr << "a trace is missing\n";
  }
  ::kill(senders[1], SIGKILL);
  ::waitpid(senders[1], &status, 0);
  std::sort(lookups.begin(), lookups.end());
  report.add({.name = "a trace by id while receiving, p50", .value = lookups[150], .unit = "ms"});
  report.add(
      {.name = "a trace by id while receiving, p99", .value = lookups[297], .unit = "ms", .bar = value_at_most(10)});
  report.absent("OTLP/gRPC to forward, per core", "there is no benchmark of it yet");
  started->reset();
  std::filesystem::remove_all(directory);
  return report.finish(options, std::cout);
}

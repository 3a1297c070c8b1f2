// ./bench hub: spans from another process over gRPC into the store, and questions about them.
//
// Rates are per core: spans by the hub's own processor time, the sender being a process of its own. TELLTALE_HUB_SPANS
// sets how many spans there are (5,000,000, spread over a day); the bars are for that many.
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
#include "hub/ask/find.hpp"
#include "hub/bench/generator.hpp"
#include "hub/bench/sink.hpp"
#include "hub/server.hpp"
#include "hub/store/priority.hpp"

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
[[noreturn]] void send_all(int port, std::uint64_t spans, std::uint64_t first_trace) {
  const auto channel = grpc::CreateChannel("127.0.0.1:" + std::to_string(port), grpc::InsecureChannelCredentials());
  hub::yield_to_questions(hub::nice_ingest);  // in life it is another machine
  generator g(spans, first_trace);
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

// The sending processes. They are forked before anything here has threads, and wait for the port to send to.
class senders {
 public:
  struct what {
    std::uint64_t spans;
    std::uint64_t first_trace;
  };
  explicit senders(const std::vector<what>& all) {
    for (const what& w : all) {
      int pipe[2];
      if (::pipe(pipe) != 0) std::abort();
      const pid_t child = ::fork();
      if (child == 0) {
        ::close(pipe[1]);  // so that it ends when we do, as the others' ends are
        for (const int other : pipes_) ::close(other);
        int port = 0;
        if (::read(pipe[0], &port, sizeof port) != sizeof port) ::_exit(2);
        send_all(port, w.spans, w.first_trace);
      }
      ::close(pipe[0]);
      pids_.push_back(child);
      pipes_.push_back(pipe[1]);
    }
  }
  void begin(std::size_t i, int port) const {
    if (::write(pipes_[i], &port, sizeof port) != sizeof port) std::abort();
  }
  bool has_sent(std::size_t i) const {
    int status = 0;
    return ::waitpid(pids_[i], &status, 0) == pids_[i] && status == 0;
  }
  void end(std::size_t i) const {
    ::kill(pids_[i], SIGKILL);
    ::waitpid(pids_[i], nullptr, 0);
  }

 private:
  std::vector<pid_t> pids_;
  std::vector<int> pipes_;
};

// How much memory we use, twenty times a second, until it is asked.
class memory_watch {
 public:
  memory_watch() : thread_([this] { watch(); }) {}
  ~memory_watch() { stop(); }
  // What was seen, in order.
  const std::vector<double>& stop() {
    stopping_ = true;
    if (thread_.joinable()) thread_.join();
    return megabytes_;
  }

 private:
  void watch() {
    while (!stopping_) {
      megabytes_.push_back(static_cast<double>(resident_bytes()) / 1e6);
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
  }
  std::atomic<bool> stopping_{false};
  std::vector<double> megabytes_;
  std::thread thread_;
};

double mean(const std::vector<double>& v, std::size_t begin, std::size_t end) {
  double sum = 0;
  for (std::size_t i = begin; i < end; ++i) sum += v[i];
  return end > begin ? sum / static_cast<double>(end - begin) : 0;
}

void measure_decoding(telltale::bench::report& report) {
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

hub::configuration on_free_ports() {
  hub::configuration c;
  c.http.listen = {"127.0.0.1:0"};
  c.grpc.listen = {"127.0.0.1:0"};
  return c;
}

std::unique_ptr<hub::server> started(hub::configuration c) {
  auto s = hub::server::start(std::move(c));
  if (s) return std::move(*s);
  std::cerr << s.error().message << "\n";
  std::exit(2);
}

void measure_forwarding(telltale::bench::report& report, const senders& from, std::size_t which, std::uint64_t spans,
                        int sink_port) {
  hub::configuration c = on_free_ports();
  c.keep = false;
  c.forward.url = "http://127.0.0.1:" + std::to_string(sink_port);
  const auto server = started(std::move(c));
  const double before = cpu_seconds();
  from.begin(which, server->grpc_ports().at(0));
  const bool all = from.has_sent(which);
  report.add({.name = "OTLP/gRPC to forward, per core",
              .value = all ? static_cast<double>(spans) / (cpu_seconds() - before) : 0,
              .unit = "spans/s",
              .bar = value_at_least(400'000)});
}

void measure_ingesting(telltale::bench::report& report, hub::server& server, const senders& from, std::uint64_t spans) {
  memory_watch memory;
  const double before = cpu_seconds();
  const auto wall = clock_type::now();
  from.begin(0, server.grpc_ports().at(0));
  if (!from.has_sent(0)) std::exit(2);
  server.kept()->settle();
  const double cpu = cpu_seconds() - before;
  const double seconds = std::chrono::duration<double>(clock_type::now() - wall).count();
  const std::vector<double>& seen = memory.stop();
  const hub::store_stats stats = server.kept()->stats();
  if (stats.spans != spans) {
    std::cerr << "of " << spans << " spans " << stats.spans << " arrived\n";
    std::exit(2);
  }
  report.add({.name = "OTLP/gRPC to durable, per core",
              .value = static_cast<double>(spans) / cpu,
              .unit = "spans/s",
              .bar = value_at_least(100'000)});
  report.add({.name = "OTLP/gRPC to durable, wall", .value = static_cast<double>(spans) / seconds, .unit = "spans/s"});
  report.add({.name = "memory of the hub meanwhile, at most",
              .value = *std::max_element(seen.begin(), seen.end()),
              .unit = "MB",
              .bar = value_at_most(700)});
  const std::size_t third = seen.size() / 3;
  report.add({.name = "memory of the hub, last third",
              .value = mean(seen, 2 * third, seen.size()),
              .unit = "MB",
              .reference = "second third",
              .reference_value = mean(seen, third, 2 * third),
              .bar = telltale::bench::ratio_at_most(1.1)});
}

void measure_files(telltale::bench::report& report, const hub::store& store, const std::string& directory) {
  std::uint64_t in_files = 0;
  for (const auto& e : std::filesystem::directory_iterator(directory)) {
    if (e.path().extension() == ".parquet") in_files += e.file_size();
  }
  const auto rows = store.query("SELECT count(*) FROM read_parquet('" + directory + "/spans-*.parquet')");
  if (!rows) return report.absent("bytes per span in files", rows.error().message);
  report.add(
      {.name = "bytes per span in files",
       .value = static_cast<double>(in_files) / static_cast<double>(std::get<std::int64_t>(rows->rows.at(0).at(0))),
       .unit = "B",
       .bar = value_at_most(40)});
}

void measure_questions(telltale::bench::report& report, const hub::store& store) {
  const auto timed = [&](std::string name, double bar, const auto& ask) {
    const double ms = median_ms(5, [&] {
      if (const auto answer = ask(); !answer) std::cerr << answer.error().message << "\n";
    });
    report.add({.name = std::move(name), .value = ms, .unit = "ms", .bar = value_at_most(bar)});
  };
  constexpr std::int64_t hour = 3'600'000'000'000;
  timed("p50, p95, p99 by name, all", 300, [&] { return hub::find_top(store, nullptr, {}, 100); });
  timed("p50, p95, p99 by name, an hour", 30, [&] {
    return hub::find_top(store, nullptr, {generator::begin_ns + 10 * hour, generator::begin_ns + 11 * hour}, 100);
  });
  const auto count = [&](const std::string& where) { return store.query("SELECT count(*) FROM spans WHERE " + where); };
  using enum hub::dialect::from;
  const hub::dialect& d = store.sql();
  timed("job_id = value", 150, [&] { return count(d.attribute_is("job_id", span, std::string("job-77"))); });
  timed("phase = value, an eighth of all", 150,
        [&] { return count(d.attribute_is("phase", span, std::string("msm"))); });
  timed("any other attribute = value", 1200, [&] { return count(d.attribute_is("points", span, std::int64_t{4096})); });
}

// While another sender goes on: traces that were there before, and those that it sends.
void measure_lookups(telltale::bench::report& report, hub::server& server, const senders& from, std::size_t which,
                     std::uint64_t spans, std::uint64_t first_new) {
  hub::store& store = *server.kept();
  from.begin(which, server.grpc_ports().at(0));
  while (store.trace(generator::trace(first_new))->empty()) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  std::vector<double> times[2];
  for (std::uint64_t i = 0; times[1].size() < 300; ++i) {
    const bool is_new = i % 2 == 1;
    const std::uint64_t number = is_new ? first_new + i % 24 : 100 + i * 31 % (spans / 600);
    if (generator::is_large(number)) continue;
    const auto begun = clock_type::now();
    const auto t = store.trace(generator::trace(number));
    times[is_new].push_back(std::chrono::duration<double, std::milli>(clock_type::now() - begun).count());
    if (!t || (t->empty() && !is_new)) std::cerr << "a trace is missing\n";
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  from.end(which);
  for (const bool is_new : {false, true}) {
    std::vector<double>& all = times[is_new];
    std::sort(all.begin(), all.end());
    const std::string name = is_new ? "a trace that comes in, by id, " : "a trace by id while receiving, ";
    report.add({.name = name + "p50", .value = all[all.size() / 2], .unit = "ms"});
    report.add({.name = name + "p99", .value = all[all.size() * 99 / 100], .unit = "ms", .bar = value_at_most(10)});
  }
}

}  // namespace

int main(int argc, char** argv) {
  const auto options = telltale::bench::parse_options(argc, argv);
  telltale::bench::report report("hub");
  const char* const wanted = std::getenv("TELLTALE_HUB_SPANS");
  const std::uint64_t spans = wanted != nullptr ? std::strtoull(wanted, nullptr, 10) : 5'000'000;
  if (spans < 100'000) {
    std::cerr << "TELLTALE_HUB_SPANS wants a number, 100000 at least\n";
    return 2;
  }
  constexpr std::uint64_t first_new = 10'000'000;

  int sink_port = 0;
  const int listening = hub::bench::listen_anywhere(sink_port);
  const pid_t sink = ::fork();
  if (sink == 0) hub::bench::take_all(listening);
  const senders from({{spans, 0}, {spans, first_new}, {spans / 5, 0}});

  std::string directory = (std::filesystem::current_path() / "hub-bench-XXXXXX").string();
  if (::mkdtemp(directory.data()) == nullptr) return 2;
  {
    hub::configuration c = on_free_ports();
    c.store.directory = directory;
    const auto server = started(std::move(c));
    measure_ingesting(report, *server, from, spans);
    measure_files(report, *server->kept(), directory);
    measure_questions(report, *server->kept());
    measure_lookups(report, *server, from, 1, spans, first_new);
  }
  std::filesystem::remove_all(directory);
  // Last, so that what they leave in memory isn't taken for the store's.
  measure_decoding(report);
  measure_forwarding(report, from, 2, spans / 5, sink_port);
  ::kill(sink, SIGKILL);
  ::waitpid(sink, nullptr, 0);
  return report.finish(options, std::cout);
}

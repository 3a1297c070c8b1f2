// ./bench hub: `telltale serve` as a process of its own, spans from another one over OTLP/gRPC, and questions over
// HTTP.
//
// Rates are per core: spans by the hub's processor time, which the kernel tells of its process; its memory likewise.
// TELLTALE_HUB_SPANS sets how many spans there are (5,000,000, spread over a day; ./bench hub --spans N); the bars are
// for that many.
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <nlohmann/json.hpp>
#include <optional>
#include <thread>

#include "core/bench/report.hpp"
#include "hub/bench/generator.hpp"
#include "hub/bench/hub_under_test.hpp"
#include "hub/bench/sender.hpp"
#include "hub/bench/sink.hpp"
#include "hub/otlp/decode.hpp"
#include "hub/store/manifest.hpp"

namespace {

namespace fs = std::filesystem;
using namespace telltale;
using namespace telltale::hub::bench;
using telltale::bench::value_at_least;
using telltale::bench::value_at_most;
using clock_type = std::chrono::steady_clock;

double seconds_since(clock_type::time_point begun) {
  return std::chrono::duration<double>(clock_type::now() - begun).count();
}

// Of sorted values.
double quantile(const std::vector<double>& sorted, double q) {
  return sorted.at(std::min(sorted.size() - 1, static_cast<std::size_t>(q * static_cast<double>(sorted.size()))));
}

double ms_of(const auto& f) {
  const auto begun = clock_type::now();
  f();
  return 1e3 * seconds_since(begun);
}

double mean_resident(const std::vector<memory_watch::sample>& v, std::size_t begin, std::size_t end) {
  double sum = 0;
  for (std::size_t i = begin; i < end; ++i) sum += v[i].resident_mb;
  return end > begin ? sum / static_cast<double>(end - begin) : 0;
}

void measure_decoding(telltale::bench::report& report) {
  generator g(200'000);
  std::vector<std::string> requests;
  for (std::string r = g.next(); !r.empty(); r = g.next()) requests.push_back(std::move(r));
  const auto cpu = [] {
    timespec t{};
    ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) / 1e9;
  };
  const double before = cpu();
  std::size_t decoded = 0;
  for (int i = 0; i < 5; ++i) {
    for (const std::string& r : requests) decoded += (*hub::decode(otlp::signal_kind::traces, r))->spans.size();
  }
  report.add({.name = "decode, per core", .value = static_cast<double>(decoded) / (cpu() - before), .unit = "spans/s"});
}

void measure_forwarding(telltale::bench::report& report, const fs::path& folder, std::uint64_t spans) {
  int port = 0;
  const int listening = listen_anywhere(port);
  const pid_t sink = ::fork();
  if (sink == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    take_all(listening);
  }
  ::close(listening);
  {
    const hub_under_test hub(folder,
                             "[forward]\nkeep = false\nurl = \"http://127.0.0.1:" + std::to_string(port) + "\"\n");
    const double before = hub.cpu_seconds();
    sender from(hub.grpc_port(), spans, 0);
    from.wait();
    report.add({.name = "OTLP/gRPC to forward, per core",
                .value = static_cast<double>(spans) / (hub.cpu_seconds() - before),
                .unit = "spans/s",
                .bar = value_at_least(400'000)});
  }
  ::kill(sink, SIGKILL);
  ::waitpid(sink, nullptr, 0);
}

void wait_until_visible(const hub_under_test& hub) {
  while (hub.store_figure("waiting") != 0) std::this_thread::sleep_for(std::chrono::milliseconds(20));
}

void measure_ingesting(telltale::bench::report& report, const hub_under_test& hub, std::uint64_t spans) {
  const double before = hub.cpu_seconds();
  const auto begun = clock_type::now();
  sender from(hub.grpc_port(), spans, 0);
  memory_watch memory(hub.pid());
  from.wait();
  const double seconds = seconds_since(begun);
  wait_until_visible(hub);
  const double cpu = hub.cpu_seconds() - before;
  const std::vector<memory_watch::sample>& seen = memory.stop();
  if (hub.store_figure("spans") != static_cast<double>(spans)) {
    throw std::runtime_error("of " + std::to_string(spans) + " spans " + std::to_string(hub.store_figure("spans")) +
                             " are there");
  }
  report.add({.name = "OTLP/gRPC to durable, per core",
              .value = static_cast<double>(spans) / cpu,
              .unit = "spans/s",
              .bar = value_at_least(100'000)});
  report.add({.name = "OTLP/gRPC to durable, wall, the sender on the same machine",
              .value = static_cast<double>(spans) / seconds,
              .unit = "spans/s"});
  const auto most = [&](auto what) {
    return (*std::max_element(seen.begin(), seen.end(),
                              [&](const auto& a, const auto& b) { return a.*what < b.*what; })).*
           what;
  };
  report.add({.name = "memory meanwhile, at most (VmRSS)",
              .value = most(&memory_watch::sample::resident_mb),
              .unit = "MB",
              .bar = value_at_most(700)});
  report.add({.name = "memory meanwhile, at most (RssAnon)",
              .value = most(&memory_watch::sample::anonymous_mb),
              .unit = "MB"});
  const std::size_t third = seen.size() / 3;
  report.add({.name = "memory meanwhile, last third (VmRSS)",
              .value = mean_resident(seen, 2 * third, seen.size()),
              .unit = "MB",
              .reference = "second third",
              .reference_value = mean_resident(seen, third, 2 * third),
              .bar = telltale::bench::ratio_at_most(1.1)});
}

hub::manifest read_manifest(const fs::path& store) {
  auto m = hub::read_manifest(store);
  if (!m) throw std::runtime_error(m.error().message);
  return *std::move(m);
}

// Once nothing has been merged for two seconds.
void measure_files(telltale::bench::report& report, const fs::path& store) {
  hub::manifest files = read_manifest(store);
  for (std::uint64_t before = 0; before != files.next; files = read_manifest(store)) {
    before = files.next;
    std::this_thread::sleep_for(std::chrono::seconds(2));
  }
  std::uint64_t bytes = 0;
  std::uint64_t rows = 0;
  std::uint64_t count = 0;
  for (const hub::file_entry& e : files.files) {
    bytes += e.bytes;
    rows += e.kind == hub::file_kind::spans ? e.rows : 0;
    count += e.kind == hub::file_kind::spans ? 1 : 0;
  }
  if (rows == 0) return report.absent("bytes per span in files", "so few spans that there is no file yet");
  report.add({.name = "bytes per span in files, after compaction",
              .value = static_cast<double>(bytes) / static_cast<double>(rows),
              .unit = "B",
              .bar = value_at_most(40)});
  report.add({.name = "files of spans", .value = static_cast<double>(count), .unit = ""});
}

void measure_questions(telltale::bench::report& report, const hub_under_test& hub) {
  const auto timed = [&](std::string name, std::optional<double> bar, const auto& ask) {
    std::vector<double> all;
    for (int i = 0; i < 7; ++i) all.push_back(ms_of(ask));
    std::sort(all.begin(), all.end());
    telltale::bench::figure f{.name = std::move(name) + ", median of 7", .value = quantile(all, 0.5), .unit = "ms"};
    if (bar) f.bar = value_at_most(*bar);
    report.add(std::move(f));
  };
  constexpr std::int64_t hour = 3'600'000'000'000;
  const auto between = [](std::int64_t begin, std::int64_t end) {
    return "start=" + std::to_string(generator::begin_ns + begin) + "&end=" + std::to_string(generator::begin_ns + end);
  };
  timed("p50, p95, p99 by name, all", 300, [&] { (void)hub.get("/api/v1/top"); });
  timed("p50, p95, p99 by name, an hour", 30, [&] { (void)hub.get("/api/v1/top?" + between(10 * hour, 11 * hour)); });
  // { ATTRIBUTE = VALUE } | count_over_time()
  const auto count = [&](const std::string& condition) {
    (void)hub.get("/api/v1/metrics?q=%7B" + condition + "%7D%7Ccount_over_time%28%29&steps=1&" +
                  between(-hour, 48 * hour));
  };
  timed("job_id = value, counted", 150, [&] { count("span.job_id%3D%22job-77%22"); });
  timed("phase = value, an eighth of all, counted", 150, [&] { count("span.phase%3D%22msm%22"); });
  timed("any other attribute = value, counted", 1200, [&] { count("span.circuit%3D%22circuit-7%22"); });
  timed("job_id = value, its traces", std::nullopt,
        [&] { (void)hub.get("/api/v1/traces?q=%7Bspan.job_id%3D%22job-77%22%7D"); });
}

// Traces of about 500 spans: those of the store, or those that began of late.
std::vector<std::string> traces_of_500(const hub_under_test& hub) {
  const auto answer = nlohmann::json::parse(
      hub.ask_sql("SELECT format('{:016x}{:016x}', trace_hi, trace_lo) FROM spans GROUP BY trace_hi, trace_lo "
                  "HAVING count(*) BETWEEN 450 AND 550 ORDER BY 1 LIMIT 500"));
  std::vector<std::string> out;
  for (const auto& row : answer.at("rows")) out.push_back(row.at(0).get<std::string>());
  if (out.size() < 50) throw std::runtime_error("so few spans that there are not 50 traces of about 500");
  return out;
}

void measure_lookups(telltale::bench::report& report, const hub_under_test& hub, std::uint64_t spans) {
  constexpr std::uint64_t first_new = 10'000'000;
  const std::vector<std::string> ids = traces_of_500(hub);
  const auto hex = [](trace_id t) {
    char out[33];
    std::snprintf(out, sizeof out, "%016llx%016llx", static_cast<unsigned long long>(t.high),
                  static_cast<unsigned long long>(t.low));
    return std::string(out);
  };
  std::vector<double> kept;
  std::vector<double> coming;
  const auto look_up = [&](std::vector<double>& times, const std::string& id) {
    times.push_back(ms_of([&] { (void)hub.get("/api/v1/traces/" + id); }));
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  };
  const auto show = [&](const std::string& name, std::vector<double>& all, std::optional<double> bar) {
    std::sort(all.begin(), all.end());
    report.add({.name = name + ", p50", .value = quantile(all, 0.5), .unit = "ms"});
    telltale::bench::figure f{.name = name + ", p99", .value = quantile(all, 0.99), .unit = "ms"};
    if (bar) f.bar = value_at_most(*bar);
    report.add(std::move(f));
  };
  for (std::size_t i = 0; i < 200; ++i) look_up(kept, ids[i * 7 % ids.size()]);
  show("a trace of 500 spans by id, at rest", kept, std::nullopt);
  kept.clear();
  sender from(hub.grpc_port(), 2 * spans, first_new);
  std::this_thread::sleep_for(std::chrono::seconds(3));
  for (std::size_t i = 0; i < 600; ++i) {
    look_up(kept, ids[i * 7 % ids.size()]);
    if (i % 4 == 0) look_up(coming, hex(generator::trace(first_new + i % 40)));
  }
  show("a trace of 500 spans by id, while receiving", kept, 10);
  show("a trace of those that came since, while receiving", coming, std::nullopt);
}

// Where the benchmark's files are, while it runs.
struct work_folder {
  fs::path path;
  work_folder() {
    std::string name = (fs::current_path() / "hub-bench-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) throw std::runtime_error("cannot make a folder in " + name);
    path = name;
  }
  work_folder(const work_folder&) = delete;
  work_folder& operator=(const work_folder&) = delete;
  ~work_folder() {
    std::error_code ignored;
    fs::remove_all(path, ignored);
  }
};

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
  try {
    const work_folder folder;
    {
      const fs::path store = folder.path / "store";
      const hub_under_test hub(folder.path, "[store]\ndirectory = \"" + store.string() + "\"\n");
      measure_ingesting(report, hub, spans);
      measure_files(report, store);
      measure_questions(report, hub);
      measure_lookups(report, hub, spans);
    }
    measure_forwarding(report, folder.path, spans / 5);
    measure_decoding(report);
  } catch (const std::exception& e) {
    std::cerr << "report_hub: " << e.what() << "\n";
    return 2;
  }
  return report.finish(options, std::cout);
}

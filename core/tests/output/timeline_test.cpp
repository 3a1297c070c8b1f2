// Timelines: Perfetto's bytes read by a decoder that shares nothing with the writer; Chrome's JSON by a library.
#include <map>
#include <optional>
#include <thread>

#include "recorded.hpp"
#include "support/json_lines.hpp"
#include "support/process.hpp"

TELLTALE_MODULE("out::timeline");
using namespace telltale::literals;
using namespace telltale::testing;

namespace {

// Any protobuf message: its fields by number. Fails the test where the bytes are none.
struct message {
  struct value {
    std::uint64_t number = 0;
    std::string text;
  };
  std::multimap<std::uint32_t, value> fields;

  explicit message(std::string_view b) {
    const auto varint = [&] {
      std::uint64_t v = 0;
      for (unsigned shift = 0;; shift += 7) {
        if (b.empty() || shift > 63) throw std::runtime_error("a number is cut");
        const auto byte = static_cast<unsigned char>(b.front());
        b.remove_prefix(1);
        v |= std::uint64_t{byte & 0x7fu} << shift;
        if (byte < 0x80) return v;
      }
    };
    const auto fixed = [&](std::size_t n) {
      if (b.size() < n) throw std::runtime_error("a number is cut");
      std::uint64_t v = 0;
      for (std::size_t i = 0; i < n; ++i) v |= std::uint64_t{static_cast<unsigned char>(b[i])} << (8 * i);
      b.remove_prefix(n);
      return v;
    };
    while (!b.empty()) {
      const std::uint64_t tag = varint();
      value v;
      switch (tag & 7) {
        case 0:
          v.number = varint();
          break;
        case 1:
          v.number = fixed(8);
          break;
        case 5:
          v.number = fixed(4);
          break;
        case 2: {
          const std::uint64_t size = varint();
          if (size > b.size()) throw std::runtime_error("a text is cut");
          v.text = b.substr(0, size);
          b.remove_prefix(size);
          break;
        }
        default:
          throw std::runtime_error("no such wire type");
      }
      fields.emplace(static_cast<std::uint32_t>(tag >> 3), v);
    }
  }
  bool has(std::uint32_t f) const { return fields.contains(f); }
  std::uint64_t number(std::uint32_t f) const { return has(f) ? fields.find(f)->second.number : 0; }
  std::string text(std::uint32_t f) const { return has(f) ? fields.find(f)->second.text : ""; }
  std::vector<value> all(std::uint32_t f) const {
    std::vector<value> out;
    for (auto [at, end] = fields.equal_range(f); at != end; ++at) out.push_back(at->second);
    return out;
  }
};

struct slice {
  std::string name;
  std::string category;
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
  std::uint64_t track = 0;
  std::optional<std::size_t> parent;  // by nesting
  std::vector<std::uint64_t> flows;
  std::map<std::string, std::string> annotations;
};
struct timeline {
  std::vector<slice> slices;
  std::map<std::uint64_t, std::string> tracks;  // names of threads
  std::vector<std::string> instants;
};

// As the trace processor does it: events in order of time, each end closes the innermost open slice of its track.
timeline read_perfetto(const std::string& bytes) {
  timeline t;
  std::multimap<std::uint64_t, message> events;  // by time; of one time, as they come
  const message trace(bytes);
  for (const auto& raw : trace.all(1)) {
    const message packet(raw.text);
    EXPECT_NE(packet.number(10), 0u) << "a packet belongs to a sequence";
    if (packet.has(60)) {
      const message track(packet.text(60));
      t.tracks[track.number(1)] = track.has(4) ? message(track.text(4)).text(5) : track.text(2);
    } else {
      events.emplace(packet.number(8), message(packet.text(11)));
    }
  }
  std::map<std::uint64_t, std::vector<std::size_t>> open;
  for (const auto& [ns, event] : events) {
    const std::uint64_t track = event.number(11);
    EXPECT_TRUE(t.tracks.contains(track)) << "no track " << track;
    std::vector<std::size_t>& stack = open[track];
    if (event.number(9) == 1) {
      slice s;
      s.name = event.text(23);
      s.category = event.text(22);
      s.begin = ns;
      s.track = track;
      if (!stack.empty()) s.parent = stack.back();
      for (const auto& f : event.all(47)) s.flows.push_back(f.number);
      for (const auto& a : event.all(4)) {
        const message m(a.text);
        s.annotations[m.text(10)] = m.has(6) ? m.text(6) : std::to_string(m.number(m.has(4) ? 4 : m.has(3) ? 3 : 2));
      }
      stack.push_back(t.slices.size());
      t.slices.push_back(s);
    } else if (event.number(9) == 2) {
      if (stack.empty()) {
        ADD_FAILURE() << "an end without a begin";
        continue;
      }
      t.slices[stack.back()].end = ns;
      stack.pop_back();
    } else {
      t.instants.push_back(event.text(23));
    }
  }
  for (const auto& [track, stack] : open) EXPECT_TRUE(stack.empty()) << "a slice has no end";
  return t;
}
const slice& named(const timeline& t, std::string_view name) {
  for (const slice& s : t.slices) {
    if (s.name == name) return s;
  }
  throw std::runtime_error("no slice " + std::string(name));
}

class Timeline : public ::testing::Test {
 protected:
  void start(const std::string& kind) {
    telltale::options o;
    o.sinks = kind + ":" + file;
    o.overflow = telltale::overflow_policy::block;
    o.overhead = 0;  // each record
    const auto started = telltale::start(o);
    ASSERT_TRUE(started) << started.error().message;
    telltale::add_sink(kept);
  }
  std::string finish() {
    EXPECT_TRUE(telltale::flush(std::chrono::seconds(20)));
    telltale::remove_sink(kept);
    telltale::options o;
    o.sinks = "none";
    EXPECT_TRUE(telltale::start(o));
    return contents(file);
  }
  temporary_directory dir;
  std::string file = dir / "trace";
  std::shared_ptr<telltale::recording> kept = std::make_shared<telltale::recording>();
};

void record_something() {
  telltale::context first;
  {
    TELLTALE_SPAN_AS(load, info, "load", "bytes"_a = 4096u);
    first = load.get_context();
  }
  {
    TELLTALE_SCOPE("job", "job_id"_a = "j1");
    TELLTALE_SPAN_AS(msm, info, "msm", "points"_a = -3);
    msm.link(first, telltale::link_kind::input_of);
    msm.fail("broken");
    TELLTALE_EVENT(msm, "retried");
    TELLTALE_INFO("half way");
  }
  std::thread([] {
    telltale::name_thread("helper");
    TELLTALE_SPAN("elsewhere");
  }).join();
}

TEST_F(Timeline, PerfettoHasATrackPerThreadAndAnArrowPerLink) {
  start("perfetto");
  record_something();
  const timeline t = read_perfetto(finish());
  const auto spans = kept->take();
  ASSERT_EQ(t.slices.size(), 4u);
  for (const slice& s : t.slices) {
    const telltale::trace_span& was = telltale::testing::named(spans, s.name);
    EXPECT_EQ(s.begin, static_cast<std::uint64_t>(was.begin_ns));
    EXPECT_EQ(s.end, static_cast<std::uint64_t>(was.end_ns));
    EXPECT_EQ(s.category, "out::timeline");
    EXPECT_EQ(s.flows.at(0), was.id.value);
  }
  EXPECT_EQ(named(t, "msm").annotations.at("points"), std::to_string(static_cast<std::uint64_t>(-3)));
  EXPECT_EQ(named(t, "msm").annotations.at("job_id"), "j1");
  EXPECT_EQ(named(t, "msm").annotations.at("status"), "error");
  EXPECT_EQ(named(t, "msm").annotations.at("link"), "input-of");
  EXPECT_EQ(named(t, "msm").flows.at(1), named(t, "load").flows.at(0));
  ASSERT_TRUE(named(t, "msm").parent);
  EXPECT_EQ(t.slices[*named(t, "msm").parent].name, "job");
  EXPECT_EQ(named(t, "job").track, named(t, "load").track);
  EXPECT_NE(named(t, "elsewhere").track, named(t, "load").track);
  EXPECT_EQ(t.tracks.at(named(t, "elsewhere").track), "helper");
  EXPECT_EQ(std::multiset<std::string>(t.instants.begin(), t.instants.end()),
            (std::multiset<std::string>{"half way", "retried"}));
}

// Spans of one thread that overlap without nesting: no slice may end another's.
TEST_F(Timeline, SpansThatInterleaveKeepTheirTimes) {
  start("perfetto");
  telltale::context base = telltale::current_context();
  {
    auto a = std::make_unique<telltale::span>(TELLTALE_SITE_(telltale::site_kind::span, telltale::level::info, "a"),
                                              TELLTALE_ATTRIBUTES_());
    ::usleep(2000);
    auto b = std::make_unique<telltale::span>(TELLTALE_SITE_(telltale::site_kind::span, telltale::level::info, "b"),
                                              TELLTALE_ATTRIBUTES_());
    ::usleep(2000);
    a.reset();
    ::usleep(2000);
    b.reset();
  }
  telltale::exchange_context(base);
  const timeline t = read_perfetto(finish());
  const auto spans = kept->take();
  for (const char* name : {"a", "b"}) {
    EXPECT_EQ(named(t, name).begin, static_cast<std::uint64_t>(telltale::testing::named(spans, name).begin_ns));
    EXPECT_EQ(named(t, name).end, static_cast<std::uint64_t>(telltale::testing::named(spans, name).end_ns));
  }
  EXPECT_NE(named(t, "a").track, named(t, "b").track);
}

TEST_F(Timeline, ChromesArrayIsJsonWithItsClosingBracket) {
  start("chrome");
  record_something();
  const json all = parse_strictly(finish() + "]");
  const auto spans = kept->take();
  std::map<std::string, json> slices;
  std::map<std::string, int> flows;
  std::map<std::int64_t, std::string> threads;
  for (const json& e : all) {
    if (e.at("ph") == "X") slices[e.at("name")] = e;
    if (e.at("ph") == "s" || e.at("ph") == "f") ++flows[e.at("id")];
    if (e.at("name") == "thread_name") threads[e.at("tid")] = e.at("args").at("name");
  }
  ASSERT_EQ(slices.size(), 4u);
  for (const auto& [name, e] : slices) {
    const telltale::trace_span& was = telltale::testing::named(spans, name);
    EXPECT_NEAR(e.at("ts").get<double>(), static_cast<double>(was.begin_ns) / 1000, 0.5);
    EXPECT_NEAR(e.at("dur").get<double>(), static_cast<double>(was.duration_ns()) / 1000, 0.001);
    EXPECT_EQ(e.at("cat"), "out::timeline");
  }
  EXPECT_EQ(slices["msm"].at("args").at("points"), -3);
  EXPECT_EQ(slices["msm"].at("args").at("job_id"), "j1");
  EXPECT_EQ(slices["msm"].at("args").at("status"), "error");
  EXPECT_EQ(threads.at(slices["elsewhere"].at("tid")), "helper");
  ASSERT_EQ(flows.size(), 1u);
  EXPECT_EQ(flows.begin()->second, 2);
}

// A span of this process, one of a process that died, one of this process again: call site and thread have the same
// numbers in both.
void record_two_processes(telltale::sink& to) {
  for (const auto& [pid, name] : {std::pair{std::int64_t{::getpid()}, "own"}, std::pair{std::int64_t{4711}, "of dead"},
                                  std::pair{std::int64_t{::getpid()}, "own again"}}) {
    to.on_other_process(pid);
    telltale::site_info site;
    site.id = 1;
    site.name = name;
    site.module = "by::hand";
    const telltale::thread_info thread{1, pid + 1, std::string("thread of ") + name};
    to.on_span(
        {site, nullptr, thread, {1, 2}, {3}, {}, 1000, 2000, false, false, telltale::span_kind::internal, {}, {}, {}});
    to.on_batch_end();
  }
  EXPECT_TRUE(to.flush(std::chrono::steady_clock::now() + std::chrono::seconds(60)));
  EXPECT_EQ(to.delivered().taken, 3u);
  EXPECT_EQ(to.delivered().out, 3u);
}

TEST(TimelineOfTwoProcesses, PerfettoHasTheDeadOneUnderItsOwnNumber) {
  const temporary_directory dir;
  const auto made = telltale::make_sinks("perfetto:" + (dir / "out"));
  ASSERT_TRUE(made) << made.error().message;
  record_two_processes(*made->front());
  const std::string bytes = contents(dir / "out");
  std::map<std::uint64_t, std::uint64_t> processes;  // by track of a thread
  for (const auto& raw : message(bytes).all(1)) {
    const message packet(raw.text);
    const message track(packet.text(60));
    if (track.has(4)) processes[track.number(1)] = message(track.text(4)).number(1);
  }
  const timeline t = read_perfetto(bytes);
  const auto own = static_cast<std::uint64_t>(::getpid());
  for (const auto& [name, process] :
       {std::pair{"own", own}, std::pair{"of dead", std::uint64_t{4711}}, std::pair{"own again", own}}) {
    EXPECT_EQ(processes.at(named(t, name).track), process) << name;
    EXPECT_EQ(t.tracks.at(named(t, name).track), std::string("thread of ") + name);
  }
}

TEST(TimelineOfTwoProcesses, ChromeHasTheDeadOneUnderItsOwnNumber) {
  const temporary_directory dir;
  const auto made = telltale::make_sinks("chrome:" + (dir / "out"));
  ASSERT_TRUE(made) << made.error().message;
  record_two_processes(*made->front());
  std::map<std::string, std::int64_t> processes;
  std::set<std::int64_t> named_processes;
  for (const json& e : parse_strictly(contents(dir / "out") + "]")) {
    if (e.at("ph") == "X") processes[e.at("name")] = e.at("pid");
    if (e.at("name") == "process_name") named_processes.insert(e.at("pid").get<std::int64_t>());
  }
  EXPECT_EQ(processes,
            (std::map<std::string, std::int64_t>{{"own", ::getpid()}, {"of dead", 4711}, {"own again", ::getpid()}}));
  EXPECT_EQ(named_processes, (std::set<std::int64_t>{::getpid(), 4711}));
}

}  // namespace

// The command `telltale`: words into a request to the hub, its answer into text.
#include <sys/ioctl.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <csignal>
#include <fstream>
#include <iostream>
#include <sstream>
#include <telltale/core/units.hpp>

#include "access.hpp"
#include "hub/ask/api.hpp"
#include "hub/ask/jaeger_api.hpp"
#include "recover.hpp"
#include "serve.hpp"
#include "show.hpp"
#include "store_access.hpp"
#include "ui.hpp"

namespace {

using namespace telltale;
using namespace telltale::cli;

constexpr std::string_view about_subjects =
    "OF is a trace (32 hexadecimal digits), a job's id, or a query: '{ name = \"Prove\" && duration > 2s }'.";

// What the words said.
struct options {
  std::string hub;
  std::string store;  // a directory, in place of a hub
  bool json = false;
  bool all = false;
  bool brief = false;
  std::string since;
  std::int64_t start = -1;
  std::int64_t end = -1;
  std::uint64_t limit = 0;
  std::string of;
  std::string second;
  std::string format;
  std::string file;
  std::string level;
  std::string text;
  std::string span;
  double slow = 0.95;
  std::size_t steps = 60;
};

int complain(const std::string& what) {
  std::cerr << "telltale: " << what << "\n";
  return 1;
}

std::string environment(const char* name, std::string_view otherwise) {
  const char* v = std::getenv(name);
  return v != nullptr && *v != '\0' ? v : std::string(otherwise);
}

style style_of_terminal(const options& o) {
  style s;
  winsize size{};
  const bool terminal = ::isatty(STDOUT_FILENO) == 1;
  s.colour = terminal && environment("NO_COLOR", "").empty() && environment("TERM", "") != "dumb";
  if (terminal && ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 40) s.width = size.ws_col;
  if (o.all) s.max_lines = 0;
  s.brief = o.brief;
  return s;
}

std::int64_t now_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::system_clock::now().time_since_epoch())
      .count();
}

// --since, --start and --end as parameters.
result<void> add_range(request& r, const options& o) {
  std::int64_t start = o.start;
  if (!o.since.empty()) {
    const auto ago = parse_duration(o.since);
    if (!ago) return error{"--since: " + ago.error().message};
    start = now_ns() - std::chrono::nanoseconds(*ago).count();
  }
  if (start >= 0) r.query.emplace_back("start", std::to_string(start));
  if (o.end >= 0) r.query.emplace_back("end", std::to_string(o.end));
  if (o.limit != 0) r.query.emplace_back("limit", std::to_string(o.limit));
  return {};
}

// The hub, or the store of one that doesn't run.
result<std::unique_ptr<cli::access>> reach(const options& o) {
  if (!o.store.empty()) return over_store(o.store);
  return over_http(o.hub, environment("TELLTALE_TOKEN", ""));
}

using shower = std::string (*)(std::string_view, const style&);

int print(const options& o, const request& r, shower show) {
  const auto hub = reach(o);
  if (!hub) return complain(hub.error().message);
  auto answer = (*hub)->ask(r);
  if (!answer) return complain(answer.error().message);
  if (answer->status >= 400) return complain(error_of(answer->body));
  std::cout << (o.json || show == nullptr ? answer->body : show(answer->body, style_of_terminal(o))) << std::flush;
  return std::cout.good() ? 0 : complain("the output could not be written");
}

int ask(const options& o, std::string path, std::vector<std::pair<std::string, std::string>> query, shower show) {
  request r{"GET", std::move(path), std::move(query), {}};
  if (const auto range = add_range(r, o); !range) return complain(range.error().message);
  return print(o, r, show);
}

int tail(const options& o) {
  request r{"GET", "tail", {}, {}};
  if (!o.of.empty()) r.query.emplace_back("q", o.of);
  const style s = style_of_terminal(o);
  const auto hub = reach(o);
  if (!hub) return complain(hub.error().message);
  std::uint64_t left = o.limit;
  auto answer = (*hub)->follow(r, [&](std::string_view span) {
    std::cout << (o.json ? std::string(span) + "\n" : show_span_line(span, s)) << std::flush;
    return std::cout.good() && (o.limit == 0 || --left != 0);
  });
  if (!answer) return complain(answer.error().message);
  return answer->status >= 400 ? complain(error_of(answer->body)) : 0;
}

int export_file(const options& o) {
  request r{"GET", "export", {{"of", o.of}, {"format", o.format}}, {}};
  if (const auto range = add_range(r, o); !range) return complain(range.error().message);
  if (o.file.empty()) {
    if (o.format == "perfetto" && ::isatty(STDOUT_FILENO) == 1) {
      return complain("this format is for a file: -o out.perfetto");
    }
    return print(o, r, nullptr);
  }
  const auto hub = reach(o);
  if (!hub) return complain(hub.error().message);
  auto answer = (*hub)->ask(r);
  if (!answer) return complain(answer.error().message);
  if (answer->status >= 400) return complain(error_of(answer->body));
  std::ofstream out(o.file, std::ios::binary);
  out << answer->body;
  out.close();
  return out ? 0 : complain("cannot write " + o.file + ": is the folder there, and is there room?");
}

int import_file(const options& o) {
  std::ostringstream all;
  if (o.file == "-") {
    all << std::cin.rdbuf();
  } else {
    std::ifstream in(o.file, std::ios::binary);
    if (!in) return complain("cannot read " + o.file + ": is it there, and may you read it?");
    all << in.rdbuf();
  }
  std::string format = o.format;
  if (format.empty()) format = o.file.ends_with(".jsonl") ? "jsonl" : "otlp";
  return print(o, {"POST", "import", {{"format", format}}, std::move(all).str()}, show_import);
}

int metrics(options o) {
  if (o.since.empty() && o.start < 0) o.since = "15m";
  if (o.end < 0) o.end = now_ns();
  return ask(o, "metrics", {{"q", o.of}, {"steps", std::to_string(o.steps)}}, show_metrics);
}

std::vector<std::pair<std::string, std::string>> given(
    std::initializer_list<std::pair<const char*, std::string>> parameters) {
  std::vector<std::pair<std::string, std::string>> out;
  for (const auto& [key, value] : parameters) {
    if (!value.empty()) out.emplace_back(key, value);
  }
  return out;
}

}  // namespace

int main(int argc, char** argv) {
  ::signal(SIGPIPE, SIG_IGN);
  if (argc > 1 && std::string_view(argv[1]) == "recover") return recover({argv + 2, argv + argc});

  options o;
  int rc = 0;
  CLI::App app{"Answers questions about GPU jobs: where the time went, what made it slow, what changed."};
  app.require_subcommand(1);
  app.fallthrough();
  app.set_version_flag("--version", TELLTALE_VERSION);
  app.footer(
      std::string(about_subjects) +
      "\n--hub, --store and --json go with every command that asks.\nThe environment: TELLTALE_HUB (where the hub "
      "is), TELLTALE_TOKEN (its token), NO_COLOR; of serve and\nstore init: TELLTALE_CLICKHOUSE_PASSWORD.");
  app.get_formatter()->label("TEXT", "");  // a name says what it is
  app.failure_message([](const CLI::App* command, const CLI::Error& e) {
    std::string what = e.what();
    if (const auto unknown = command->remaining(); !unknown.empty() && command->get_subcommands().empty()) {
      what = "there is no command \"" + unknown.front() + "\"";
    }
    return "telltale: " + what + "\n`telltale --help` and `telltale COMMAND --help` say more.\n";
  });
  o.hub = environment("TELLTALE_HUB", "http://127.0.0.1:4320");
  CLI::Option* hub_option = app.add_option("--hub", o.hub, "where the hub is")->option_text("URL (" + o.hub + ")");
  app.add_option("--store", o.store, "a store's directory, to ask it while no hub runs")
      ->option_text("DIR")
      ->excludes(hub_option);
  app.add_flag("--json", o.json, "the API's answer as it is");

  const auto with_range = [&](CLI::App* c) {
    c->add_option("--since", o.since, "only what began within this time: 15m, 2h")->option_text("TIME");
    c->add_option("--start", o.start, "… at or after this, in nanoseconds since 1970")->option_text("NS");
    c->add_option("--end", o.end, "… before this")->option_text("NS");
    return c;
  };
  const auto command = [&](const char* name, const char* what, auto run) {
    CLI::App* c = app.add_subcommand(name, what);
    c->callback([&rc, run] { rc = run(); });
    return c;
  };

  CLI::App* c = with_range(command("traces", "the newest traces, or those that a query matches",
                                   [&] { return ask(o, "traces", given({{"q", o.of}}), show_traces); }));
  c->add_option("QUERY", o.of, "TraceQL: '{ name = \"msm\" && duration > 1s }'");
  c->add_option("--limit", o.limit, "how many (20)")->option_text("N");

  c = command("show", "a trace or a job as a waterfall", [&] { return ask(o, "traces/" + o.of, {}, show_trace); });
  c->add_option("OF", o.of, "a trace or a job")->required();
  c->add_flag("--all", o.all, "every span, not only the first 200");

  c = with_range(command("breakdown", "where the time went, by phase",
                         [&] { return ask(o, "breakdown", {{"of", o.of}}, show_breakdown); }));
  c->add_option("OF", o.of, "a trace, a job, or a query (its newest trace)")->required();

  c = with_range(command("critical-path", "what made it as long as it was",
                         [&] { return ask(o, "critical-path", {{"of", o.of}}, show_critical_path); }));
  c->add_option("OF", o.of, "a trace, a job, or a query (its newest trace)")->required();
  c->add_flag("--all", o.all, "every segment, not only the first 200");
  c->add_flag("--brief", o.brief, "without the segments");

  c = with_range(command("diff", "what got slower, by phase",
                         [&] { return ask(o, "diff", {{"a", o.of}, {"b", o.second}}, show_diff); }));
  c->add_option("BEFORE", o.of, "a trace, a job, or a query (all it matches)")->required();
  c->add_option("AFTER", o.second, "the same")->required();

  c = with_range(command("top", "durations by name: p50, p95, p99, rate, errors",
                         [&] { return ask(o, "top", given({{"q", o.of}}), show_top); }));
  c->add_option("QUERY", o.of, "one filter: '{ .job_id = \"j1\" }'");
  c->add_option("--limit", o.limit, "how many names (100)")->option_text("N");

  c = with_range(
      command("metrics", "numbers over time, by default of the last 15 minutes", [&] { return metrics(o); }));
  c->add_option("QUERY", o.of, "TraceQL: '{ name = \"msm\" } | quantile_over_time(duration, .99) by (.device)'")
      ->required();
  c->add_option("--steps", o.steps, "how many steps (60)")->option_text("N");

  c = with_range(command("outliers", "which attributes the slow ones share", [&] {
    return ask(o, "outliers", {{"q", o.of}, {"slow", std::to_string(o.slow)}}, show_outliers);
  }));
  c->add_option("QUERY", o.of, "TraceQL: the spans to look at, such as '{ name = \"msm\" }'")->required();
  c->add_option("--slow", o.slow, "from which quantile of the durations a span is slow (0.95)")->option_text("Q");

  c = with_range(command("logs", "log lines of a trace, a job or a span", [&] {
    return ask(o, "logs", given({{"of", o.of}, {"span", o.span}, {"level", o.level}, {"text", o.text}}), show_logs);
  }));
  c->add_option("OF", o.of, "a trace or a job; without it, all lines");
  c->add_option("--span", o.span, "only this span's: 16 hexadecimal digits")->option_text("SPAN");
  c->add_option("--level", o.level, "this level and above: trace, debug, info, warn, error or fatal")
      ->option_text("LEVEL")
      ->check(CLI::IsMember({"trace", "debug", "info", "warn", "error", "fatal"}));
  c->add_option("--text", o.text, "what the message contains")->option_text("TEXT");
  c->add_option("--limit", o.limit, "how many, the newest (1000)")->option_text("N");

  command("open", "spans that run now, up to their last sign of life", [&] { return ask(o, "open", {}, show_open); });

  c = command("follow", "links of a trace or a span, in both directions",
              [&] { return ask(o, "links", given({{"trace", o.of}, {"span", o.span}}), show_links); });
  c->add_option("TRACE", o.of, "32 hexadecimal digits")->required();
  c->add_option("SPAN", o.span, "16 hexadecimal digits");

  c = command("tail", "spans as they come", [&] { return tail(o); });
  c->add_option("QUERY", o.of, "only those that its first filter accepts");
  c->add_option("--limit", o.limit, "end after so many")->option_text("N");

  c = command("sql", "one SELECT, read only; docs/hub.md has the tables", [&] {
    request r{"POST", "sql", {}, o.of};
    if (o.limit != 0) r.query.emplace_back("limit", std::to_string(o.limit));
    return print(o, r, show_table);
  });
  c->add_option("SELECT", o.of, "'SELECT name, count(*) FROM spans GROUP BY name'")->required();
  c->add_option("--limit", o.limit, "how many rows (10000)")->option_text("N");

  c = with_range(command("export", "spans for another program", [&] { return export_file(o); }));
  c->add_option("OF", o.of, "a trace, a job, or a query (all it matches)")->required();
  c->add_option("--format", o.format, "perfetto, chrome, otlp, jaeger, speedscope or jsonl")
      ->option_text("FORMAT")
      ->required()
      ->check(CLI::IsMember({"perfetto", "chrome", "otlp", "jaeger", "speedscope", "jsonl"}));
  c->add_option("-o,--output", o.file, "the file; without it, the output")->option_text("FILE");

  c = command("import", "spans from a file into the hub", [&] { return import_file(o); });
  c->add_option("FILE", o.file, "OTLP/JSON, or JSON lines of the sink `json`; - is the input")->required();
  c->add_option("--format", o.format, "otlp or jsonl; by default what the name says")
      ->option_text("FORMAT")
      ->check(CLI::IsMember({"otlp", "jsonl"}));

  CLI::App* const store_command =
      app.add_subcommand("store", "what the hub's store holds; `store init` makes its tables");
  store_command->require_subcommand(0, 1);

  c = with_range(command("ui", "a viewer for the terminal", [&] {
    request r{"GET", "traces", given({{"q", o.of}}), {}};
    if (o.limit == 0) o.limit = 100;
    if (const auto range = add_range(r, o); !range) return complain(range.error().message);
    const auto hub = reach(o);
    if (!hub) return complain(hub.error().message);
    const auto done = run_ui(**hub, r);
    return done ? 0 : complain(done.error().message);
  }));
  c->add_option("QUERY", o.of, "only the traces that it matches");
  c->add_option("--limit", o.limit, "how many traces (100)")->option_text("N");

  serve_words words;
  c = store_command->add_subcommand("init", "makes or migrates ClickHouse's tables, and sets how long they keep");
  c->add_option("--config", words.config, "a TOML file with clickhouse.url; docs/hub.md has its keys")
      ->option_text("FILE")
      ->required();
  c->callback([&] {
    const auto made = init_store(words);
    rc = made ? *made : complain(made.error().message);
  });
  store_command->callback([&] {
    if (store_command->get_subcommands().empty()) rc = ask(o, "store", {}, show_store);
  });

  c = command("serve", "the hub: receives OTLP, keeps it, and answers all of the above", [&] {
    if (words.directory.empty()) words.directory = o.store;
    const auto served = serve(words, [](hub::router& r, hub::store* kept) {
      if (kept == nullptr) return;
      hub::add_api(r, *kept);
      hub::add_jaeger_api(r, *kept);
    });
    return served ? *served : complain(served.error().message);
  });
  c->add_option("--config", words.config, "a TOML file; docs/hub.md has its keys")->option_text("FILE");
  c->add_option("--store", words.directory, "where the data is kept (telltale-data)")->option_text("DIR");
  const auto addresses = [&](const char* name, std::vector<std::string>& to, const char* what) {
    c->add_option(name, to, what)->delimiter(',')->option_text("HOST:PORT,…");
  };
  addresses("--listen", words.listen, "addresses for HTTP (127.0.0.1:4318 for OTLP, 127.0.0.1:4320)");
  addresses("--grpc", words.grpc, "addresses for OTLP/gRPC (127.0.0.1:4317)");
  c->add_option("--forward", words.forward, "sends on what comes to another receiver: http://HOST:4318")
      ->option_text("URL");
  c->add_flag("--check-config", words.check, "only says what is wrong with the configuration");
  c->add_flag("--print-config", words.print, "only shows the configuration that would hold");

  app.add_subcommand("recover", "what a process that was killed had recorded last; `telltale recover --help`");

  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    return app.exit(e);
  } catch (const std::exception& e) {  // an answer of another shape
    return complain("what answered can't be understood: is it a hub, and of this version? (" + std::string(e.what()) +
                    ")");
  }
  return rc;
}

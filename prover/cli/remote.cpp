// The subcommands that ask a daemon.
#include "prover/cli/remote.hpp"

#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <iterator>
#include <map>
#include <telltale/core/telltale.hpp>
#include <telltale/core/units.hpp>
#include <thread>

#include "prover/cli/screen.hpp"

TELLTALE_MODULE("prover");

namespace prover::cli {

using namespace telltale::literals;

namespace {

using daemon::answered;
using daemon::call_failure;
using daemon::job_view;

// Whole or not at all: under another name first.
telltale::result<void> save(const std::string& path, const std::string& text) {
  const std::string half = path + ".part";
  std::ofstream file(half, std::ios::binary | std::ios::trunc);
  file << text;
  file.close();
  if (!file || std::rename(half.c_str(), path.c_str()) != 0) {
    std::remove(half.c_str());
    return telltale::error{"cannot write \"" + path + "\""};
  }
  return {};
}

std::optional<std::chrono::nanoseconds> duration(const std::string& text, const char* option) {
  if (text.empty()) return std::nullopt;
  const auto d = telltale::parse_duration(text);
  if (!d) throw CLI::ValidationError(option, d.error().message);
  return *d;
}

// The answer, or nothing once the failure has been said.
template <class T>
std::optional<T> take(answered<T> a, int& code) {
  if (auto* value = std::get_if<T>(&a)) return std::move(*value);
  code = fail(std::get<call_failure>(a));
  return std::nullopt;
}

std::string line_of(const job_view& v) {
  std::string line = v.id.value + "  " + v.kind + "  " + std::string(telltale_name(v.state));
  if (v.state == daemon::job_state::finished) line += ": " + std::string(telltale_name(v.how));
  line += "  " + duration_text(v.age);
  if (!v.phase.empty()) line += "  " + v.phase;
  if (!v.device.empty()) line += " on " + v.device;
  if (!v.explanation.empty()) line += "  " + v.explanation;
  return line;
}

void follow(daemon::client& c, const std::string& id, int& code) {
  const auto failed = c.watch({id}, [](const daemon::step& s) {
    std::printf("%s\n", line_of(s.job).c_str());
    std::fflush(stdout);
    return true;
  });
  if (failed) code = fail(*failed);
}

// The whole daemon, again and again. Ends with Ctrl-C.
void show_live(daemon::client& c, std::chrono::milliseconds every, int& code) {
  const bool terminal = ::isatty(STDOUT_FILENO) != 0;
  for (;;) {
    const auto json = take(c.status(), code);
    if (!json) return;
    winsize size{};
    if (terminal) ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size);
    const auto text = render_status(*json, size.ws_col, size.ws_row > 1 ? size.ws_row - 1u : 0u);
    if (!text) {
      code = fail(bad_input, text.error());
      return;
    }
    // From the top, each line cleared behind its text, and what is below: no flicker.
    std::string screen = terminal ? "\033[H" : "";
    for (const char ch : *text) screen += terminal && ch == '\n' ? "\033[K\n" : std::string(1, ch);
    if (terminal) screen += "\033[J";
    std::fwrite(screen.data(), 1, screen.size(), stdout);
    std::fflush(stdout);
    if (!terminal) return;
    std::this_thread::sleep_for(every);
  }
}

}  // namespace

telltale::result<std::vector<std::byte>> content_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  const std::streamoff size = file ? static_cast<std::streamoff>(file.tellg()) : -1;
  std::vector<std::byte> content(size > 0 ? static_cast<std::size_t>(size) : 0);
  file.seekg(0);
  if (size < 0 || !file.read(reinterpret_cast<char*>(content.data()), size)) {
    return telltale::error{"cannot read \"" + path + "\""};
  }
  return content;
}

daemon::answered<daemon::remote_result> ask(daemon::client& c, const daemon::request& r,
                                            std::optional<std::chrono::nanoseconds> timeout,
                                            bool cancel_on_disconnect) {
  TELLTALE_SPAN_AS(span, info, "ask_daemon", "kind"_a = telltale::text{r.kind});
  span.kind(telltale::span_kind::client);
  auto answer = c.prove(r, timeout, cancel_on_disconnect);
  if (const auto* got = std::get_if<daemon::remote_result>(&answer)) {
    span.set("job_id"_a = telltale::text{got->id.value});
    if (got->result.how != daemon::outcome::completed) span.fail("no_proof");
  } else {
    span.fail("no_answer");
  }
  return answer;
}

std::string problem_of(const daemon::remote_result& r) {
  if (r.result.how == daemon::outcome::completed && !r.result.proofs.empty()) return {};
  std::string what = "job " + r.id.value + " " + std::string(telltale_name(r.result.how));
  if (!r.result.why.message.empty()) {
    what += " (" + std::string(telltale_name(r.result.why.what)) + "): " + r.result.why.message;
  }
  return what;
}

int fail(const call_failure& why) {
  std::string message = why.message;
  if (why.retry_after) message += " Come again in " + duration_text(*why.retry_after) + ".";
  return fail(bad_input, {message + " (" + why.code + ")"});
}

std::unique_ptr<daemon::client> connect(const daemon::client_settings& settings, int& code) {
  auto c = daemon::client::open(settings);
  if (c) return std::move(*c);
  code = fail(bad_input, c.error());
  return nullptr;
}

void add_remote_options(CLI::App& command, remote_job& into) {
  add_server(command, into.server);
  command.add_option("--kind", into.kind, "Let a daemon prove it: the circuit's name there")->option_text("NAME");
  command.add_option("--inputs", into.inputs, "With --kind: the circuit's inputs, for the kind's witness generator")
      ->option_text("I.json");
  command
      .add_option("--idempotency-key", into.idempotency_key,
                  "With --kind: asked again with the same key, the daemon gives the same answer")
      ->option_text("KEY");
  command.add_option("--priority", into.priority, "With --kind: low, normal, high or urgent (default: the kind's)")
      ->option_text("P");
  command.add_option("--deadline", into.deadline, "With --kind: the job expires after this, as 30s")
      ->option_text("TIME");
  command.add_option("--timeout", into.timeout, "With --kind: how long to wait for the answer; the job goes on")
      ->option_text("TIME");
  command.add_flag("--cancel-on-disconnect", into.cancel_on_disconnect,
                   "With --kind: the job ends when this program does");
  command.add_flag("--breakdown", into.breakdown, "With --kind: where the time went, as the daemon saw it");
}

int prove_remotely(const remote_job& j) {
  int code = done;
  const auto c = connect(j.server, code);
  if (c == nullptr) return code;
  daemon::request r;
  r.kind = j.kind;
  r.idempotency_key = j.idempotency_key;
  r.deadline = duration(j.deadline, "--deadline");
  if (!j.priority.empty()) {
    static const std::map<std::string, daemon::priority> names{{"low", daemon::priority::low},
                                                               {"normal", daemon::priority::normal},
                                                               {"high", daemon::priority::high},
                                                               {"urgent", daemon::priority::urgent}};
    const auto found = names.find(j.priority);
    if (found == names.end()) throw CLI::ValidationError("--priority", "must be low, normal, high or urgent");
    r.priority = found->second;
  }
  const bool has_witness = !j.witness.empty();
  auto content = content_of(has_witness ? j.witness : j.inputs);
  if (!content) return fail(bad_input, content.error());
  r.payloads.push_back({has_witness ? daemon::payload_form::wtns : daemon::payload_form::inputs, std::move(*content)});

  const auto answer = take(ask(*c, r, duration(j.timeout, "--timeout"), j.cancel_on_disconnect), code);
  if (!answer) return code;
  const daemon::job_result& result = answer->result;
  if (j.breakdown) std::fputs(render_timing(result.times).c_str(), stderr);
  if (auto problem = problem_of(*answer); !problem.empty()) return fail(refused, {std::move(problem)});
  if (auto saved = save(j.proof, result.proofs[0].proof); !saved) return fail(bad_input, saved.error());
  if (auto saved = save(j.signals, result.proofs[0].signals); !saved) return fail(bad_input, saved.error());
  return done;
}

void add_remote_commands(CLI::App& app, int& code) {
  struct options {
    daemon::client_settings server;
    std::string kind;
    std::string job;
    std::string every = "500ms";
    unsigned at_most = 100;
    bool json = false;
    bool finished = false;
  };
  const auto add = [&](const char* name, const char* what, auto run) {
    auto o = std::make_shared<options>();
    auto* command = app.add_subcommand(name, what);
    add_server(*command, o->server);
    command->callback([o, run, &code] {
      if (const auto c = connect(o->server, code)) run(*c, *o, code);
    });
    return std::pair{command, o};
  };

  const auto [status, s] = add("status", "How a daemon stands: memory, queue, devices, keys, jobs",
                               [](daemon::client& c, const options& o, int& exit) {
                                 const auto json = take(c.status(), exit);
                                 if (!json) return;
                                 const auto text =
                                     o.json ? telltale::result<std::string>(*json + '\n') : render_status(*json, 0, 0);
                                 if (!text) {
                                   exit = fail(bad_input, text.error());
                                 } else {
                                   std::fputs(text->c_str(), stdout);
                                 }
                               });
  status->add_flag("--json", s->json, "As JSON");

  const auto [jobs, l] = add("jobs", "A daemon's jobs", [](daemon::client& c, const options& o, int& exit) {
    const auto list = take(c.list(o.kind, o.finished, o.at_most), exit);
    if (!list) return;
    std::fputs(render_jobs(*list).c_str(), stdout);
  });
  jobs->add_option("--kind", l->kind, "Of one kind only")->option_text("NAME");
  jobs->add_flag("--finished", l->finished, "Those that have ended as well");
  jobs->add_option("--at-most", l->at_most, "How many (default: 100)")->option_text("N");

  const auto [cancel, x] = add("cancel", "Ends a daemon's job at its next stage boundary",
                               [](daemon::client& c, const options& o, int& exit) {
                                 const auto answer = take(c.cancel({o.job}), exit);
                                 if (answer) std::printf("%s\n", answer->c_str());
                               });
  cancel->add_option("job", x->job, "The job")->required()->option_text("JOB");

  const auto [preload, p] =
      add("preload", "Has a daemon load a kind's key, in the background",
          [](daemon::client& c, const options& o, int& exit) {
            const auto already = take(c.preload(o.kind), exit);
            if (already)
              std::fputs(*already ? "already loaded\n" : "loading; prover status says when it is there\n", stdout);
          });
  preload->add_option("kind", p->kind, "The kind")->required()->option_text("KIND");

  const auto [evict, e] =
      add("evict", "Has a daemon let a kind's key go", [](daemon::client& c, const options& o, int& exit) {
        const auto freed = take(c.evict(o.kind), exit);
        if (freed) std::printf("%s freed\n", size_text(*freed).c_str());
      });
  evict->add_option("kind", e->kind, "The kind")->required()->option_text("KIND");

  const auto [watch, w] =
      add("watch", "A live screen of a daemon, or each step of one job until it ends",
          [](daemon::client& c, const options& o, int& exit) {
            if (!o.job.empty()) return follow(c, o.job, exit);
            const auto every = telltale::parse_duration(o.every);
            if (!every || every->count() < 50) {
              throw CLI::ValidationError("--every", every ? "at least 50ms" : every.error().message);
            }
            show_live(c, *every, exit);
          });
  watch->add_option("job", w->job, "The job to follow")->option_text("JOB");
  watch->add_option("--every", w->every, "How often to look (default: 500ms)")->option_text("TIME");
}

}  // namespace prover::cli

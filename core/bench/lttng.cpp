// Our lines beside LTTng-UST's tracepoints: off without a session, on in a session of a daemon that this starts for
// the purpose and stops again.
#include <signal.h>
#include <sys/types.h>

#include <fstream>
#include <sstream>

#include "core/bench/child.hpp"
#include "core/bench/figures.hpp"

namespace telltale::bench {
namespace {

void add_pair(report& r, const std::string& name, const std::string& reference, telltale::bench::bar bar,
              const ended& e) {
  std::istringstream words(e.output);
  double ours = 0;
  double theirs = 0;
  if (e.code != 0 || !(words >> ours >> theirs)) return r.absent(name, "core_lttng_peer: " + e.output);
  r.add({.name = name, .value = ours, .unit = "ns", .reference = reference, .reference_value = theirs, .bar = bar});
}

// lttng-sessiond for as long as it lives.
class session_daemon {
 public:
  explicit session_daemon(const scratch_directory& scratch) {
    const std::string file = scratch / "pid";
    const ended e = run_child({"lttng-sessiond", "--daemonize", "--no-kernel", "--pidfile=" + file});
    if (e.code == 0) std::ifstream(file) >> pid_;
  }
  ~session_daemon() {
    if (pid_ > 0) ::kill(pid_, SIGTERM);
  }
  session_daemon(const session_daemon&) = delete;
  session_daemon& operator=(const session_daemon&) = delete;
  explicit operator bool() const noexcept { return pid_ > 0; }

 private:
  pid_t pid_ = 0;
};

void add_on(report& r, const std::string& peer) {
  const std::string name = "enabled line, burst, drain live";
  const std::string reference = "LTTng-UST, in a session";
  const scratch_directory scratch;
  const session_daemon daemon(scratch);
  if (!daemon) return r.absent(name + ", beside LTTng's", "no lttng-sessiond of our own could be started");
  const std::vector<std::vector<std::string>> steps = {
      {"lttng", "create", "telltale-bench", "--output=" + scratch / "trace"},
      {"lttng", "enable-channel", "--userspace", "--session=telltale-bench", "--subbuf-size=1M", "--num-subbuf=4",
       "bench"},
      {"lttng", "enable-event", "--userspace", "--session=telltale-bench", "--channel=bench", "telltale_bench:*"},
      {"lttng", "start", "telltale-bench"}};
  for (const auto& step : steps) {
    if (const ended e = run_child(step); e.code != 0) {
      return r.absent(name + ", beside LTTng's", step[1] + ": " + e.output.substr(0, e.output.find('\n')));
    }
  }
  add_pair(r, name, reference, ratio_at_most(1), run_child({peer, "on"}));
  (void)run_child({"lttng", "destroy", "--no-wait", "telltale-bench"});
}

}  // namespace

void add_lttng_figures(report& r) {
  const std::string peer = beside("core_lttng_peer");
  if (peer.empty()) {
    return r.absent("lines beside LTTng's",
                    "LTTng-UST was not there when this was built: apt-get install liblttng-ust-dev lttng-tools");
  }
  // Both are a load, a comparison and a branch, which hide in the loop: what differs is noise.
  add_pair(r, "line off, loop with the call", "LTTng-UST, no session", ratio_at_most(1.1), run_child({peer, "off"}));
  add_on(r, peer);
}

}  // namespace telltale::bench

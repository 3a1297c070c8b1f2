// Starting, watching and ending a witness generator.
//
// posix_spawn rather than fork: the daemon holds gigabytes, whose page tables a fork would copy. What must happen in
// the child before the program runs is done by util-linux' setpriv and prlimit, which every Debian has: die with the
// thread that started it, gain no privileges, keep to the limits. There is no limit on address space among them: V8
// reserves gigabytes that it never touches; RLIMIT_DATA counts what can be written.
#include "prover/daemon/witness_process.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <condition_variable>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <set>
#include <system_error>
#include <telltale/core/telltale.hpp>

TELLTALE_MODULE("prover::daemon");

namespace prover::daemon {

using namespace telltale::literals;

namespace {

namespace fs = std::filesystem;
using clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr std::size_t print_limit = std::size_t{1} << 20;  // of stdout and stderr together
constexpr std::size_t print_kept = 8000;                   // of its end, for the error
constexpr const char* search_path = "/usr/local/bin:/usr/bin:/bin";

std::string system_message(int number) {
  return std::error_code(number, std::generic_category()).message();
}

class descriptor {
 public:
  explicit descriptor(int fd = -1) noexcept : fd_(fd) {}
  ~descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  descriptor(descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  descriptor& operator=(descriptor&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  int get() const noexcept { return fd_; }

 private:
  int fd_;
};

// A directory for one run, removed with everything in it.
class run_directory {
 public:
  explicit run_directory(const std::string& parent) : path_(parent + "/telltale-witness-XXXXXX") {
    if (::mkdtemp(path_.data()) == nullptr) {
      failed_ = errno;
    }
  }
  ~run_directory() {
    std::error_code ignored;
    if (failed_ == 0) fs::remove_all(path_, ignored);
  }
  run_directory(const run_directory&) = delete;
  run_directory& operator=(const run_directory&) = delete;
  int failed() const noexcept { return failed_; }
  const std::string& path() const noexcept { return path_; }

 private:
  std::string path_;
  int failed_ = 0;
};

// The program with its full path: the sandbox shows only the folders that are named.
std::string find_program(const std::string& name) {
  if (name.find('/') != std::string::npos) return name;
  const char* path = std::getenv("PATH");  // NOLINT(concurrency-mt-unsafe): nobody sets it
  std::string_view rest = path != nullptr ? path : search_path;
  while (!rest.empty()) {
    const std::size_t colon = rest.find(':');
    const std::string candidate = std::string(rest.substr(0, colon)) + '/' + name;
    if (::access(candidate.c_str(), X_OK) == 0) return candidate;
    if (colon == std::string_view::npos) break;
    rest.remove_prefix(colon + 1);
  }
  return name;
}

// A child in a session of its own, its output in a pipe.
struct child {
  pid_t pid = -1;
  int failed = 0;
  descriptor output;
};

child start(const std::vector<std::string>& command, const std::string& directory) {
  child c;
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) {
    c.failed = errno;
    return c;
  }
  std::vector<char*> arguments;
  arguments.reserve(command.size() + 1);
  for (const std::string& a : command) arguments.push_back(const_cast<char*>(a.c_str()));
  arguments.push_back(nullptr);
  // Nothing of the daemon's environment: it may hold secrets, and NODE_OPTIONS would change the program.
  std::string path = "PATH=" + std::string(search_path);
  std::array<char*, 2> environment{path.data(), nullptr};

  posix_spawn_file_actions_t files;
  posix_spawnattr_t attributes;
  ::posix_spawn_file_actions_init(&files);
  ::posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  ::posix_spawn_file_actions_adddup2(&files, ends[1], STDOUT_FILENO);
  ::posix_spawn_file_actions_adddup2(&files, ends[1], STDERR_FILENO);
  ::posix_spawn_file_actions_addchdir_np(&files, directory.c_str());
  // What others opened without O_CLOEXEC isn't the program's.
  ::posix_spawn_file_actions_addclosefrom_np(&files, STDERR_FILENO + 1);
  ::posix_spawnattr_init(&attributes);
  sigset_t none;
  sigset_t all;
  ::sigemptyset(&none);
  ::sigfillset(&all);
  ::posix_spawnattr_setsigmask(&attributes, &none);
  ::posix_spawnattr_setsigdefault(&attributes, &all);
  ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  c.failed = ::posix_spawnp(&c.pid, arguments[0], &files, &attributes, arguments.data(), environment.data());
  ::posix_spawnattr_destroy(&attributes);
  ::posix_spawn_file_actions_destroy(&files);
  ::close(ends[1]);
  c.output = descriptor(ends[0]);
  return c;
}

int open_process(pid_t pid) {
  return static_cast<int>(::syscall(SYS_pidfd_open, pid, 0));
}

// How a watched child ended.
struct ending {
  int status = 0;
  bool timed_out = false;
  bool cancelled = false;
  bool printed_too_much = false;
  std::string printed;  // the end of it
};

// Reads what there is; false at the end of it.
bool read_some(int fd, ending& e, std::size_t& total) {
  char block[16384];
  const ssize_t n = ::read(fd, block, sizeof block);
  if (n < 0) return errno == EINTR || errno == EAGAIN;
  if (n == 0) return false;
  total += static_cast<std::size_t>(n);
  e.printed.append(block, static_cast<std::size_t>(n));
  if (e.printed.size() > print_kept) e.printed.erase(0, e.printed.size() - print_kept);
  return true;
}

ending watch(child& c, clock::time_point until, const std::stop_token& stop) {
  ending e;
  std::size_t total = 0;
  const descriptor process(open_process(c.pid));
  int wake[2];
  if (::pipe2(wake, O_CLOEXEC | O_NONBLOCK) != 0) wake[0] = wake[1] = -1;
  const descriptor woken(wake[0]);
  const descriptor waker(wake[1]);
  {
    const std::stop_callback on_stop(stop, [&] { (void)!::write(waker.get(), "", 1); });
    ::fcntl(c.output.get(), F_SETFL, O_NONBLOCK);
    pollfd watched[] = {{process.get(), POLLIN, 0}, {woken.get(), POLLIN, 0}, {c.output.get(), POLLIN, 0}};
    for (;;) {
      const auto left = std::chrono::ceil<milliseconds>(until - clock::now());
      if (left.count() <= 0) {
        e.timed_out = true;
        break;
      }
      // An open pipe of someone it left behind doesn't keep us: the process itself ends the loop.
      if (::poll(watched, 3, static_cast<int>(std::min<std::int64_t>(left.count(), 1'000'000))) < 0) continue;
      if (stop.stop_requested()) {
        e.cancelled = true;
        break;
      }
      if ((watched[2].revents & (POLLIN | POLLHUP)) != 0 && !read_some(c.output.get(), e, total)) watched[2].fd = -1;
      if (total > print_limit) {
        e.printed_too_much = true;
        break;
      }
      if ((watched[0].revents & POLLIN) != 0) break;
    }
  }
  // The whole group, before its leader is collected: until then the number can't be another's.
  ::kill(-c.pid, SIGKILL);
  while (::waitpid(c.pid, &e.status, 0) < 0 && errno == EINTR) {
  }
  for (int i = 0; i < 64 && total <= print_limit; ++i) {  // what a pipe holds at most, and no more
    const std::size_t before = total;
    if (!read_some(c.output.get(), e, total) || total == before) break;
  }
  return e;
}

// What it said, on one line: from its first "Error" on, since node ends with the trace of its stack, or else its last
// words.
std::string last_words(std::string text) {
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.pop_back();
  constexpr std::size_t most = 400;
  if (const std::size_t error = text.find("Error"); error != std::string::npos) {
    text = text.substr(error, most);
  } else if (text.size() > most) {
    text.erase(0, text.size() - most);
  }
  for (char& c : text) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = ' ';
  }
  return text.empty() ? " It printed nothing." : " It printed: " + text;
}

failure fail(std::string message) {
  return {failure_class::generator, std::move(message)};
}

std::string seconds_text(milliseconds d) {
  const auto ms = d.count();
  return ms % 1000 == 0 ? std::to_string(ms / 1000) + " s" : std::to_string(ms) + " ms";
}

// The first line that a short-lived command prints; empty where it fails.
std::string first_line(const std::vector<std::string>& command) {
  child c = start(command, "/");
  if (c.failed != 0) return {};
  ending e = watch(c, clock::now() + std::chrono::seconds{10}, {});
  if (!WIFEXITED(e.status) || WEXITSTATUS(e.status) != 0) return {};
  return e.printed.substr(0, e.printed.find('\n'));
}

// What every sandboxed run begins with.
std::vector<std::string> bubblewrap() {
  std::vector<std::string> c{
      "bwrap",    "--unshare-all", "--die-with-parent", "--new-session", "--cap-drop", "ALL",  "--proc", "/proc",
      "--dev",    "/dev",          "--tmpfs",           "/tmp",          "--ro-bind",  "/usr", "/usr",   "--clearenv",
      "--setenv", "PATH",          search_path};
  for (const char* folder : {"/bin", "/sbin", "/lib", "/lib64"}) {
    std::error_code failed;
    const fs::path target = fs::read_symlink(folder, failed);
    if (!failed) {
      c.insert(c.end(), {"--symlink", target.string(), folder});
    } else if (fs::is_directory(folder, failed)) {
      c.insert(c.end(), {"--ro-bind", folder, folder});
    }
  }
  return c;
}

}  // namespace

telltale::result<std::unique_ptr<witness_process>> witness_process::create(
    const generator_settings& settings, std::map<std::string, generator_program> programs) {
  const auto with = [&](std::string sandbox) {
    return std::unique_ptr<witness_process>(new witness_process(settings, std::move(programs), std::move(sandbox)));
  };
  if (programs.empty()) return with("not needed: no kind has a generator");
  if (settings.sandbox == sandbox_choice::none) return with("none: resource limits only");
  const std::string version = first_line({"bwrap", "--version"});
  if (version.empty()) {
    return telltale::error{
        "witness generators can't be confined: bubblewrap is not installed. Install it (apt-get install bubblewrap), "
        "or say sandbox = \"none\" in [generators] where you trust the generators with this user's files and network."};
  }
  std::vector<std::string> trial = bubblewrap();
  trial.insert(trial.end(), {"sh", "-c", "echo confined"});
  if (first_line(trial) != "confined") {
    return telltale::error{
        "witness generators can't be confined: bubblewrap is installed but can't make namespaces here (a container "
        "without the right, or kernel.unprivileged_userns_clone=0). Allow it, or say sandbox = \"none\" in "
        "[generators]."};
  }
  return with(version + ": no network, read-only, a directory of its own");
}

std::vector<std::string> witness_process::command(const kind& k, const generator_program& program,
                                                  const std::string& directory) const {
  const auto seconds = std::chrono::ceil<std::chrono::seconds>(program.time).count();
  std::vector<std::string> c{"setpriv", "--no-new-privs", "--pdeathsig", "KILL", "prlimit",
                             // All its threads may compute: a stop for what outlives us, not the time limit.
                             "--cpu=" + std::to_string(seconds * 64 + 60),
                             "--data=" + std::to_string(k.witness_source_memory),
                             "--fsize=" + std::to_string(k.max_payload), "--nofile=256", "--core=0"};
  const std::string file = find_program(program.command.front());
  std::string inside = directory;
  if (settings_.sandbox == sandbox_choice::bubblewrap) {
    const std::vector<std::string> wrap = bubblewrap();
    c.insert(c.end(), wrap.begin(), wrap.end());
    // The folders of the files that it is called with: beside a native generator lies its .dat, beside a script what
    // it requires.
    std::set<std::string> folders;
    const auto show = [&](const std::string& path) {
      std::error_code failed;
      if (path.starts_with('/') && fs::exists(path, failed)) {
        folders.insert(fs::path(path).parent_path().string());
        folders.insert(fs::weakly_canonical(path, failed).parent_path().string());
      }
    };
    show(file);
    for (const std::string& a : program.command) show(a);
    for (const std::string& f : folders) {
      const bool there_already = f == "/usr" || f.starts_with("/usr/") || f == "/bin" || f == "/sbin";
      if (!there_already && f != "/") c.insert(c.end(), {"--ro-bind", f, f});
    }
    inside = "/run-directory";
    c.insert(c.end(), {"--bind", directory, inside, "--chdir", inside, "--"});
  }
  c.push_back(file);
  c.insert(c.end(), program.command.begin() + 1, program.command.end());
  c.push_back(inside + "/inputs.json");
  c.push_back(inside + "/witness.wtns");
  return c;
}

witness_source::made witness_process::make(const kind& k, payload p, std::stop_token stop,
                                           std::optional<steady_time> deadline) {
  if (p.form == payload_form::inputs && programs_.contains(k.name)) {
    const std::string_view inputs(reinterpret_cast<const char*>(p.content.data()), p.content.size());
    auto generated = generate(k, inputs, stop, deadline);
    if (auto* why = std::get_if<failure>(&generated)) return std::move(*why);
    p = {payload_form::wtns, std::get<std::vector<std::byte>>(std::move(generated))};
  }
  return reader_.make(k, std::move(p), std::move(stop), deadline);
}

std::variant<std::vector<std::byte>, failure> witness_process::generate(const kind& k, std::string_view inputs,
                                                                        const std::stop_token& stop,
                                                                        std::optional<steady_time> deadline) const {
  TELLTALE_SPAN("generate", "bytes"_a = inputs.size());
  const auto found = programs_.find(k.name);
  if (found == programs_.end()) {
    return failure{failure_class::bad_input, "kind \"" + k.name + "\" has no witness generator"};
  }
  const generator_program& program = found->second;
  const std::string who = "the witness generator of kind \"" + k.name + "\" (" + program.command.front() + ")";
  if (stop.stop_requested()) return fail(who + " was not started: the job had ended.");
  const run_directory directory(settings_.directory);
  if (directory.failed() != 0) {
    return fail("cannot make a directory for " + who + " in \"" + settings_.directory + "\": " +
                system_message(directory.failed()) + ". Set directory in [generators] to one that can be written.");
  }
  {
    std::ofstream file(directory.path() + "/inputs.json", std::ios::binary);
    file << inputs;
    file.close();
    if (!file) {
      return fail("cannot write the inputs for " + who + " in \"" + settings_.directory +
                  "\": " + system_message(errno) + ". Make room there.");
    }
  }
  child c = start(command(k, program, directory.path()), directory.path());
  if (c.failed != 0) return fail("cannot start " + who + ": " + system_message(c.failed) + ".");
  auto until = clock::now() + program.time;
  if (deadline) until = std::min<clock::time_point>(until, *deadline);
  const ending e = watch(c, until, stop);
  if (e.cancelled) return fail(who + " was stopped: the job had ended.");
  if (e.timed_out) {
    return fail(who + " had not ended after " + seconds_text(program.time) +
                " (or at the job's deadline) and was killed. Raise generator_time if it needs longer." +
                last_words(e.printed));
  }
  if (e.printed_too_much) return fail(who + " printed more than 1 MiB and was killed." + last_words(e.printed));
  // bubblewrap says a signal as 128 + its number.
  const int code = WIFEXITED(e.status) ? WEXITSTATUS(e.status) : 0;
  const int signal = WIFSIGNALED(e.status) ? WTERMSIG(e.status) : code > 128 ? code - 128 : 0;
  const std::string output = directory.path() + "/witness.wtns";
  std::error_code failed;
  const bool there = fs::is_regular_file(fs::symlink_status(output, failed));
  const std::uintmax_t size = there ? fs::file_size(output, failed) : 0;
  if (signal == SIGXFSZ || (there && size >= k.max_payload)) {
    return fail(who + " wrote more than the kind's max_payload (" + std::to_string(k.max_payload) +
                " bytes) and was stopped." + last_words(e.printed));
  }
  if (signal != 0) {
    return fail(who + " was ended by signal " + std::to_string(signal) +
                ": a fault of its own, or generator_memory was not enough." + last_words(e.printed));
  }
  if (code != 0) {
    return fail(who + " ended with exit code " + std::to_string(code) +
                ". Most often the inputs don't fit the circuit." + last_words(e.printed));
  }
  if (size == 0) {
    return fail(who +
                " ended well but wrote no witness. It is called with two arguments: the inputs, and where to "
                "write." +
                last_words(e.printed));
  }
  std::vector<std::byte> witness(size);
  std::ifstream file(output, std::ios::binary);
  file.read(reinterpret_cast<char*>(witness.data()), static_cast<std::streamsize>(size));
  if (!file) return fail("cannot read what " + who + " wrote: " + system_message(errno) + ".");
  return witness;
}

}  // namespace prover::daemon

#include "prover/bench/daemon_under_test.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <condition_variable>
#include <mutex>
#include <stdexcept>

namespace prover::bench {

namespace fs = std::filesystem;
using daemon::testing::file_text;

std::optional<real_circuit> find_circuit(const std::string& name) {
  for (const fs::path& folder : {shared_data(), fs::path(PROVER_SOURCE_DIR).parent_path() / "data"}) {
    const std::string stem = (folder / name).string();
    if (fs::exists(stem + ".zkey") && fs::exists(stem + ".wtns")) {
      return real_circuit{name, stem + ".zkey", stem + ".wtns"};
    }
  }
  return std::nullopt;
}

std::vector<real_circuit> find_circuits(telltale::bench::report& r, const std::vector<std::string>& names) {
  std::vector<real_circuit> found;
  for (const std::string& name : names) {
    if (auto c = find_circuit(name)) {
      found.push_back(std::move(*c));
    } else {
      r.absent(name, "no " + name + ".zkey in " + shared_data().string() + "; TELLTALE_SHARED_DATA may name another");
    }
  }
  return found;
}

daemon_under_test::daemon_under_test(const std::vector<real_circuit>& circuits, const std::string& sections,
                                     const std::vector<std::string>& environment, const std::string& journal) {
  process_.sections = sections;
  if (!journal.empty()) process_.journal = journal;
  for (const real_circuit& c : circuits) {
    process_.sections += "[[kind]]\nname = \"" + c.name + "\"\nkey = \"" + c.key + "\"\n";
    const std::string content = file_text(c.witness);
    const auto* begin = reinterpret_cast<const std::byte*>(content.data());
    jobs_.push_back({c.name, {begin, begin + content.size()}});
  }
  process_.prefix = {"env"};
  process_.prefix.insert(process_.prefix.end(), environment.begin(), environment.end());
  if (!process_.start()) throw std::runtime_error("prover-daemon did not start: " + process_.log());
  daemon::client_settings s;
  s.server = process_.address();
  auto c = daemon::client::open(s);
  if (!c) throw std::runtime_error(c.error().message);
  client_ = std::move(*c);
}

double daemon_under_test::metric(const std::string& name) const {
  const std::string address = process_.http();
  sockaddr_in a{};
  a.sin_family = AF_INET;
  a.sin_port = htons(static_cast<std::uint16_t>(std::atoi(address.c_str() + address.rfind(':') + 1)));
  a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const int s = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  std::string text;
  const std::string request = "GET /metrics HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
  if (::connect(s, reinterpret_cast<const sockaddr*>(&a), sizeof a) == 0 &&
      ::send(s, request.data(), request.size(), MSG_NOSIGNAL) > 0) {
    char part[4096];
    for (ssize_t n = 0; (n = ::recv(s, part, sizeof part, 0)) > 0;) text.append(part, static_cast<std::size_t>(n));
  }
  ::close(s);
  double sum = 0;
  bool found = false;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with(name) || line.size() <= name.size()) continue;
    if (line[name.size()] != ' ' && line[name.size()] != '{') continue;
    sum += std::atof(line.c_str() + line.rfind(' '));
    found = true;
  }
  if (!found) throw std::runtime_error("the daemon's /metrics has no " + name);
  return sum;
}

daemon::request daemon_under_test::request_for(std::size_t circuit) const {
  daemon::request r;
  r.kind = jobs_[circuit].kind;
  r.payloads.push_back({daemon::payload_form::wtns, jobs_[circuit].witness});
  return r;
}

void daemon_under_test::warm_up() {
  for (std::size_t i = 0; i < 3; ++i) prove(1);  // the first three of a kind are measured by the daemon, alone
}

void daemon_under_test::prove(std::size_t rounds) {
  std::mutex mutex;
  std::condition_variable changed;
  std::size_t waiting = rounds * jobs_.size();
  std::string problem;
  for (std::size_t i = 0; i < rounds * jobs_.size(); ++i) {
    client_->prove(request_for(i % jobs_.size()), std::nullopt, [&](const daemon::answered<daemon::remote_result>& a) {
      const std::lock_guard lock(mutex);
      const auto* r = std::get_if<daemon::remote_result>(&a);
      if (r == nullptr) {
        problem = std::get<daemon::call_failure>(a).message;
      } else if (r->result.how != daemon::outcome::completed) {
        problem = r->result.why.message;
      }
      --waiting;
      changed.notify_all();
    });
  }
  std::unique_lock lock(mutex);
  changed.wait(lock, [&] { return waiting == 0; });
  if (!problem.empty()) throw std::runtime_error("a job has no proof: " + problem);
}

}  // namespace prover::bench

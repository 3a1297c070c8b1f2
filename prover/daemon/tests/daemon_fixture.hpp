// What tests of a real daemon share: one with a small circuit, a client of it, and its HTTP side.
#pragma once

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cstdlib>

#include "prover/daemon/rpc/client.hpp"
#include "prover/daemon/tests/daemon_process.hpp"

namespace prover::daemon::testing {

inline bool long_run() {
  return std::getenv("TELLTALE_TEST_LONG") != nullptr;
}

// How often a test kills a daemon: TELLTALE_KILLS says it, as for the hub (tests/kill).
inline int kills() {
  const char* const said = std::getenv("TELLTALE_KILLS");
  return said != nullptr ? std::atoi(said) : long_run() ? 50 : 5;
}

inline std::vector<std::byte> content_of(const std::string& path) {
  const std::string text = file_text(path);
  const auto* begin = reinterpret_cast<const std::byte*>(text.data());
  return {begin, begin + text.size()};
}

// A daemon with one small circuit, and a client of it.
class Daemon : public ::testing::Test {
 protected:
  Daemon() {
    key_ = daemon_.directory + "/k.zkey";
    std::filesystem::copy_file(std::string(DATA) + "/semaphore-1.zkey", key_);
    witness_ = content_of(std::string(DATA) + "/semaphore-1.wtns");
    daemon_.sections = kind("s", key_);
  }
  static std::string kind(const std::string& name, const std::string& key) {
    return "[[kind]]\nname = \"" + name + "\"\nkey = \"" + key + "\"\nchecks = \"on-curve\"\n";
  }
  void start() {
#ifndef SANITIZED  // sanitizers need more memory than the daemon
    if (daemon_.sections.find("[memory]") == std::string::npos) {
      daemon_.sections = "[memory]\nbudget = \"" + std::to_string(budget_ >> 20) + "MiB\"\n" + daemon_.sections;
    }
#endif
    ASSERT_TRUE(daemon_.start()) << daemon_.log();
  }
  // Whatever was done to it, it kept to its budget.
  void TearDown() override {
#ifndef SANITIZED
    EXPECT_LE(daemon_.peak_memory(), budget_) << "seen from outside";
#endif
  }
  std::unique_ptr<client> connect(client_settings s = {}) {
    s.server = daemon_.address();
    auto c = client::open(s);
    EXPECT_TRUE(c) << c.error().message;
    return std::move(*c);
  }
  request ask(const std::string& key = {}) const {
    request r;
    r.kind = "s";
    r.idempotency_key = key;
    r.payloads.push_back({payload_form::wtns, witness_});
    return r;
  }
  template <class T>
  static std::string code(const answered<T>& a) {
    const auto* failed = std::get_if<call_failure>(&a);
    return failed == nullptr ? "OK" : failed->code;
  }
  template <class T>
  static std::string message(const answered<T>& a) {
    const auto* failed = std::get_if<call_failure>(&a);
    return failed == nullptr ? "" : failed->message;
  }
  static outcome how(const answered<remote_result>& a) {
    const auto* r = std::get_if<remote_result>(&a);
    EXPECT_NE(r, nullptr) << message(a);
    return r == nullptr ? outcome::failed : r->result.how;
  }
  std::string http(const std::string& request) const {
    const std::string address = daemon_.http();
    sockaddr_in a{};
    a.sin_family = AF_INET;
    a.sin_port = htons(static_cast<std::uint16_t>(std::atoi(address.c_str() + address.rfind(':') + 1)));
    a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    const int s = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    std::string answer;
    if (::connect(s, reinterpret_cast<const sockaddr*>(&a), sizeof a) == 0) {
      (void)!::send(s, request.data(), request.size(), MSG_NOSIGNAL);
      char part[4096];
      for (ssize_t n = 0; (n = ::recv(s, part, sizeof part, 0)) > 0;) answer.append(part, static_cast<std::size_t>(n));
    }
    ::close(s);
    return answer;
  }
  std::string get(const std::string& path) const {
    return http("GET " + path + " HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
  }

  daemon_process daemon_;
  std::size_t budget_ = std::size_t{512} << 20;  // where a test names none, and what none exceeds
  std::string key_;
  std::vector<std::byte> witness_;
};

}  // namespace prover::daemon::testing

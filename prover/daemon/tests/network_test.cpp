// What comes over the wire: strangers, eavesdroppers, two gigabytes, a byte at a time, many at once.
#include <sys/un.h>

#include <algorithm>

#include "prover/daemon/tests/daemon_fixture.hpp"
#include "prover/daemon/tests/plain_grpc.hpp"

#ifdef SANITIZED
// gRPC's resolver, c-ares, keeps some ten bytes a connection that was refused.
extern "C" const char* __lsan_default_suppressions();  // NOLINT: the sanitizer's name
extern "C" const char* __lsan_default_suppressions() {
  return "leak:libcares\n";
}  // NOLINT
#endif

namespace prover::daemon {
namespace {

using namespace std::chrono_literals;
using testing::Daemon;
using testing::file_text;
using testing::plain_call;

class Network : public Daemon {
 protected:
  Network() { daemon_.environment = {"ASAN_OPTIONS=quarantine_size_mb=16"}; }
  // The address sanitizer keeps what was freed for a while, and a shadow of it all.
  static std::size_t most(std::size_t bytes) {
#if defined(__has_feature)
#if __has_feature(address_sanitizer)
    return bytes + bytes / 4 + (std::size_t{128} << 20);
#endif
#endif
    return bytes;
  }
  std::string socket() const { return daemon_.directory + "/s"; }
  std::string file(const std::string& name) const { return daemon_.directory + "/" + name; }
  client_settings over_tls(const std::string& authority) const {
    client_settings s;
    s.server = "localhost:" + daemon_.tcp_address().substr(daemon_.tcp_address().rfind(':') + 1);
    s.tls_ca = file(authority);
    return s;
  }
  static std::unique_ptr<client> open(const client_settings& s) {
    auto c = client::open(s);
    EXPECT_TRUE(c) << c.error().message;
    return std::move(*c);
  }
  int connect_to_socket() const {
    sockaddr_un to{};
    to.sun_family = AF_UNIX;
    std::copy_n(socket().begin(), std::min(socket().size(), sizeof to.sun_path - 1), to.sun_path);
    const int s = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    EXPECT_EQ(::connect(s, reinterpret_cast<const sockaddr*>(&to), sizeof to), 0);
    return s;
  }
  // An authority NAME.pem, and a certificate NAME-leaf.pem of it for localhost.
  void make_certificates(const std::string& name) const {
    std::ofstream(file("san")) << "subjectAltName=DNS:localhost\n";
    const std::string n = file(name);
    const std::string command =
        "{ openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=" + name +
        " -keyout " + n + ".key -out " + n +
        ".pem && openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj " + "/CN=localhost -keyout " + n +
        "-leaf.key -out " + n + ".csr && openssl x509 -req -days 2 -in " + n + ".csr -CA " + n + ".pem -CAkey " + n +
        ".key -CAcreateserial -extfile " + file("san") + " -out " + n + "-leaf.pem; } > " + file("openssl.log") +
        " 2>&1";
    ASSERT_EQ(std::system(command.c_str()), 0) << file_text(file("openssl.log"));  // NOLINT(concurrency-mt-unsafe)
  }
};

TEST_F(Network, TlsShowsTheDaemonsCertificateAndWantsTheToken) {
  make_certificates("ours");
  make_certificates("strangers");
  std::ofstream(file("token")) << "open sesame\n";
  daemon_.tcp = "127.0.0.1:0";
  daemon_.server = "tls_certificate = \"" + file("ours-leaf.pem") + "\"\ntls_key = \"" + file("ours-leaf.key") +
                   "\"\ntoken_file = \"" + file("token") + "\"";
  start();
  client_settings s = over_tls("ours.pem");
  EXPECT_EQ(code(open(s)->status()), "UNAUTHENTICATED");
  s.token_file = file("token");
  EXPECT_EQ(how(open(s)->prove(ask(), 60s, false)), outcome::completed);
  s.tls_ca = file("strangers.pem");
  EXPECT_EQ(code(open(s)->status()), "UNAVAILABLE") << "a daemon of another authority was believed";
  s.tls_ca.clear();
  EXPECT_EQ(code(open(s)->status()), "UNAVAILABLE") << "plain text was answered";
}

TEST_F(Network, WithAClientAuthorityCallersNeedACertificateOfIt) {
  make_certificates("ours");
  make_certificates("strangers");
  daemon_.tcp = "127.0.0.1:0";
  daemon_.server = "tls_certificate = \"" + file("ours-leaf.pem") + "\"\ntls_key = \"" + file("ours-leaf.key") +
                   "\"\ntls_client_ca = \"" + file("ours.pem") + "\"";
  start();
  client_settings s = over_tls("ours.pem");
  EXPECT_EQ(code(open(s)->status()), "UNAVAILABLE");
  s.tls_certificate = file("strangers-leaf.pem");
  s.tls_key = file("strangers-leaf.key");
  EXPECT_EQ(code(open(s)->status()), "UNAVAILABLE");
  s.tls_certificate = file("ours-leaf.pem");
  s.tls_key = file("ours-leaf.key");
  EXPECT_EQ(how(open(s)->prove(ask(), 60s, false)), outcome::completed);
}

TEST_F(Network, SpeaksGrpcsHealthAndReflection) {
  start();
  // HealthCheckRequest{}; the answer's field 1 is SERVING, 1.
  const auto health = plain_call(socket(), "grpc.health.v1.Health/Check", "");
  EXPECT_EQ(health.status, "0") << health.message;
  EXPECT_EQ(health.body, std::string("\x08\x01", 2));
  // ServerReflectionRequest{list_services: ""}.
  const auto services =
      plain_call(socket(), "grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo", std::string("\x3a\x00", 2));
  EXPECT_EQ(services.status, "0") << services.message;
  EXPECT_NE(services.body.find("telltale.prover.v1.Prover"), std::string::npos);
  EXPECT_NE(services.body.find("grpc.health.v1.Health"), std::string::npos);
}

TEST_F(Network, ABatchIsOneJobWithAProofForEachWitness) {
  start();
  const auto c = connect();
  request r = ask("batch");
  for (int i = 0; i < 4; ++i) r.payloads.push_back(r.payloads[0]);
  const auto a = c->prove(r, 60s, false);
  ASSERT_EQ(how(a), outcome::completed) << message(a);
  const job_result& all = std::get<remote_result>(a).result;
  ASSERT_EQ(all.proofs.size(), 5U);
  for (const proof_text& p : all.proofs) {
    EXPECT_NE(p.proof.find("pi_a"), std::string::npos);
    EXPECT_EQ(p.signals, all.proofs[0].signals);
  }
  // Blinded anew each.
  EXPECT_NE(all.proofs[0].proof, all.proofs[1].proof);
  const auto verify = std::find_if(all.times.phases.begin(), all.times.phases.end(),
                                   [](const phase_time& p) { return p.name == "verify"; });
  ASSERT_NE(verify, all.times.phases.end());
  EXPECT_EQ(verify->count, 5U);
  const auto jobs = c->list("s", true, 10);
  ASSERT_TRUE(std::holds_alternative<std::vector<job_view>>(jobs));
  ASSERT_EQ(std::get<std::vector<job_view>>(jobs).size(), 1U);
  EXPECT_EQ(std::get<std::vector<job_view>>(jobs)[0].payloads, 5U);
  // One that is bad ends all of it.
  r.idempotency_key = "spoiled";
  r.payloads[3].content[witness_.size() - 32] ^= std::byte{1};
  const auto spoiled = c->prove(r, 60s, false);
  ASSERT_EQ(how(spoiled), outcome::failed);
  EXPECT_EQ(std::get<remote_result>(spoiled).result.why.what, failure_class::unsatisfied);
}

// gRPC looks at a message's length only when all of it is there. What it may hold meanwhile comes out of the budget.
TEST_F(Network, TwoGigabytesAreRefusedAndNeverHeld) {
  daemon_.sections = "[memory]\nbudget = \"512MiB\"\n" + daemon_.sections;  // an eighth is for requests
  start();
  ASSERT_EQ(how(connect()->prove(ask(), 60s, false)), outcome::completed);
  const std::size_t before = daemon_.memory("VmHWM");
  const auto a = plain_call(socket(), "telltale.prover.v1.Prover/Submit", "", std::uint64_t{1} << 31);
  EXPECT_NE(a.message.find("ENHANCE_YOUR_CALM"), std::string::npos) << a.status << a.message;
  EXPECT_LT(daemon_.memory("VmHWM"), most(before + (std::size_t{96} << 20)));
  // How a gRPC client is told.
  const auto c = connect();
  request r = ask();
  r.payloads[0].content.resize(std::size_t{128} << 20);
  const auto b = c->submit(r);
  EXPECT_EQ(code(b), "RESOURCE_EXHAUSTED") << message(b);
  EXPECT_LT(daemon_.memory("VmHWM"), most(before + (std::size_t{96} << 20)));
  EXPECT_EQ(how(c->prove(ask(), 60s, false)), outcome::completed) << "and the next one is served";
}

// What arrives at once stays within what the budget sets aside for requests; what is beyond waits or is refused.
TEST_F(Network, LargeRequestsAtOnceStayInsideTheBudget) {
  daemon_.sections = "[memory]\nbudget = \"512MiB\"\n" + daemon_.sections;
  start();
  ASSERT_EQ(how(connect()->prove(ask(), 60s, false)), outcome::completed);
  std::vector<std::jthread> threads;
  std::atomic<int> answered{0};
  for (int t = 0; t < 6; ++t) {
    threads.emplace_back([&] {
      const auto c = connect();
      request r = ask();
      r.payloads[0].content.resize(30 << 20);
      for (int i = 0; i < 3; ++i) {
        const auto a = c->prove(r, 60s, false);
        // Where gRPC has no room left it ends calls and lets connections go: come again.
        const bool refused = code(a) == "RESOURCE_EXHAUSTED" || code(a) == "UNAVAILABLE";
        EXPECT_TRUE(refused || code(a) == "OK") << code(a) << ": " << message(a);
        ++answered;
      }
    });
  }
  threads.clear();
  EXPECT_EQ(answered, 18);
  EXPECT_LT(daemon_.memory("VmHWM"), most(std::size_t{512} << 20));
  EXPECT_EQ(how(connect()->prove(ask(), 60s, false)), outcome::completed);
}

TEST_F(Network, SlowClientsKeepNobodyWaiting) {
  start();
  ASSERT_EQ(how(connect()->prove(ask(), 60s, false)), outcome::completed);
  const std::size_t before = daemon_.memory("VmRSS");
  // HTTP/2's preface, settings, and a frame of headers that never ends: a byte at a time.
  const std::string words = std::string("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n") + std::string("\0\0\0\4\0\0\0\0\0", 9) +
                            std::string("\0\x3f\xff\1\0\0\0\0\1", 9) + std::string(100, 'a');
  std::vector<int> slow;
  for (int i = 0; i < 100; ++i) slow.push_back(connect_to_socket());
  const auto c = connect();
  for (std::size_t i = 0; i < words.size(); ++i) {
    for (const int s : slow) (void)!::send(s, &words[i], 1, MSG_NOSIGNAL);
    if (i % 40 == 0) {
      EXPECT_EQ(how(c->prove(ask(), 60s, false)), outcome::completed);
    }
  }
  EXPECT_LT(daemon_.memory("VmRSS"), most(before + (std::size_t{64} << 20)));
  for (const int s : slow) ::close(s);
}

// HTTP/2 by hand: what a client says that watches jobs and takes `window` bytes of each answer.
class watching_client {
 public:
  watching_client(int socket, std::uint32_t window) : socket_(socket) {
    const char settings[] = {0, 4, byte(window, 3), byte(window, 2), byte(window, 1), byte(window, 0)};
    send_all("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + frame(4, 0, 0, std::string(settings, sizeof settings)));
  }
  ~watching_client() { ::close(socket_); }
  watching_client(const watching_client&) = delete;
  watching_client& operator=(const watching_client&) = delete;

  void watch(const job_id& id) {
    const std::uint32_t stream = std::exchange(stream_, stream_ + 2);
    // POST, http, then names and values as they are.
    const std::string headers = "\x83\x86\x04" + text("/telltale.prover.v1.Prover/Watch") + "\x01" + text("localhost") +
                                std::string(1, '\0') + text("content-type") + text("application/grpc") +
                                std::string(1, '\0') + text("te") + text("trailers");
    const std::string message = "\x0a" + text(id.value);
    const auto size = static_cast<std::uint32_t>(message.size());
    const char prefix[] = {0, byte(size, 3), byte(size, 2), byte(size, 1), byte(size, 0)};
    send_all(frame(1, 4, stream, headers) + frame(0, 1, stream, std::string(prefix, sizeof prefix) + message));
  }
  // What comes until `words` are in it.
  std::string read_until(std::string_view words) const {
    std::string all;
    char part[4096];
    while (all.find(words) == std::string::npos) {
      const ssize_t n = ::recv(socket_, part, sizeof part, 0);
      if (n <= 0) break;
      all.append(part, static_cast<std::size_t>(n));
    }
    return all;
  }

 private:
  static char byte(std::uint32_t n, unsigned i) { return static_cast<char>(n >> (8 * i)); }
  static std::string text(std::string_view s) { return static_cast<char>(s.size()) + std::string(s); }
  static std::string frame(char type, char flags, std::uint32_t stream, const std::string& payload) {
    const auto size = static_cast<std::uint32_t>(payload.size());
    const char head[] = {byte(size, 2),   byte(size, 1),   byte(size, 0),   type,           flags,
                         byte(stream, 3), byte(stream, 2), byte(stream, 1), byte(stream, 0)};
    return std::string(head, sizeof head) + payload;
  }
  void send_all(const std::string& bytes) const {
    EXPECT_EQ(::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL), static_cast<ssize_t>(bytes.size()));
  }

  int socket_;
  std::uint32_t stream_ = 1;
};

// Watchers whose client takes nothing: each holds one step, nobody waits for them, and the daemon ends without them.
TEST_F(Network, WatchersThatReadNothingKeepNobodyWaiting) {
  start();
  const auto c = connect();
  ASSERT_EQ(how(c->prove(ask(), 60s, false)), outcome::completed);
  const std::size_t before = daemon_.memory("VmRSS");
  watching_client deaf(connect_to_socket(), 0);
  watching_client listening(connect_to_socket(), 1 << 16);
  std::vector<job_id> jobs;
  for (int i = 0; i < 20; ++i) {
    const auto a = c->submit(ask("watched " + std::to_string(i)));
    ASSERT_TRUE(std::holds_alternative<accepted>(a)) << message(a);
    jobs.push_back(std::get<accepted>(a).id);
    for (int k = 0; k < 4; ++k) deaf.watch(jobs.back());
  }
  listening.watch(jobs.back());
  for (const job_id& id : jobs) EXPECT_EQ(how(c->await(id, 60s)), outcome::completed);
  EXPECT_NE(listening.read_until(jobs.back().value), "") << "this is how one watches";
  EXPECT_LT(daemon_.memory("VmRSS"), most(before + (std::size_t{64} << 20)));
  EXPECT_EQ(how(c->prove(ask(), 60s, false)), outcome::completed);
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_EQ(daemon_.end(SIGTERM), 0) << daemon_.log();
  EXPECT_LT(std::chrono::steady_clock::now() - begin, 20s);
}

}  // namespace
}  // namespace prover::daemon

#include "hub/bench/sender.hpp"

#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <condition_variable>
#include <iostream>
#include <mutex>
#include <stdexcept>
#include <telltale/core/otlp/fields.hpp>
#include <thread>
#include <vector>

#include "hub/bench/generator.hpp"
#include "hub/store/priority.hpp"

namespace telltale::hub::bench {

namespace {

using clock_type = std::chrono::steady_clock;
constexpr std::chrono::seconds patience{30};  // with "try again later"

[[noreturn]] void send_all(int port, std::uint64_t spans, std::uint64_t first_trace) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  const auto channel = grpc::CreateChannel("127.0.0.1:" + std::to_string(port), grpc::InsecureChannelCredentials());
  yield_to_questions(nice_ingest);  // in life it is another machine
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
        for (const auto begun = clock_type::now();;) {
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
          const bool later = status.error_code() == grpc::StatusCode::UNAVAILABLE;
          if (!later || clock_type::now() - begun > patience) {
            std::cerr << "the hub refused: " << status.error_message() << "\n";
            ::_exit(2);
          }
          std::this_thread::sleep_for(std::chrono::milliseconds(20));
        }
      }
    });
  }
  for (std::thread& t : threads) t.join();
  ::_exit(0);
}

}  // namespace

sender::sender(int grpc_port, std::uint64_t spans, std::uint64_t first_trace) : pid_(::fork()) {
  if (pid_ == 0) send_all(grpc_port, spans, first_trace);
  if (pid_ < 0) throw std::runtime_error("no process for the sender");
}

sender::~sender() {
  if (pid_ <= 0) return;
  ::kill(pid_, SIGKILL);
  ::waitpid(pid_, nullptr, 0);
}

void sender::wait() {
  int status = 0;
  const pid_t ended = ::waitpid(pid_, &status, 0);
  pid_ = -1;
  if (ended < 0 || status != 0) throw std::runtime_error("the sender could not send all");
}

}  // namespace telltale::hub::bench

// A receiver of OTLP over HTTP/1.1 on the loopback interface, that answers as a test tells it to.
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <map>
#include <mutex>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace telltale::testing {

inline std::string gunzipped(const std::string& in) {
  z_stream z{};
  if (::inflateInit2(&z, 15 + 16) != Z_OK) throw std::bad_alloc();
  std::string out(in.size() * 50 + 4096, '\0');
  z.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(in.data()));
  z.avail_in = static_cast<uInt>(in.size());
  z.next_out = reinterpret_cast<Bytef*>(out.data());
  z.avail_out = static_cast<uInt>(out.size());
  const int ended = ::inflate(&z, Z_FINISH);
  out.resize(z.total_out);
  ::inflateEnd(&z);
  if (ended != Z_STREAM_END) throw std::runtime_error("a body isn't gzip");
  return out;
}

struct received {
  std::string path;
  std::map<std::string, std::string> headers;  // names in lower case
  std::string body;                            // decompressed
};

// What the receiver does with a request: the bytes to answer with; empty: it closes the connection.
using behaviour = std::function<std::string(const received&)>;

inline std::string response(int status, const std::string& body = {}, const std::string& headers = {}) {
  return "HTTP/1.1 " + std::to_string(status) + " X\r\nContent-Length: " + std::to_string(body.size()) + "\r\n" +
         headers + "\r\n" + body;
}
inline behaviour always(const std::string& answer) {
  return [answer](const received&) { return answer; };
}

class receiver {
 public:
  explicit receiver(behaviour b = always(response(200)), std::uint16_t port = 0) : behaviour_(std::move(b)) {
    listening_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const int yes = 1;
    ::setsockopt(listening_, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    sockaddr_in at{};
    at.sin_family = AF_INET;
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    at.sin_port = htons(port);
    socklen_t size = sizeof at;
    if (::bind(listening_, reinterpret_cast<sockaddr*>(&at), size) != 0 || ::listen(listening_, 16) != 0 ||
        ::getsockname(listening_, reinterpret_cast<sockaddr*>(&at), &size) != 0) {
      throw std::runtime_error("cannot listen");
    }
    port_ = ntohs(at.sin_port);
    thread_ = std::thread([this] { run(); });
  }
  ~receiver() {
    stop_ = true;
    thread_.join();
    ::close(listening_);
  }
  receiver(const receiver&) = delete;
  receiver& operator=(const receiver&) = delete;

  std::uint16_t port() const { return port_; }
  std::string url() const { return "http://127.0.0.1:" + std::to_string(port_); }
  void behave(behaviour b) {
    const std::lock_guard lock(mutex_);
    behaviour_ = std::move(b);
  }
  std::vector<received> requests() const {
    const std::lock_guard lock(mutex_);
    return requests_;
  }
  // Waits for so many requests in all.
  bool wait_for(std::size_t n) const {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, std::chrono::seconds(60), [&] { return requests_.size() >= n; });
  }

 private:
  bool readable(int fd) const {
    while (!stop_) {
      pollfd p{fd, POLLIN, 0};
      if (::poll(&p, 1, 20) > 0) return true;
    }
    return false;
  }

  void run() {
    std::vector<std::thread> connections;
    while (readable(listening_)) {
      const int fd = ::accept4(listening_, nullptr, nullptr, SOCK_CLOEXEC);
      if (fd >= 0) connections.emplace_back([this, fd] { serve(fd); });
    }
    for (std::thread& c : connections) c.join();
  }

  // Reads until `data` holds `n` bytes or, with n == 0, a blank line.
  bool read_to(int fd, std::string& data, std::size_t n) const {
    while (n != 0 ? data.size() < n : data.find("\r\n\r\n") == std::string::npos) {
      char bytes[65536];
      if (!readable(fd)) return false;
      const ssize_t got = ::recv(fd, bytes, sizeof bytes, 0);
      if (got <= 0) return false;
      data.append(bytes, static_cast<std::size_t>(got));
    }
    return true;
  }

  void serve(int fd) {
    std::string data;
    while (read_to(fd, data, 0)) {
      const std::size_t end = data.find("\r\n\r\n") + 4;
      received r;
      std::string_view head = std::string_view(data).substr(0, end);
      r.path = head.substr(head.find(' ') + 1, head.find(' ', head.find(' ') + 1) - head.find(' ') - 1);
      head.remove_prefix(head.find("\r\n") + 2);
      while (head != "\r\n") {
        const std::string_view line = head.substr(0, head.find("\r\n"));
        std::string name(line.substr(0, line.find(':')));
        std::transform(name.begin(), name.end(), name.begin(),
                       [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
        r.headers[name] = line.substr(line.find(": ") + 2);
        head.remove_prefix(line.size() + 2);
      }
      data.erase(0, end);
      const std::size_t size = std::stoul(r.headers.at("content-length"));
      if (!read_to(fd, data, size)) break;
      r.body = data.substr(0, size);
      data.erase(0, size);
      if (r.headers["content-encoding"] == "gzip") r.body = gunzipped(r.body);
      behaviour b;
      {
        const std::lock_guard lock(mutex_);
        b = behaviour_;
      }
      const std::string answer = b(r);
      {
        const std::lock_guard lock(mutex_);
        requests_.push_back(r);
        changed_.notify_all();
      }
      if (answer.empty() || ::send(fd, answer.data(), answer.size(), MSG_NOSIGNAL) < 0) break;
    }
    ::close(fd);
  }

  int listening_ = -1;
  std::uint16_t port_ = 0;
  std::atomic<bool> stop_{false};
  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  behaviour behaviour_;
  std::vector<received> requests_;
  std::thread thread_;
};

}  // namespace telltale::testing

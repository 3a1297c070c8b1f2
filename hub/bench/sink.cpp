#include "hub/bench/sink.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

#include <charconv>
#include <string>
#include <string_view>
#include <vector>

namespace telltale::hub::bench {

int listen_anywhere(int& port) {
  const int s = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  if (s < 0 || ::bind(s, reinterpret_cast<sockaddr*>(&address), size) != 0 || ::listen(s, 16) != 0 ||
      ::getsockname(s, reinterpret_cast<sockaddr*>(&address), &size) != 0) {
    return -1;
  }
  port = ntohs(address.sin_port);
  return s;
}

namespace {

std::size_t content_length(std::string_view head) {
  constexpr std::string_view name = "content-length:";
  std::size_t length = 0;
  for (std::size_t at = head.find('\n'); at != std::string_view::npos; at = head.find('\n', at + 1)) {
    std::string_view line = head.substr(at + 1);
    if (line.size() < name.size() || ::strncasecmp(line.data(), name.data(), name.size()) != 0) continue;
    line.remove_prefix(name.size());
    while (line.starts_with(' ')) line.remove_prefix(1);
    std::from_chars(line.data(), line.data() + line.size(), length);
  }
  return length;
}

void serve(int connection) {
  std::vector<char> buffer(1 << 20);
  std::string head;
  for (;;) {
    ssize_t n = ::read(connection, buffer.data(), buffer.size());
    if (n <= 0) return;
    head.append(buffer.data(), static_cast<std::size_t>(n));
    const std::size_t end = head.find("\r\n\r\n");
    if (end == std::string::npos) continue;
    const std::size_t length = content_length(std::string_view(head).substr(0, end));
    std::size_t got = head.size() - end - 4;
    while (got < length) {
      n = ::read(connection, buffer.data(), buffer.size());
      if (n <= 0) return;
      got += static_cast<std::size_t>(n);
    }
    head.clear();
    constexpr std::string_view answer = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";
    if (::write(connection, answer.data(), answer.size()) != static_cast<ssize_t>(answer.size())) return;
  }
}

}  // namespace

void take_all(int listening) {
  for (;;) {
    const int connection = ::accept(listening, nullptr, nullptr);
    if (connection < 0) ::_exit(2);
    serve(connection);
    ::close(connection);
  }
}

}  // namespace telltale::hub::bench

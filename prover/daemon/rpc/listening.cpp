// Addresses to listen on.
#include "prover/daemon/rpc/listening.hpp"

#include <fcntl.h>
#include <netdb.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>

namespace prover::daemon {

namespace {

std::string system_message(int number) {
  return std::error_code(number, std::generic_category()).message();
}

// Whether somebody answers at a unix socket.
bool answered(const std::string& path) {
  sockaddr_un a{};
  a.sun_family = AF_UNIX;
  if (path.size() >= sizeof a.sun_path) return false;
  std::memcpy(a.sun_path, path.data(), path.size());
  const int s = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  const bool yes = ::connect(s, reinterpret_cast<const sockaddr*>(&a), sizeof a) == 0 || errno == EAGAIN;
  ::close(s);
  return yes;
}

}  // namespace

std::string why_not(const std::string& address) {
  if (address.starts_with("unix:")) {
    return "its path may be too long (107 bytes at most) or its directory missing";
  }
  const std::size_t colon = address.rfind(':');
  std::string host = address.substr(0, colon);
  if (host.starts_with('[')) host = host.substr(1, host.size() - 2);
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV;
  addrinfo* found = nullptr;
  if (const int code = ::getaddrinfo(host.c_str(), address.c_str() + colon + 1, &hints, &found); code != 0) {
    return "there is no such host (" + std::string(::gai_strerror(code)) + ")";
  }
  int why = 0;
  for (const addrinfo* a = found; a != nullptr && why == 0; a = a->ai_next) {
    const int s = ::socket(a->ai_family, a->ai_socktype | SOCK_CLOEXEC, a->ai_protocol);
    const int yes = 1;
    ::setsockopt(s, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    if (::bind(s, a->ai_addr, a->ai_addrlen) != 0 || ::listen(s, 1) != 0) why = errno;
    ::close(s);
  }
  ::freeaddrinfo(found);
  if (why == EADDRINUSE) {
    return "the port is in use, by another prover-daemon or another program. Stop that, or listen elsewhere "
           "(server.listen)";
  }
  return why != 0 ? system_message(why) : "gRPC can't use it";
}

telltale::result<socket_claim> socket_claim::take(const std::string& address) {
  const std::string path = address.substr(5);
  const auto fail = [&](const std::string& why) {
    return telltale::error{"cannot listen on \"" + address + "\": " + why};
  };
  std::error_code failed;
  const std::filesystem::path directory = std::filesystem::path(path).parent_path();
  if (!directory.empty()) std::filesystem::create_directories(directory, failed);
  const std::string lock_path = path + ".lock";
  const int lock = ::open(lock_path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (lock < 0) return fail(system_message(errno) + " (" + lock_path + ")");
  struct stat there{};
  std::string why;
  if (::flock(lock, LOCK_EX | LOCK_NB) != 0 || answered(path)) {
    why = "another prover-daemon, or another program, listens on it. Stop that, or listen elsewhere (server.listen)";
  } else if (::lstat(path.c_str(), &there) == 0 && !S_ISSOCK(there.st_mode)) {
    why = "there is a file that is no socket. Remove it, or listen elsewhere (server.listen)";
  }
  if (!why.empty()) {
    ::close(lock);
    return fail(why);
  }
  return socket_claim(path, lock);
}

socket_claim::~socket_claim() {
  if (lock_ < 0) return;
  ::unlink(path_.c_str());
  ::close(lock_);  // the lock's file stays: removing it would let two daemons lock different files of one name
}

}  // namespace prover::daemon

// The endpoint, on GNU libmicrohttpd: it reads requests, keeps connections and limits; we answer.
#include <arpa/inet.h>
#include <microhttpd.h>
#include <netdb.h>
#include <pthread.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <telltale/core/serve_metrics.hpp>
#include <tuple>
#include <utility>
#include <vector>

namespace telltale {

namespace {

// Sockets that listen. A child would keep the parent's port taken, and connections would wait there for ever.
struct listening {
  std::mutex mutex;
  std::vector<int> sockets;
};
listening& all_listening() {
  static listening& l = *new listening;
  return l;
}
void before_fork() {
  all_listening().mutex.lock();
}
void after_fork_in_parent() {
  all_listening().mutex.unlock();
}
void after_fork_in_child() {
  for (const int s : all_listening().sockets) ::close(s);
  all_listening().sockets.clear();
  all_listening().mutex.unlock();
}

struct endpoint {
  std::string host;
  std::string port;
};

result<endpoint> parse_address(std::string_view address) {
  const error wrong{"cannot serve metrics on \"" + std::string(address) +
                    "\": it is no address. Write HOST:PORT, [IPV6]:PORT or :PORT, with a port from 0 to 65535."};
  const std::size_t colon = address.rfind(':');
  if (colon == std::string_view::npos) return wrong;
  std::string_view host = address.substr(0, colon);
  const std::string_view port = address.substr(colon + 1);
  if (port.empty() || port.size() > 5 || port.find_first_not_of("0123456789") != std::string_view::npos) return wrong;
  if (std::stoi(std::string(port)) > 65535) return wrong;
  if (host.size() > 2 && host.front() == '[' && host.back() == ']') {
    host = host.substr(1, host.size() - 2);
  } else if (host.find_first_of(":[]") != std::string_view::npos) {
    return wrong;
  }
  return endpoint{std::string(host), std::string(port)};
}

// The numeric address that a socket has got.
std::pair<std::string, std::uint16_t> address_of(int socket) {
  sockaddr_storage a{};
  socklen_t size = sizeof a;
  char host[NI_MAXHOST] = "?";
  char port[NI_MAXSERV] = "0";
  ::getsockname(socket, reinterpret_cast<sockaddr*>(&a), &size);
  ::getnameinfo(reinterpret_cast<sockaddr*>(&a), size, host, sizeof host, port, sizeof port,
                NI_NUMERICHOST | NI_NUMERICSERV);
  std::string shown = a.ss_family == AF_INET6 ? "[" + std::string(host) + "]" : std::string(host);
  shown += ':';
  shown += port;
  return {shown, static_cast<std::uint16_t>(std::stoi(port))};
}

result<int> listen_on(const endpoint& e, std::string_view address) {
  const auto fail = [&](const std::string& why) {
    return error{"cannot serve metrics on \"" + std::string(address) + "\": " + why};
  };
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV;
  addrinfo* found = nullptr;
  const char* host = e.host.empty() ? nullptr : e.host.c_str();
  if (const int code = ::getaddrinfo(host, e.port.c_str(), &hints, &found); code != 0) {
    return fail("there is no such host (" + std::string(::gai_strerror(code)) + ")");
  }
  int why = 0;
  int socket = -1;
  for (const addrinfo* a = found; a != nullptr && socket < 0; a = a->ai_next) {
    socket = ::socket(a->ai_family, a->ai_socktype | SOCK_CLOEXEC | SOCK_NONBLOCK, a->ai_protocol);
    if (socket < 0) {
      why = errno;
      continue;
    }
    const int yes = 1;  // a port whose last connections still linger is free
    ::setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    if (::bind(socket, a->ai_addr, a->ai_addrlen) != 0 || ::listen(socket, 16) != 0) {
      why = errno;
      ::close(socket);
      socket = -1;
    }
  }
  ::freeaddrinfo(found);
  if (socket >= 0) return socket;
  if (why == EADDRINUSE)
    return fail("the port is in use. Stop who has it, or choose another one (0 finds a free one).");
  return fail(std::strerror(why));  // NOLINT(concurrency-mt-unsafe): glibc's is safe for known numbers
}

}  // namespace

struct metrics_server::state {
  MHD_Daemon* daemon = nullptr;
  int socket = -1;
  pid_t process = ::getpid();
  std::string address;
  std::uint16_t port = 0;
  resource_attributes resource;
  std::vector<http_route> routes;

  state() = default;
  state(const state&) = delete;
  state& operator=(const state&) = delete;
  ~state() {
    if (process != ::getpid()) return;  // the daemon and its thread are the parent's
    if (daemon != nullptr) {
      ::MHD_quiesce_daemon(daemon);  // takes no more connections, and leaves the socket to us
      ::MHD_stop_daemon(daemon);
    }
    const std::lock_guard lock(all_listening().mutex);
    std::erase(all_listening().sockets, socket);
    if (socket >= 0) ::close(socket);
  }

  static constexpr std::size_t most_body = 16384;

  // A request's body, while it comes in. MHD calls first with the headers, then with each piece, then once more.
  struct upload {
    std::string body;
    bool too_large = false;
  };

  static MHD_Result answer(void* self, MHD_Connection* connection, const char* url, const char* method, const char*,
                           const char* piece, std::size_t* size, void** request) {
    const auto* s = static_cast<state*>(self);
    try {
      if (std::string_view(method) != MHD_HTTP_METHOD_PUT) return s->respond(connection, url, method, {});
      if (*request == nullptr) {
        *request = new upload;
        return MHD_YES;
      }
      auto* u = static_cast<upload*>(*request);
      if (*size == 0) {
        if (u->too_large) return send(connection, {MHD_HTTP_CONTENT_TOO_LARGE, "the body has more than 16 KiB\n"});
        return s->respond(connection, url, method, u->body);
      }
      u->too_large = u->too_large || u->body.size() + *size > most_body;
      if (!u->too_large) u->body.append(piece, *size);
      *size = 0;
      return MHD_YES;
    } catch (const std::exception&) {  // out of memory: this request fails, the program doesn't
      return MHD_NO;
    }
  }

  static void completed(void*, MHD_Connection*, void** request, MHD_RequestTerminationCode) {
    delete static_cast<upload*>(*request);
    *request = nullptr;
  }

  MHD_Result respond(MHD_Connection* connection, std::string_view url, std::string_view method,
                     std::string_view body) const {
    const bool reads = method == MHD_HTTP_METHOD_GET || method == MHD_HTTP_METHOD_HEAD;
    for (const http_route& r : routes) {
      if (r.path != url) continue;
      if (reads && r.get) return send(connection, r.get());
      if (method == MHD_HTTP_METHOD_PUT && r.put) return send(connection, r.put(body));
      const char* allowed = r.get ? (r.put ? "GET, HEAD, PUT" : "GET, HEAD") : "PUT";
      return send(connection, {MHD_HTTP_METHOD_NOT_ALLOWED, std::string("only ") + allowed + "\n"}, allowed);
    }
    if (!reads) return send(connection, {MHD_HTTP_METHOD_NOT_ALLOWED, "only GET and HEAD\n"}, "GET, HEAD");
    if (url == "/metrics") {
      const char* accept = ::MHD_lookup_connection_value(connection, MHD_HEADER_KIND, MHD_HTTP_HEADER_ACCEPT);
      const exposition format = negotiate_exposition(accept != nullptr ? accept : "");
      return send(connection, {MHD_HTTP_OK, render_prometheus(snapshot_metrics(), format, resource),
                               std::string(content_type(format))});
    }
    if (url == "/healthz") return send(connection, {MHD_HTTP_OK, "ok\n"});
    std::string known = "there are /metrics and /healthz";
    for (const http_route& r : routes) known += ", " + r.path;
    return send(connection, {MHD_HTTP_NOT_FOUND, known + '\n'});
  }

  static void release(void* body) { delete static_cast<std::string*>(body); }

  static MHD_Result send(MHD_Connection* connection, http_answer answer, const char* allow = nullptr) {
    auto kept = std::make_unique<std::string>(std::move(answer.body));
    MHD_Response* response =
        ::MHD_create_response_from_buffer_with_free_callback_cls(kept->size(), kept->data(), release, kept.get());
    if (response == nullptr) return MHD_NO;
    (void)kept.release();
    ::MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, answer.type.c_str());
    ::MHD_add_response_header(response, MHD_HTTP_HEADER_CACHE_CONTROL, "no-store");
    if (allow != nullptr) ::MHD_add_response_header(response, MHD_HTTP_HEADER_ALLOW, allow);
    const MHD_Result queued = ::MHD_queue_response(connection, answer.status, response);
    ::MHD_destroy_response(response);
    return queued;
  }
};

metrics_server::metrics_server(std::unique_ptr<state> s) noexcept : state_(std::move(s)) {}
metrics_server::metrics_server(metrics_server&&) noexcept = default;
metrics_server& metrics_server::operator=(metrics_server&&) noexcept = default;
metrics_server::~metrics_server() = default;
std::uint16_t metrics_server::port() const noexcept {
  return state_->port;
}
const std::string& metrics_server::address() const noexcept {
  return state_->address;
}

result<metrics_server> serve_metrics(std::string_view address, const resource_attributes& resource,
                                     std::vector<http_route> routes) {
  static const int watched = ::pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
  (void)watched;
  const auto e = parse_address(address);
  if (!e) return e.error();
  auto s = std::make_unique<metrics_server::state>();
  s->resource = resource;
  s->routes = std::move(routes);
  {
    const std::lock_guard lock(all_listening().mutex);  // no fork between listening and the entry
    const auto socket = listen_on(*e, address);
    if (!socket) return socket.error();
    s->socket = *socket;
    all_listening().sockets.push_back(s->socket);
  }
  std::tie(s->address, s->port) = address_of(s->socket);

  sigset_t all;
  sigset_t former;
  ::sigfillset(&all);  // the program's signals are the program's business
  ::pthread_sigmask(SIG_SETMASK, &all, &former);
  s->daemon = ::MHD_start_daemon(MHD_USE_AUTO_INTERNAL_THREAD | MHD_USE_ITC, 0, nullptr, nullptr,
                                 &metrics_server::state::answer, s.get(), MHD_OPTION_LISTEN_SOCKET, s->socket,
                                 MHD_OPTION_NOTIFY_COMPLETED, &metrics_server::state::completed, nullptr,
                                 MHD_OPTION_CONNECTION_LIMIT, 16u, MHD_OPTION_CONNECTION_TIMEOUT, 10u,
                                 MHD_OPTION_CONNECTION_MEMORY_LIMIT, std::size_t{16384}, MHD_OPTION_END);
  ::pthread_sigmask(SIG_SETMASK, &former, nullptr);
  if (s->daemon == nullptr) {
    return error{"cannot serve metrics on \"" + std::string(address) + "\": the server's thread did not start"};
  }
  return metrics_server(std::move(s));
}

result<metrics_server> serve_metrics() {
  const auto variable = [](const char* name, const char* otherwise) -> std::string {
    const char* v = std::getenv(name);  // NOLINT(concurrency-mt-unsafe): once, at start
    return v != nullptr && *v != '\0' ? v : otherwise;
  };
  std::string host = variable("OTEL_EXPORTER_PROMETHEUS_HOST", "localhost");
  if (host.find(':') != std::string::npos && host.front() != '[') host = "[" + host + "]";
  return serve_metrics(host + ":" + variable("OTEL_EXPORTER_PROMETHEUS_PORT", "9464"));
}

}  // namespace telltale

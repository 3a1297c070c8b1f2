#include "hub/http/server.hpp"

#include <microhttpd.h>
#include <netdb.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <optional>
#include <system_error>

#include "hub/receive/inflate.hpp"

namespace telltale::hub {

namespace {

struct endpoint {
  std::string host;
  std::string port;
};

std::optional<endpoint> parse_address(std::string_view address) {
  const std::size_t colon = address.rfind(':');
  if (colon == std::string_view::npos || colon == 0) return std::nullopt;
  std::string_view host = address.substr(0, colon);
  const std::string_view port = address.substr(colon + 1);
  unsigned number = 0;
  const auto [end, failed] = std::from_chars(port.data(), port.data() + port.size(), number);
  if (failed != std::errc{} || end != port.data() + port.size() || number > 65535) return std::nullopt;
  if (host.size() > 2 && host.front() == '[' && host.back() == ']') {
    host = host.substr(1, host.size() - 2);
  } else if (host.find_first_of(":[]") != std::string_view::npos) {
    return std::nullopt;
  }
  return endpoint{std::string(host), std::string(port)};
}

std::string lower(std::string_view s) {
  std::string out(s);
  for (char& c : out) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return out;
}

// Takes as long whatever is different.
bool same(std::string_view a, std::string_view b) noexcept {
  if (a.size() != b.size()) return false;
  unsigned different = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    different |= static_cast<unsigned char>(a[i]) ^ static_cast<unsigned>(static_cast<unsigned char>(b[i]));
  }
  return different == 0;
}

struct listener_socket {
  int socket = -1;
  std::uint16_t port = 0;
};

result<listener_socket> listen_on(const std::string& address) {
  const auto fail = [&](const std::string& why) { return error{"cannot listen on \"" + address + "\": " + why}; };
  const auto e = parse_address(address);
  if (!e) return fail("it is no address. Write HOST:PORT or [IPV6]:PORT, with a port from 0 to 65535.");
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV;
  addrinfo* found = nullptr;
  if (const int code = ::getaddrinfo(e->host.c_str(), e->port.c_str(), &hints, &found); code != 0) {
    return fail(std::string("there is no such host (") + ::gai_strerror(code) + ")");
  }
  const std::unique_ptr<addrinfo, void (*)(addrinfo*)> kept(found, &::freeaddrinfo);
  int why = 0;
  for (const addrinfo* a = found; a != nullptr; a = a->ai_next) {
    const int s = ::socket(a->ai_family, a->ai_socktype | SOCK_CLOEXEC | SOCK_NONBLOCK, a->ai_protocol);
    const int yes = 1;
    if (s >= 0) ::setsockopt(s, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    if (s >= 0 && ::bind(s, a->ai_addr, a->ai_addrlen) == 0 && ::listen(s, 128) == 0) {
      sockaddr_storage at{};
      socklen_t size = sizeof at;
      char port[NI_MAXSERV] = "0";
      ::getsockname(s, reinterpret_cast<sockaddr*>(&at), &size);
      ::getnameinfo(reinterpret_cast<sockaddr*>(&at), size, nullptr, 0, port, sizeof port, NI_NUMERICSERV);
      return listener_socket{s, static_cast<std::uint16_t>(std::stoi(port))};
    }
    why = errno;
    if (s >= 0) ::close(s);
  }
  if (why == EADDRINUSE) return fail("the port is in use. Stop who has it, or choose another one (0 finds one).");
  return fail(std::generic_category().message(why));
}

constexpr std::string_view plain = "text/plain; charset=utf-8";

}  // namespace

bool is_loopback(std::string_view address) {
  const auto e = parse_address(address);
  return e && (e->host == "localhost" || e->host == "::1" || e->host.starts_with("127."));
}

struct http_server::state {
  http_settings settings;
  const router* routes = nullptr;
  std::vector<MHD_Daemon*> daemons;
  std::vector<std::uint16_t> ports;
  std::atomic<std::uint64_t> in_flight{0};
  std::atomic<std::uint64_t> requests{0};
  std::atomic<std::uint64_t> refused{0};

  state() = default;
  state(const state&) = delete;
  state& operator=(const state&) = delete;
  ~state() {
    for (MHD_Daemon* d : daemons) ::MHD_stop_daemon(d);  // it closes its socket
  }

  // A request that is being read.
  struct reading {
    state& of;
    std::string body;
    std::uint64_t counted = 0;  // of in_flight
    bool too_large = false;
    bool busy = false;
    explicit reading(state& s) : of(s) {}
    reading(const reading&) = delete;
    reading& operator=(const reading&) = delete;
    ~reading() { of.in_flight -= counted; }

    bool count(std::uint64_t bytes) {
      counted += bytes;
      return (of.in_flight += bytes) <= of.settings.max_in_flight;
    }
  };

  static MHD_Result handle(void* self, MHD_Connection* c, const char* url, const char* method, const char*,
                           const char* upload, std::size_t* size, void** request) {
    state& s = *static_cast<state*>(self);
    try {
      if (*request == nullptr) return s.begin(c, url, method, request);
      auto& r = *static_cast<reading*>(*request);
      if (*size != 0) {
        const std::size_t n = std::exchange(*size, 0);
        if (r.too_large || r.busy || r.body.size() + n > s.settings.max_body) {
          const bool first = !r.too_large && !r.busy;
          r.too_large = r.too_large || r.body.size() + n > s.settings.max_body;
          if (first) r.body.clear();
          // What is left of it is read and dropped, so that the client sees our answer; within reason.
          r.counted += n;
          s.in_flight += n;
          return r.counted > 2 * s.settings.max_body ? MHD_NO : MHD_YES;
        }
        if (!r.count(n)) r.busy = true;
        r.body.append(upload, n);
        return MHD_YES;
      }
      return s.finish(c, url, method, r);
    } catch (const std::exception& e) {
      return s.send(c, {500, std::string(plain), std::string("it failed here: ") + e.what() + "\n", {}, {}});
    }
  }

  static const char* header(MHD_Connection* c, const char* name) {
    return ::MHD_lookup_connection_value(c, MHD_HEADER_KIND, name);
  }

  MHD_Result begin(MHD_Connection* c, std::string_view url, std::string_view, void** request) {
    ++requests;
    if (!settings.token.empty() && url != "/healthz") {
      const char* given = header(c, MHD_HTTP_HEADER_AUTHORIZATION);
      if (given == nullptr || !same(given, "Bearer " + settings.token)) {
        http_response r{401, std::string(plain), "this hub wants a token: Authorization: Bearer TOKEN\n", {}, {}};
        r.headers.emplace_back("WWW-Authenticate", "Bearer");
        return refuse(c, std::move(r));
      }
    }
    if (const char* length = header(c, MHD_HTTP_HEADER_CONTENT_LENGTH)) {
      std::uint64_t n = 0;
      std::from_chars(length, length + std::strlen(length), n);
      if (n > settings.max_body) return refuse(c, too_large());
    }
    *request = new reading(*this);
    return MHD_YES;
  }

  http_response too_large() const {
    return {413,
            std::string(plain),
            "the request is larger than " + std::to_string(settings.max_body) + " bytes (http.max_body)\n",
            {},
            {}};
  }
  static http_response try_later(std::string why) {
    http_response r{503, std::string(plain), std::move(why), {}, {}};
    r.headers.emplace_back("Retry-After", "1");
    return r;
  }
  MHD_Result refuse(MHD_Connection* c, http_response r) {
    ++refused;
    return send(c, std::move(r));
  }

  MHD_Result finish(MHD_Connection* c, const char* url, const char* method, reading& r) {
    if (r.too_large) return refuse(c, too_large());
    if (r.busy) return refuse(c, try_later("too many requests at once; send again\n"));
    http_request q;
    q.method = method;
    q.target = url;
    ::MHD_get_connection_values(
        c, MHD_HEADER_KIND,
        [](void* to, MHD_ValueKind, const char* key, const char* value) {
          static_cast<http_request*>(to)->headers[lower(key)] = value != nullptr ? value : "";
          return MHD_YES;
        },
        &q);
    ::MHD_get_connection_values(
        c, MHD_GET_ARGUMENT_KIND,
        [](void* to, MHD_ValueKind, const char* key, const char* value) {
          static_cast<http_request*>(to)->query.emplace_back(key, value != nullptr ? value : "");
          return MHD_YES;
        },
        &q);
    const std::string coding = lower(q.header("content-encoding"));
    if (coding == "gzip" || coding == "deflate") {
      inflated unpacked = inflate(r.body, settings.max_body);
      if (unpacked.what != inflated::outcome::whole) {
        const int status = unpacked.what == inflated::outcome::too_large ? 413 : 400;
        return refuse(c, {status, std::string(plain), unpacked.bytes + "\n", {}, {}});
      }
      if (!r.count(unpacked.bytes.size())) return refuse(c, try_later("too many requests at once; send again\n"));
      r.body = std::move(unpacked.bytes);
    } else if (!coding.empty() && coding != "identity") {
      return refuse(c, {415, std::string(plain), "of content encodings there is gzip, and none\n", {}, {}});
    }
    q.body = std::move(r.body);
    return send(c, routes->answer(q));
  }

  MHD_Result send(MHD_Connection* c, http_response r) const {
    MHD_Response* response = nullptr;
    if (r.stream) {
      struct streaming {
        std::function<std::string()> next;
        std::string piece;
      };
      auto kept = std::make_unique<streaming>(streaming{std::move(r.stream), {}});
      response = ::MHD_create_response_from_callback(
          MHD_SIZE_UNKNOWN, 65536,
          [](void* self, std::uint64_t, char* to, std::size_t max) -> ssize_t {
            auto& s = *static_cast<streaming*>(self);
            try {
              if (s.piece.empty()) s.piece = s.next();
            } catch (const std::exception&) {
              return MHD_CONTENT_READER_END_WITH_ERROR;
            }
            if (s.piece.empty()) return MHD_CONTENT_READER_END_OF_STREAM;
            const std::size_t n = std::min(max, s.piece.size());
            std::memcpy(to, s.piece.data(), n);
            s.piece.erase(0, n);
            return static_cast<ssize_t>(n);
          },
          kept.get(), [](void* self) { delete static_cast<streaming*>(self); });
      if (response != nullptr) (void)kept.release();
    } else {
      auto kept = std::make_unique<std::string>(std::move(r.body));
      response = ::MHD_create_response_from_buffer_with_free_callback_cls(
          kept->size(), kept->data(), [](void* body) { delete static_cast<std::string*>(body); }, kept.get());
      if (response != nullptr) (void)kept.release();
    }
    if (response == nullptr) return MHD_NO;
    ::MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, r.type.c_str());
    for (const auto& [name, value] : r.headers) ::MHD_add_response_header(response, name.c_str(), value.c_str());
    const MHD_Result queued = ::MHD_queue_response(c, static_cast<unsigned>(r.status), response);
    ::MHD_destroy_response(response);
    return queued;
  }

  static void completed(void*, MHD_Connection*, void** request, MHD_RequestTerminationCode) {
    delete static_cast<reading*>(*request);
    *request = nullptr;
  }
};

http_server::http_server(std::unique_ptr<state> s) noexcept : state_(std::move(s)) {}
http_server::~http_server() = default;
const std::vector<std::uint16_t>& http_server::ports() const noexcept {
  return state_->ports;
}
std::uint64_t http_server::requests() const noexcept {
  return state_->requests;
}
std::uint64_t http_server::refused() const noexcept {
  return state_->refused;
}

result<std::unique_ptr<http_server>> http_server::start(http_settings settings, const router& routes) {
  auto s = std::make_unique<state>();
  s->settings = std::move(settings);
  s->routes = &routes;
  const bool tls = !s->settings.tls_certificate.empty();
  for (const std::string& address : s->settings.listen) {
    const auto socket = listen_on(address);
    if (!socket) return socket.error();
    std::vector<MHD_OptionItem> options = {
        {MHD_OPTION_LISTEN_SOCKET, socket->socket, nullptr},
        {MHD_OPTION_CONNECTION_LIMIT, static_cast<std::intptr_t>(s->settings.connections), nullptr},
        {MHD_OPTION_CONNECTION_TIMEOUT, static_cast<std::intptr_t>(s->settings.idle_seconds), nullptr},
        {MHD_OPTION_CONNECTION_MEMORY_LIMIT, 128 << 10, nullptr},
        {MHD_OPTION_NOTIFY_COMPLETED, reinterpret_cast<std::intptr_t>(&state::completed), nullptr}};
    if (tls) {
      options.push_back({MHD_OPTION_HTTPS_MEM_CERT, 0, s->settings.tls_certificate.data()});
      options.push_back({MHD_OPTION_HTTPS_MEM_KEY, 0, s->settings.tls_key.data()});
    }
    options.push_back({MHD_OPTION_END, 0, nullptr});
    const unsigned flags = MHD_USE_THREAD_PER_CONNECTION | MHD_USE_INTERNAL_POLLING_THREAD | MHD_USE_POLL |
                           MHD_USE_ITC | (tls ? static_cast<unsigned>(MHD_USE_TLS) : 0u);
    MHD_Daemon* d = ::MHD_start_daemon(flags, 0, nullptr, nullptr, &state::handle, s.get(), MHD_OPTION_ARRAY,
                                       options.data(), MHD_OPTION_END);
    if (d == nullptr) {
      ::close(socket->socket);
      return error{"cannot serve on \"" + address + "\": the server did not start" +
                   (tls ? " (are certificate and key a pair, in PEM?)" : "")};
    }
    s->daemons.push_back(d);
    s->ports.push_back(socket->port);
  }
  return std::unique_ptr<http_server>(new http_server(std::move(s)));
}

}  // namespace telltale::hub

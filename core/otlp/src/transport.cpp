// libcurl's multi interface with one request at a time: it can be woken, where a plain request can't.
#include "transport.hpp"

#include <curl/curl.h>
#include <zlib.h>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <stdexcept>
#include <string>

namespace telltale::otlp {

namespace {

constexpr std::size_t max_answer = 64 * 1024;  // an answer is a few bytes; what exceeds is not kept

void set_up_curl() {
  static const CURLcode once = ::curl_global_init(CURL_GLOBAL_DEFAULT);
  if (once != CURLE_OK) throw std::runtime_error("curl_global_init failed");
}

struct header_list {
  curl_slist* first = nullptr;
  header_list() = default;
  ~header_list() { ::curl_slist_free_all(first); }
  header_list(const header_list&) = delete;
  header_list& operator=(const header_list&) = delete;
  void add(const std::string& line) { first = ::curl_slist_append(first, line.c_str()); }
};

// gzip, fast: telemetry repeats itself so much that more effort gains little.
std::string gzipped(std::string_view in) {
  z_stream z{};
  constexpr int window_of_gzip = 15 + 16;
  if (::deflateInit2(&z, Z_BEST_SPEED, Z_DEFLATED, window_of_gzip, 8, Z_DEFAULT_STRATEGY) != Z_OK) {
    throw std::bad_alloc();
  }
  std::string out(::deflateBound(&z, in.size()), '\0');
  z.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(in.data()));
  z.avail_in = static_cast<uInt>(in.size());
  z.next_out = reinterpret_cast<Bytef*>(out.data());
  z.avail_out = static_cast<uInt>(out.size());
  ::deflate(&z, Z_FINISH);
  out.resize(z.total_out);
  ::deflateEnd(&z);
  return out;
}

// A byte that says "compressed", four bytes of length, the message.
std::string grpc_frame(std::string_view message, bool compressed) {
  std::string out;
  out.reserve(message.size() + 5);
  out += compressed ? '\1' : '\0';
  for (int shift = 24; shift >= 0; shift -= 8) out += static_cast<char>(message.size() >> shift);
  out += message;
  return out;
}

std::size_t take_body(char* bytes, std::size_t size, std::size_t n, void* to) {
  std::string& body = static_cast<reply*>(to)->body;
  body.append(bytes, std::min(size * n, max_answer - std::min(max_answer, body.size())));
  return size * n;
}

// "name: value" without the line's end; trailers come this way too.
std::size_t take_header(char* bytes, std::size_t size, std::size_t n, void* to) {
  reply& r = *static_cast<reply*>(to);
  std::string_view line(bytes, size * n);
  while (!line.empty() && (line.back() == '\r' || line.back() == '\n')) line.remove_suffix(1);
  const std::size_t colon = line.find(':');
  if (colon == std::string_view::npos) return size * n;
  std::string_view value = line.substr(colon + 1);
  while (!value.empty() && value.front() == ' ') value.remove_prefix(1);
  const auto is = [&](std::string_view name) {
    return line.size() > name.size() && ::curl_strnequal(line.data(), name.data(), name.size()) != 0 &&
           colon == name.size();
  };
  if (is("content-type")) {
    r.speaks_grpc = value.starts_with("application/grpc");
  } else if (is("grpc-status")) {
    int code = -1;
    const auto [end, failed] = std::from_chars(value.data(), value.data() + value.size(), code);
    r.grpc_status = failed == std::errc{} && end == value.data() + value.size() ? code : 2;  // 2: unknown
  } else if (is("grpc-message")) {
    r.grpc_message = value.substr(0, 1000);
  } else if (is("grpc-status-details-bin")) {
    r.grpc_details = value.substr(0, 16 * 1024);
  }
  return size * n;
}

}  // namespace

struct transport::state {
  CURLM* multi = nullptr;
  CURL* easy = nullptr;
  std::atomic<bool> interrupted{false};
};

transport::transport() : state_(std::make_unique<state>()) {
  set_up_curl();
  state_->multi = ::curl_multi_init();
  state_->easy = ::curl_easy_init();
  if (state_->multi == nullptr || state_->easy == nullptr) throw std::bad_alloc();
}

transport::~transport() {
  ::curl_easy_cleanup(state_->easy);
  ::curl_multi_cleanup(state_->multi);
}

void transport::interrupt() noexcept {
  state_->interrupted.store(true);
  ::curl_multi_wakeup(state_->multi);
}

answer transport::send(const target& t, signal_kind s, std::string_view plain) {
  const bool grpc = t.protocol == protocol::grpc;
  std::string body = t.gzip ? gzipped(plain) : std::string(plain);
  if (grpc) body = grpc_frame(body, t.gzip);

  header_list headers;
  headers.add("Expect:");  // no round trip before the body
  headers.add("User-Agent: OTel-OTLP-Exporter-Telltale/" TELLTALE_VERSION);
  if (grpc) {
    headers.add("Content-Type: application/grpc");
    headers.add("TE: trailers");
    if (t.gzip) headers.add("grpc-encoding: gzip");
    headers.add("grpc-timeout: " + std::to_string(std::min<std::int64_t>(t.timeout.count(), 99'999'999)) + "m");
  } else {
    headers.add(t.protocol == protocol::http_json ? "Content-Type: application/json"
                                                  : "Content-Type: application/x-protobuf");
    if (t.gzip) headers.add("Content-Encoding: gzip");
  }
  for (const auto& [name, value] : t.headers) headers.add(name + ": " + value);

  reply r;
  char why[CURL_ERROR_SIZE] = {};
  CURL* e = state_->easy;
  ::curl_easy_reset(e);  // keeps connections
  ::curl_easy_setopt(e, CURLOPT_URL, t.url.c_str());
  ::curl_easy_setopt(e, CURLOPT_PROTOCOLS_STR, "http,https");
  ::curl_easy_setopt(e, CURLOPT_NOSIGNAL, 1L);
  ::curl_easy_setopt(e, CURLOPT_QUICK_EXIT, 1L);  // a hanging resolver must not hold the end up
  ::curl_easy_setopt(e, CURLOPT_TIMEOUT_MS, static_cast<long>(t.timeout.count()));
  ::curl_easy_setopt(e, CURLOPT_HTTPHEADER, headers.first);
  ::curl_easy_setopt(e, CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(body.size()));
  ::curl_easy_setopt(e, CURLOPT_POSTFIELDS, body.data());
  ::curl_easy_setopt(e, CURLOPT_WRITEFUNCTION, take_body);
  ::curl_easy_setopt(e, CURLOPT_WRITEDATA, &r);
  ::curl_easy_setopt(e, CURLOPT_HEADERFUNCTION, take_header);
  ::curl_easy_setopt(e, CURLOPT_HEADERDATA, &r);
  ::curl_easy_setopt(e, CURLOPT_ERRORBUFFER, why);
  if (grpc) {
    const bool tls = t.url.starts_with("https://");
    ::curl_easy_setopt(e, CURLOPT_HTTP_VERSION,
                       static_cast<long>(tls ? CURL_HTTP_VERSION_2TLS : CURL_HTTP_VERSION_2_PRIOR_KNOWLEDGE));
    // libcurl 7.88 cannot send a second request over a connection that spoke HTTP/2 without being asked (curl#10634).
    if (!tls) ::curl_easy_setopt(e, CURLOPT_FRESH_CONNECT, 1L);
    if (!tls) ::curl_easy_setopt(e, CURLOPT_FORBID_REUSE, 1L);
  }
  if (!t.ca_file.empty()) ::curl_easy_setopt(e, CURLOPT_CAINFO, t.ca_file.c_str());
  if (!t.client_certificate.empty()) ::curl_easy_setopt(e, CURLOPT_SSLCERT, t.client_certificate.c_str());
  if (!t.client_key.empty()) ::curl_easy_setopt(e, CURLOPT_SSLKEY, t.client_key.c_str());

  CURLcode code = CURLE_ABORTED_BY_CALLBACK;
  ::curl_multi_add_handle(state_->multi, e);
  for (int running = 1; !state_->interrupted.load();) {
    if (::curl_multi_perform(state_->multi, &running) != CURLM_OK) break;
    if (running == 0) {
      int left = 0;
      while (const CURLMsg* m = ::curl_multi_info_read(state_->multi, &left)) {
        if (m->msg == CURLMSG_DONE) code = m->data.result;
      }
      break;
    }
    if (::curl_multi_poll(state_->multi, nullptr, 0, 1000, nullptr) != CURLM_OK) break;
  }
  ::curl_multi_remove_handle(state_->multi, e);

  if (code != CURLE_OK) {
    answer a;
    a.message = why[0] != '\0' ? why : ::curl_easy_strerror(code);
    if (code == CURLE_PEER_FAILED_VERIFICATION || code == CURLE_SSL_CACERT_BADFILE) {
      a.message += t.ca_file.empty() ? " (OTEL_EXPORTER_OTLP_CERTIFICATE can name the file of its authority)"
                                     : " (the authorities are those of \"" + t.ca_file + "\")";
    }
    if (state_->interrupted.load()) a.message = "interrupted";
    return a;
  }
  ::curl_easy_getinfo(e, CURLINFO_RESPONSE_CODE, &r.http_status);
  curl_off_t seconds = 0;
  ::curl_easy_getinfo(e, CURLINFO_RETRY_AFTER, &seconds);
  r.retry_after = std::chrono::seconds(std::clamp<curl_off_t>(seconds, 0, 3600));
  return judge(r, s, t.protocol);
}

}  // namespace telltale::otlp

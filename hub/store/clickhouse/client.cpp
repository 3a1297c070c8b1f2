#include "hub/store/clickhouse/client.hpp"

#include <curl/curl.h>

#include "hub/otlp/text.hpp"

namespace telltale::hub {

namespace {

constexpr long connect_timeout_ms = 3'000;
constexpr std::size_t max_idle = 8;

std::size_t take_body(char* p, std::size_t size, std::size_t count, void* to) {
  static_cast<std::string*>(to)->append(p, size * count);
  return size * count;
}

// What a server said, short enough for a message: "Code: 60. DB::Exception: Table … does not exist. (UNKNOWN_TABLE)".
std::string said(std::string_view body) {
  body = body.substr(0, body.find(" (version "));
  while (body.ends_with('\n')) body.remove_suffix(1);
  return cleaned(cut_to(body, 500));
}

}  // namespace

struct clickhouse_client::connection {
  CURL* easy = ::curl_easy_init();
  connection() = default;
  connection(const connection&) = delete;
  connection& operator=(const connection&) = delete;
  ~connection() { ::curl_easy_cleanup(easy); }

  std::string escaped(std::string_view s) const {
    char* text = ::curl_easy_escape(easy, s.data(), static_cast<int>(s.size()));
    std::string out = text != nullptr ? text : "";
    ::curl_free(text);
    return out;
  }
};

clickhouse_client::clickhouse_client(const clickhouse_options& o, clickhouse_address at)
    : at_(std::move(at)), user_(o.user), password_(o.password), timeout_(std::chrono::seconds(o.timeout_seconds)) {
  static const CURLcode once = ::curl_global_init(CURL_GLOBAL_DEFAULT);
  (void)once;
}
clickhouse_client::~clickhouse_client() = default;

result<std::string> clickhouse_client::ask(std::string_view sql, std::chrono::milliseconds timeout,
                                           settings more) const {
  more.emplace_back("database", at_.database);
  more.emplace_back("readonly", "1");
  more.emplace_back("max_execution_time", std::to_string(static_cast<double>(timeout.count()) / 1e3));
  return send(more, sql, timeout + std::chrono::seconds(2));
}

result<void> clickhouse_client::change(std::string_view sql) const {
  const auto done = send({}, sql, timeout_);
  if (!done) return done.error();
  return {};
}

result<void> clickhouse_client::insert(std::string_view table, std::string_view rows) const {
  const auto done = send({{"query", "INSERT INTO " + std::string(table) + " FORMAT RowBinary"},
                          {"database", at_.database},
                          {"async_insert", "0"},
                          {"distributed_foreground_insert", "1"},
                          {"throw_on_max_partitions_per_insert_block", "0"}},  // spans of many days are no mistake
                         rows, timeout_);
  if (!done) return done.error();
  return {};
}

result<std::string> clickhouse_client::send(const settings& parameters, std::string_view body,
                                            std::chrono::milliseconds timeout) const {
  std::unique_ptr<connection> c;
  std::size_t server = 0;
  {
    const std::lock_guard lock(mutex_);
    server = server_;
    if (!idle_.empty()) {
      c = std::move(idle_.back());
      idle_.pop_back();
    }
  }
  if (c == nullptr) c = std::make_unique<connection>();
  CURL* e = c->easy;
  if (e == nullptr) return error{"libcurl gives no handle: out of memory"};

  // Answers come as a whole: a failure has its status then, and never stands behind half of them.
  std::string query = "/?wait_end_of_query=1&output_format_json_quote_64bit_integers=1";
  for (const auto& [key, value] : parameters) query += "&" + std::string(key) + "=" + c->escaped(value);
  curl_slist* list = ::curl_slist_append(nullptr, "Expect:");
  list = ::curl_slist_append(list, "Content-Type: application/octet-stream");
  if (!user_.empty()) list = ::curl_slist_append(list, ("X-ClickHouse-User: " + user_).c_str());
  if (!password_.empty()) list = ::curl_slist_append(list, ("X-ClickHouse-Key: " + password_).c_str());
  const std::unique_ptr<curl_slist, void (*)(curl_slist*)> headers(list, &::curl_slist_free_all);
  char why[CURL_ERROR_SIZE] = {};
  std::string answer;
  ::curl_easy_reset(e);  // keeps the connection
  ::curl_easy_setopt(e, CURLOPT_PROTOCOLS_STR, "http,https");
  ::curl_easy_setopt(e, CURLOPT_NOSIGNAL, 1L);
  ::curl_easy_setopt(e, CURLOPT_CONNECTTIMEOUT_MS, connect_timeout_ms);
  ::curl_easy_setopt(e, CURLOPT_TIMEOUT_MS, static_cast<long>(timeout.count()));
  ::curl_easy_setopt(e, CURLOPT_HTTPHEADER, headers.get());
  ::curl_easy_setopt(e, CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(body.size()));
  ::curl_easy_setopt(e, CURLOPT_POSTFIELDS, body.data());
  ::curl_easy_setopt(e, CURLOPT_WRITEFUNCTION, take_body);
  ::curl_easy_setopt(e, CURLOPT_WRITEDATA, &answer);
  ::curl_easy_setopt(e, CURLOPT_ERRORBUFFER, why);

  std::string failed;
  for (std::size_t tried = 0; tried < at_.servers.size(); ++tried) {
    const std::string& at = at_.servers[server];
    answer.clear();
    ::curl_easy_setopt(e, CURLOPT_URL, (at + query).c_str());
    const CURLcode code = ::curl_easy_perform(e);
    if (code == CURLE_OK) {
      long status = 0;
      ::curl_easy_getinfo(e, CURLINFO_RESPONSE_CODE, &status);
      const std::lock_guard lock(mutex_);
      server_ = server;
      if (idle_.size() < max_idle) idle_.push_back(std::move(c));
      if (status == 200) return answer;
      if (status == 401 || answer.find("(AUTHENTICATION_FAILED)") != std::string::npos ||
          answer.find("(REQUIRED_PASSWORD)") != std::string::npos) {
        return error{"ClickHouse at " + at +
                     " lets nobody in with this user and password: see clickhouse.user and "
                     "clickhouse.password_file"};
      }
      return error{"ClickHouse at " + at + " says (HTTP " + std::to_string(status) + "): " + said(answer)};
    }
    failed += (failed.empty() ? "" : "; ") + at + ": " + (why[0] != '\0' ? why : ::curl_easy_strerror(code));
    // Only where nothing was sent is it safe to send it elsewhere.
    if (code != CURLE_COULDNT_CONNECT && code != CURLE_COULDNT_RESOLVE_HOST) break;
    server = (server + 1) % at_.servers.size();
  }
  return error{"ClickHouse gives no answer (" + failed + "). Does it run, and is clickhouse.url right?"};
}

}  // namespace telltale::hub

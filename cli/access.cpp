// HTTP by libcurl.
#include "access.hpp"

#include <curl/curl.h>

namespace telltale::cli {

namespace {

struct curl_deleter {
  void operator()(CURL* c) const { ::curl_easy_cleanup(c); }
  void operator()(curl_slist* l) const { ::curl_slist_free_all(l); }
};

// Splits a stream into events and hands on their data.
class event_reader {
 public:
  explicit event_reader(const std::function<bool(std::string_view)>& on_data) : on_data_(on_data) {}
  bool add(std::string_view bytes) {
    pending_ += bytes;
    std::size_t end = 0;
    while ((end = pending_.find("\n\n")) != std::string::npos) {
      const std::string event = pending_.substr(0, end);
      pending_.erase(0, end + 2);
      if (event.starts_with("data: ") && !on_data_(std::string_view(event).substr(6))) return false;
    }
    return true;
  }

 private:
  const std::function<bool(std::string_view)>& on_data_;
  std::string pending_;
};

class http_access final : public access {
 public:
  http_access(std::string url, std::string token) : url_(std::move(url)), token_(std::move(token)) {
    while (url_.ends_with('/')) url_.pop_back();
  }

  result<reply> ask(const request& r) override { return send(r, nullptr); }
  result<reply> follow(const request& r, const std::function<bool(std::string_view)>& on_data) override {
    event_reader events(on_data);
    return send(r, &events);
  }

 private:
  struct receiver {
    CURL* curl;
    reply out;
    event_reader* events;
    bool stopped = false;
  };
  static std::size_t receive(char* bytes, std::size_t one, std::size_t n, void* to) {
    auto& r = *static_cast<receiver*>(to);
    long status = 0;
    ::curl_easy_getinfo(r.curl, CURLINFO_RESPONSE_CODE, &status);
    if (r.events != nullptr && status == 200) {
      if (r.events->add({bytes, one * n})) return n;
      r.stopped = true;
      return 0;
    }
    r.out.body.append(bytes, one * n);
    return n;
  }

  result<reply> send(const request& r, event_reader* events) {
    const std::unique_ptr<CURL, curl_deleter> curl(::curl_easy_init());
    if (curl == nullptr) return error{"libcurl could not be started"};
    std::string url = url_ + "/api/v1/" + escaped(curl.get(), r.path);
    char separator = '?';
    for (const auto& [key, value] : r.query) {
      url += separator + escaped(curl.get(), key) + "=" + escaped(curl.get(), value);
      separator = '&';
    }
    receiver to{curl.get(), {}, events};
    curl_slist* list = nullptr;
    if (!token_.empty()) list = ::curl_slist_append(list, ("Authorization: Bearer " + token_).c_str());
    list = ::curl_slist_append(list, "Expect:");  // send the body at once
    const std::unique_ptr<curl_slist, curl_deleter> headers(list);
    ::curl_easy_setopt(curl.get(), CURLOPT_URL, url.c_str());
    ::curl_easy_setopt(curl.get(), CURLOPT_PROTOCOLS_STR, "http,https");
    ::curl_easy_setopt(curl.get(), CURLOPT_HTTPHEADER, headers.get());
    ::curl_easy_setopt(curl.get(), CURLOPT_NOSIGNAL, 1L);
    ::curl_easy_setopt(curl.get(), CURLOPT_NOPROXY, "127.0.0.1,localhost,::1");
    ::curl_easy_setopt(curl.get(), CURLOPT_CONNECTTIMEOUT_MS, 5000L);
    // Longer than any question may take: a hub that is silent for so long is gone.
    ::curl_easy_setopt(curl.get(), CURLOPT_LOW_SPEED_LIMIT, 1L);
    ::curl_easy_setopt(curl.get(), CURLOPT_LOW_SPEED_TIME, 90L);
    ::curl_easy_setopt(curl.get(), CURLOPT_WRITEFUNCTION, &receive);
    ::curl_easy_setopt(curl.get(), CURLOPT_WRITEDATA, &to);
    if (r.method == "POST") {
      ::curl_easy_setopt(curl.get(), CURLOPT_POST, 1L);
      ::curl_easy_setopt(curl.get(), CURLOPT_POSTFIELDS, r.body.data());
      ::curl_easy_setopt(curl.get(), CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(r.body.size()));
    }
    const CURLcode done = ::curl_easy_perform(curl.get());
    if (done != CURLE_OK && !to.stopped) {
      return error{"no hub answers at " + url_ + " (" + ::curl_easy_strerror(done) +
                   "). Start one with `telltale serve`, or name another with --hub URL"};
    }
    long status = 0;
    ::curl_easy_getinfo(curl.get(), CURLINFO_RESPONSE_CODE, &status);
    to.out.status = static_cast<int>(status);
    return std::move(to.out);
  }

  // A path's slashes stay.
  static std::string escaped(CURL* curl, const std::string& text) {
    std::string out;
    std::size_t at = 0;
    while (at <= text.size()) {
      const std::size_t slash = std::min(text.find('/', at), text.size());
      if (slash > at) {
        char* part = ::curl_easy_escape(curl, text.data() + at, static_cast<int>(slash - at));
        out += part != nullptr ? part : "";
        ::curl_free(part);
      }
      if (slash < text.size()) out += '/';
      at = slash + 1;
    }
    return out;
  }

  std::string url_;
  std::string token_;
};

}  // namespace

std::unique_ptr<access> over_http(std::string url, std::string token) {
  return std::make_unique<http_access>(std::move(url), std::move(token));
}

}  // namespace telltale::cli

// A gRPC call made by hand over HTTP/2, with libcurl: what our own client would never send, and services that are not
// ours.
#pragma once

#include <curl/curl.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>

namespace prover::daemon::testing {

// What came back: the status and message of the trailers ("0"), or curl's words where there are none; and the first
// message without its prefix.
struct plain_answer {
  std::string status;
  std::string message;
  std::string body;
};

// `size` bytes of a message follow its prefix: those of `message`, then zeros.
inline plain_answer plain_call(const std::string& socket, const std::string& method, std::string_view message,
                               std::uint64_t size) {
  struct sending {
    std::string head;
    std::uint64_t at = 0, size = 0;
  } out;
  const auto prefix = static_cast<std::uint32_t>(size);
  out.head = {'\0', static_cast<char>(prefix >> 24), static_cast<char>(prefix >> 16), static_cast<char>(prefix >> 8),
              static_cast<char>(prefix)};
  out.head += message;
  out.size = size + 5;
  plain_answer in;
  const std::unique_ptr<CURL, void (*)(CURL*)> c(curl_easy_init(), curl_easy_cleanup);
  const std::string url = "http://localhost/" + method;
  curl_slist* headers = nullptr;
  for (const char* h : {"content-type: application/grpc", "te: trailers", "Expect:"}) {
    headers = curl_slist_append(headers, h);
  }
  const std::unique_ptr<curl_slist, void (*)(curl_slist*)> owned(headers, curl_slist_free_all);
  curl_easy_setopt(c.get(), CURLOPT_URL, url.c_str());
  curl_easy_setopt(c.get(), CURLOPT_UNIX_SOCKET_PATH, socket.c_str());
  curl_easy_setopt(c.get(), CURLOPT_HTTP_VERSION, CURL_HTTP_VERSION_2_PRIOR_KNOWLEDGE);
  curl_easy_setopt(c.get(), CURLOPT_POST, 1L);
  curl_easy_setopt(c.get(), CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(out.size));
  curl_easy_setopt(c.get(), CURLOPT_HTTPHEADER, headers);
  curl_easy_setopt(c.get(), CURLOPT_TIMEOUT, 120L);
  curl_easy_setopt(c.get(), CURLOPT_NOSIGNAL, 1L);
  const auto read = +[](char* to, std::size_t one, std::size_t n, void* from) {
    auto& s = *static_cast<sending*>(from);
    const std::size_t count = std::min<std::uint64_t>(one * n, s.size - s.at);
    std::memset(to, 0, count);
    if (s.at < s.head.size()) std::memcpy(to, s.head.data() + s.at, std::min(count, s.head.size() - s.at));
    s.at += count;
    return count;
  };
  const auto write = +[](char* from, std::size_t one, std::size_t n, void* to) {
    static_cast<plain_answer*>(to)->body.append(from, one * n);
    return one * n;
  };
  const auto header = +[](char* from, std::size_t one, std::size_t n, void* to) {
    const std::string_view line(from, one * n);
    const auto value = [&](std::string_view name, std::string& into) {
      if (line.starts_with(name)) into = line.substr(name.size(), line.find_first_of("\r\n") - name.size());
    };
    value("grpc-status: ", static_cast<plain_answer*>(to)->status);
    value("grpc-message: ", static_cast<plain_answer*>(to)->message);
    return one * n;
  };
  curl_easy_setopt(c.get(), CURLOPT_READFUNCTION, read);
  curl_easy_setopt(c.get(), CURLOPT_READDATA, &out);
  curl_easy_setopt(c.get(), CURLOPT_WRITEFUNCTION, write);
  curl_easy_setopt(c.get(), CURLOPT_WRITEDATA, &in);
  curl_easy_setopt(c.get(), CURLOPT_HEADERFUNCTION, header);
  curl_easy_setopt(c.get(), CURLOPT_HEADERDATA, &in);
  char why[CURL_ERROR_SIZE] = "";
  curl_easy_setopt(c.get(), CURLOPT_ERRORBUFFER, why);
  if (curl_easy_perform(c.get()) != CURLE_OK && in.status.empty()) in.message = why;
  in.body.erase(0, 5);
  return in;
}

inline plain_answer plain_call(const std::string& socket, const std::string& method, std::string_view message) {
  return plain_call(socket, method, message, message.size());
}

}  // namespace prover::daemon::testing

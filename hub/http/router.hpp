// Which function answers which request: routes are registered before the server starts, and looked up per request.
//
//   router.add("GET", "/api/v1/traces/{id}", [&](const http_request& r) { return json_answer(…r.path[0]…); });
//
// Handlers run on the server's threads, several at once. One that throws is answered 500 and the message is logged.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace telltale::hub {

struct http_request {
  std::string method;
  std::string target;                                       // the path, decoded
  std::vector<std::string> path;                            // what stood for each {…} of the pattern, decoded
  std::vector<std::pair<std::string, std::string>> query;   // decoded, in order
  std::map<std::string, std::string, std::less<>> headers;  // names in lower case
  std::string body;                                         // whole, and unpacked where it came compressed

  // The last value of a query parameter, null where there is none.
  const std::string* parameter(std::string_view name) const noexcept {
    const std::string* found = nullptr;
    for (const auto& [key, value] : query) {
      if (key == name) found = &value;
    }
    return found;
  }
  std::string_view header(std::string_view lower_case_name) const noexcept {
    const auto it = headers.find(lower_case_name);
    return it == headers.end() ? std::string_view{} : std::string_view(it->second);
  }
};

struct http_response {
  int status = 200;
  std::string type = "application/json";
  std::string body;
  std::vector<std::pair<std::string, std::string>> headers;
  // Where set, the body is what it gives, piece by piece, sent in chunks; an empty piece ends it. It may block for up
  // to a second at a time (a live tail), and is destroyed when the client goes.
  std::function<std::string()> stream;
};

class router {
 public:
  using handler = std::function<http_response(const http_request&)>;

  // Segments in braces stand for one segment each; a last segment {…*} for the rest of the path.
  void add(std::string method, std::string_view pattern, handler h);

  // Fills `r.path`. An unknown path is answered 404, a known one with another method 405 with Allow.
  http_response answer(http_request& r) const;

 private:
  struct route {
    std::string method;
    std::vector<std::string> segments;
    handler handle;
  };
  std::vector<route> routes_;
};

}  // namespace telltale::hub

// How a command reaches the hub: over HTTP.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <telltale/core/result.hpp>
#include <utility>
#include <vector>

namespace telltale::cli {

struct request {
  std::string method = "GET";
  std::string path;  // below /api/v1/
  std::vector<std::pair<std::string, std::string>> query;
  std::string body;
};
struct reply {
  int status = 0;
  std::string body;
};

class access {
 public:
  virtual ~access() = default;
  // Fails where the hub can't be reached; what it refuses has a status of 400 and above.
  virtual result<reply> ask(const request& r) = 0;
  // Calls `on_data` with the data of each server-sent event until it returns false or the hub ends it.
  virtual result<reply> follow(const request& r, const std::function<bool(std::string_view)>& on_data) = 0;
};

// `url` as in "http://127.0.0.1:4320". `token`, where there is one, goes along as "Authorization: Bearer …".
std::unique_ptr<access> over_http(std::string url, std::string token);

}  // namespace telltale::cli

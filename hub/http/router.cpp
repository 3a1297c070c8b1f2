#include "hub/http/router.hpp"

#include <algorithm>
#include <optional>

namespace telltale::hub {

namespace {

std::vector<std::string> segments_of(std::string_view path) {
  std::vector<std::string> out;
  while (!path.empty() && path.front() == '/') path.remove_prefix(1);
  while (!path.empty()) {
    const std::size_t slash = path.find('/');
    out.emplace_back(path.substr(0, slash));
    path = slash == std::string_view::npos ? std::string_view{} : path.substr(slash + 1);
  }
  return out;
}

bool is_any(std::string_view segment) noexcept {
  return segment.starts_with('{');
}
bool is_rest(std::string_view segment) noexcept {
  return segment.starts_with('{') && segment.ends_with("*}");
}

// What stood for the pattern's braces, nothing where the path is another one.
std::optional<std::vector<std::string>> match(const std::vector<std::string>& pattern,
                                              const std::vector<std::string>& path) {
  std::vector<std::string> out;
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    if (is_rest(pattern[i])) {
      std::string rest;
      for (std::size_t k = i; k < path.size(); ++k) rest += (k > i ? "/" : "") + path[k];
      out.push_back(std::move(rest));
      return out;
    }
    if (i >= path.size()) return std::nullopt;
    if (is_any(pattern[i])) {
      if (path[i].empty()) return std::nullopt;
      out.push_back(path[i]);
    } else if (pattern[i] != path[i]) {
      return std::nullopt;
    }
  }
  if (path.size() != pattern.size()) return std::nullopt;
  return out;
}

}  // namespace

void router::add(std::string method, std::string_view pattern, handler h) {
  routes_.push_back({std::move(method), segments_of(pattern), std::move(h)});
}

http_response router::answer(http_request& r) const {
  const std::vector<std::string> path = segments_of(r.target);
  const std::string_view method = r.method == "HEAD" ? std::string_view("GET") : std::string_view(r.method);
  std::string allowed;
  for (const route& candidate : routes_) {
    auto found = match(candidate.segments, path);
    if (!found) continue;
    if (candidate.method == method) {
      r.path = std::move(*found);
      return candidate.handle(r);
    }
    allowed += (allowed.empty() ? "" : ", ") + candidate.method;
  }
  http_response out;
  out.type = "text/plain; charset=utf-8";
  if (allowed.empty()) {
    out.status = 404;
    out.body = "there is no " + r.target + " here\n";
    return out;
  }
  out.status = 405;
  out.body = r.target + " takes " + allowed + " only\n";
  out.headers.emplace_back("Allow", allowed);
  return out;
}

}  // namespace telltale::hub

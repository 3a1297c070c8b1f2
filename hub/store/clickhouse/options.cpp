// What a configuration says of ClickHouse, checked before any server is asked.
#include <algorithm>

#include "hub/store/clickhouse/clickhouse.hpp"

namespace telltale::hub {

namespace {

// Names that need no care in any statement.
bool is_name(std::string_view s) noexcept {
  return !s.empty() && s.size() <= 64 && std::all_of(s.begin(), s.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
  });
}

}  // namespace

result<clickhouse_address> parse_clickhouse_url(std::string_view url) {
  clickhouse_address out;
  while (!url.empty()) {
    const std::size_t comma = std::min(url.find(','), url.size());
    std::string_view one = url.substr(0, comma);
    url.remove_prefix(std::min(comma + 1, url.size()));
    while (one.starts_with(' ')) one.remove_prefix(1);
    while (one.ends_with(' ') || one.ends_with('/')) one.remove_suffix(1);
    const std::size_t host = one.starts_with("http://") ? 7 : one.starts_with("https://") ? 8 : one.size();
    const std::size_t slash = std::min(one.find('/', host), one.size());
    // Not shown: it may hold a password.
    if (one.substr(0, slash).find('@') != std::string_view::npos) {
      return error{
          "clickhouse.url holds a user or password: they go into clickhouse.user and clickhouse.password_file"};
    }
    const std::string_view database = slash < one.size() ? one.substr(slash + 1) : "telltale";
    if (host >= slash || one.find_first_of("?#") != std::string_view::npos || !is_name(database)) {
      return error{"clickhouse.url \"" + std::string(one) +
                   "\" is not like http://HOST:8123/DATABASE (a database's name has letters, digits and _)"};
    }
    if (!out.database.empty() && out.database != database) {
      return error{"clickhouse.url names two databases, " + out.database + " and " + std::string(database)};
    }
    out.database = database;
    out.servers.emplace_back(one.substr(0, slash));
  }
  if (out.servers.empty()) return error{"clickhouse.url is empty"};
  return out;
}

result<void> check_clickhouse(const clickhouse_options& o) {
  const auto at = parse_clickhouse_url(o.url);
  if (!at) return at.error();
  if (!o.cluster.empty() && !is_name(o.cluster)) {
    return error{"clickhouse.cluster \"" + o.cluster + "\" is no name: letters, digits and _"};
  }
  for (const std::string* s : {&o.user, &o.password}) {
    if (std::any_of(s->begin(), s->end(), [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; })) {
      return error{"clickhouse.user or its password holds a control character"};
    }
  }
  if (o.timeout_seconds < 1) return error{"clickhouse.timeout: 1s at least"};
  return {};
}

}  // namespace telltale::hub

// What requests over HTTP with protobuf hold.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "receiver.hpp"
#include "reference.hpp"

namespace telltale::testing {

// A span or a line, and the process that sent it.
struct sent_record {
  std::int64_t process = 0;
  std::string name;  // of a span, the body of a line
  std::string event;
  std::map<std::string, std::string> attributes;
  std::uint64_t begin_ns = 0;
  std::uint64_t end_ns = 0;  // of a span
};

template <class Resource>
std::int64_t process_of(const Resource& r) {
  for (const auto& a : r.attributes()) {
    if (a.key() == "process.pid") return a.value().int_value();
  }
  return 0;
}

inline std::vector<sent_record> spans_in(const std::vector<received>& requests) {
  std::vector<sent_record> all;
  for (const received& r : requests) {
    if (r.path != "/v1/traces") continue;
    const auto message = from_protobuf<reference::TracesRequest>(r.body);
    for (const auto& resource : message.resource_spans()) {
      for (const auto& scope : resource.scope_spans()) {
        for (const auto& s : scope.spans()) {
          all.push_back({process_of(resource.resource()),
                         s.name(),
                         {},
                         attributes_of(s.attributes()),
                         s.start_time_unix_nano(),
                         s.end_time_unix_nano()});
        }
      }
    }
  }
  return all;
}
inline std::vector<sent_record> lines_in(const std::vector<received>& requests) {
  std::vector<sent_record> all;
  for (const received& r : requests) {
    if (r.path != "/v1/logs") continue;
    const auto message = from_protobuf<reference::LogsRequest>(r.body);
    for (const auto& resource : message.resource_logs()) {
      for (const auto& scope : resource.scope_logs()) {
        for (const auto& l : scope.log_records()) {
          all.push_back({process_of(resource.resource()), l.body().string_value(), l.event_name(),
                         attributes_of(l.attributes()), l.time_unix_nano(), 0});
        }
      }
    }
  }
  return all;
}

inline std::multiset<std::string> span_names(const std::vector<received>& requests) {
  std::multiset<std::string> names;
  for (const sent_record& s : spans_in(requests)) names.insert(s.name);
  return names;
}
inline std::multiset<std::string> bodies_of_lines(const std::vector<received>& requests) {
  std::multiset<std::string> lines;
  for (const sent_record& l : lines_in(requests)) lines.insert(l.name);
  return lines;
}

}  // namespace telltale::testing

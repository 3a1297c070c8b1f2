#include "hub/bench/generator.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <string_view>

namespace telltale::hub::bench {

namespace {

std::uint64_t mix(std::uint64_t x) noexcept {  // splitmix64
  x += 0x9e3779b97f4a7c15u;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

void put_varint(std::string& out, std::uint64_t v) {
  for (; v >= 0x80; v >>= 7) out += static_cast<char>(v | 0x80);
  out += static_cast<char>(v);
}
void put_bytes(std::string& out, std::uint32_t field, std::string_view bytes) {
  put_varint(out, field << 3 | 2);
  put_varint(out, bytes.size());
  out += bytes;
}
void put_fixed(std::string& out, std::uint32_t field, std::uint64_t v) {
  put_varint(out, field << 3 | 1);
  out.append(reinterpret_cast<const char*>(&v), 8);
}
std::string big_endian(std::uint64_t v) {
  v = __builtin_bswap64(v);
  return {reinterpret_cast<const char*>(&v), 8};
}
void put_text(std::string& out, std::string_view key, std::string_view value) {
  std::string any;
  put_bytes(any, 1, value);
  std::string item;
  put_bytes(item, 1, key);
  put_bytes(item, 2, any);
  put_bytes(out, 9, item);
}
void put_number(std::string& out, std::string_view key, std::uint64_t value) {
  std::string any = "\x18";
  put_varint(any, value);
  std::string item;
  put_bytes(item, 1, key);
  put_bytes(item, 2, any);
  put_bytes(out, 9, item);
}

}  // namespace

trace_id generator::trace(std::uint64_t number) noexcept {
  return {mix(number * 2), mix(number * 2 + 1)};
}

std::uint64_t generator::random() noexcept {
  return mix(state_++);
}

void generator::span(std::string& out, running& t) {
  constexpr std::string_view phases[] = {"witness", "msm", "ntt", "quotient", "upload", "verify", "queue", "write"};
  const std::uint64_t id = mix(t.number << 24 | t.done) | 1;
  if (t.done == 0) t.root = id;
  const std::uint64_t kind = random();
  const trace_id trace = generator::trace(t.number);
  std::string s;
  put_bytes(s, 1, big_endian(trace.high) + big_endian(trace.low));
  put_bytes(s, 2, big_endian(id));
  if (t.done != 0) put_bytes(s, 4, big_endian(t.root));
  put_bytes(s, 5, "span-" + std::to_string(kind % 61));
  s += "\x30\x01";  // internal
  now_ns_ += static_cast<std::int64_t>(random() % gap_ns_);
  const auto duration = static_cast<std::uint64_t>(std::exp(6.0 + static_cast<double>(random() % 1000) / 80));
  put_fixed(s, 7, static_cast<std::uint64_t>(now_ns_));
  put_fixed(s, 8, static_cast<std::uint64_t>(now_ns_) + duration);
  put_text(s, "job_id", "job-" + std::to_string(t.job));
  put_text(s, "module_id",
           "module-" + std::to_string(
                           static_cast<std::uint64_t>(std::pow(2000.0, static_cast<double>(random() % 1000) / 1000))));
  put_text(s, "task_id", "task-" + std::to_string(t.number));
  put_text(s, "phase", phases[kind % 8]);
  put_text(s, "circuit", "circuit-" + std::to_string(kind % 20));
  put_text(s, "device", "cuda:" + std::to_string(t.number % 8));
  put_number(s, "points", std::uint64_t{1} << (10 + random() % 12));
  put_number(s, "stream", random() % 16);
  put_number(s, "attempt", random() % 50 == 0 ? 1 : 0);
  if (random() % 5 != 0) put_number(s, "bytes", random() % 100'000'000);
  if (random() % 100 == 0) s += std::string_view("\x7a\x02\x18\x02", 4);  // failed
  put_bytes(out, 2, s);
  ++t.done;
  --t.left;
}

std::string generator::next() {
  if (left_ == 0) return {};
  std::string resource;
  {
    std::string attributes;
    const std::uint64_t node = random() % 64;
    const auto attribute = [&](std::string_view key, std::string_view value) {
      std::string any;
      put_bytes(any, 1, value);
      std::string item;
      put_bytes(item, 1, key);
      put_bytes(item, 2, any);
      put_bytes(attributes, 1, item);
    };
    attribute("service.name", "service-" + std::to_string(node % 10));
    attribute("host.name", "node-" + std::to_string(node));
    attribute("process.pid", std::to_string(1000 + node));
    put_bytes(resource, 1, attributes);
  }
  std::string scope;
  put_bytes(scope, 1, std::string_view("\x0a\x07provers", 9));
  const std::uint64_t count = std::min<std::uint64_t>(left_, 1000);
  for (std::uint64_t i = 0; i < count; ++i) {
    running& t = running_[random() % running_.size()];
    if (t.left == 0) {
      t = {};
      t.number = traces_++;
      t.left = is_large(t.number) ? 100'000 : 1 + random() % 880;
      t.job = t.number / 4;
    }
    span(scope, t);
  }
  left_ -= count;
  put_bytes(resource, 2, scope);
  std::string request;
  put_bytes(request, 1, resource);
  return request;
}

}  // namespace telltale::hub::bench

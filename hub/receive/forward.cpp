#include "hub/receive/forward.hpp"

#include <curl/curl.h>

#include <chrono>

namespace telltale::hub {

namespace {

using clock = std::chrono::steady_clock;

std::size_t drop(char*, std::size_t size, std::size_t count, void*) {
  return size * count;
}

}  // namespace

forwarder::forwarder(forward_settings settings) : settings_(std::move(settings)), thread_([this] { run(); }) {}

forwarder::~forwarder() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

result<void> forwarder::send(otlp::signal_kind signal, std::string request) {
  {
    const std::lock_guard lock(mutex_);
    if (bytes_ + request.size() > settings_.max_queue) {
      return error{settings_.url + " takes requests more slowly than they come; send again a little later"};
    }
    bytes_ += request.size();
    queue_.push_back({signal, std::move(request)});
  }
  changed_.notify_one();
  return {};
}

void forwarder::run() {
  const std::unique_ptr<CURL, void (*)(CURL*)> curl(::curl_easy_init(), &::curl_easy_cleanup);
  auto last = [this, until = clock::time_point{}]() mutable {
    if (!stopping_) return false;
    if (until == clock::time_point{}) until = clock::now() + std::chrono::seconds(2);
    return clock::now() > until;
  };
  for (;;) {
    item next;
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [&] { return stopping_ || !queue_.empty(); });
      if (queue_.empty()) return;
      next = std::move(queue_.front());
      queue_.pop_front();
    }
    const auto given_up = clock::now() + std::chrono::minutes(5);
    auto pause = std::chrono::milliseconds(100);
    while (curl != nullptr && !deliver(curl.get(), next)) {
      if (last() || clock::now() > given_up) {
        ++lost_;
        break;
      }
      std::unique_lock lock(mutex_);
      changed_.wait_for(lock, pause, [&] { return stopping_.load(); });
      pause = std::min(pause * 2, std::chrono::milliseconds(5000));
    }
    bytes_ -= next.body.size();
  }
}

// Whether it is done with: taken, or refused for good.
bool forwarder::deliver(void* handle, const item& i) {
  CURL* curl = static_cast<CURL*>(handle);
  std::string url = settings_.url;
  while (url.ends_with('/')) url.pop_back();
  url += '/';
  url += otlp::http_paths[static_cast<std::size_t>(i.signal)];
  curl_slist* headers = ::curl_slist_append(nullptr, "Content-Type: application/x-protobuf");
  if (!settings_.token.empty()) {
    headers = ::curl_slist_append(headers, ("Authorization: Bearer " + settings_.token).c_str());
  }
  const std::unique_ptr<curl_slist, void (*)(curl_slist*)> kept(headers, &::curl_slist_free_all);
  ::curl_easy_setopt(curl, CURLOPT_URL, url.c_str());
  ::curl_easy_setopt(curl, CURLOPT_HTTPHEADER, headers);
  ::curl_easy_setopt(curl, CURLOPT_POSTFIELDS, i.body.data());
  ::curl_easy_setopt(curl, CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(i.body.size()));
  ::curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, &drop);
  ::curl_easy_setopt(curl, CURLOPT_TIMEOUT_MS, 10'000L);
  ::curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
  long status = 0;
  if (::curl_easy_perform(curl) != CURLE_OK) return false;
  ::curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &status);
  if (status == 429 || status == 502 || status == 503 || status == 504) return false;
  if (status >= 200 && status < 300) {
    ++sent_;
  } else {
    ++lost_;
  }
  return true;
}

}  // namespace telltale::hub

#include "serve.hpp"

#include <pthread.h>
#include <signal.h>

#include <cstdlib>
#include <fstream>
#include <iostream>
#include <sstream>

namespace telltale::cli {

namespace {

result<hub::configuration> configuration_of(const serve_words& words) {
  hub::configuration c;
  if (!words.config.empty()) {
    std::ifstream in(words.config);
    std::ostringstream text;
    text << in.rdbuf();
    if (!in) return error{"cannot read " + words.config};
    auto read = hub::read_configuration(text.str(), words.config);
    if (!read) return read.error();
    c = std::move(*read);
  }
  if (!words.directory.empty()) c.store.directory = words.directory;
  if (!words.forward.empty()) c.forward.url = words.forward;
  if (!words.listen.empty()) c.http.listen = words.listen;
  if (!words.grpc.empty()) c.grpc.listen = words.grpc;
  if (const char* password = std::getenv("TELLTALE_CLICKHOUSE_PASSWORD"); password != nullptr) {
    c.clickhouse.password = password;
  }
  if (const auto fits = hub::check_configuration(c); !fits) return fits.error();
  return c;
}

}  // namespace

result<int> serve(const serve_words& words, const hub::server::add_routes& questions) {
  const auto c = configuration_of(words);
  if (!c) return c.error();
  if (words.print) std::cout << hub::print_configuration(*c);
  if (words.check || words.print) return 0;

  sigset_t ending;  // before any thread starts, so that each has them blocked
  ::sigemptyset(&ending);
  ::sigaddset(&ending, SIGINT);
  ::sigaddset(&ending, SIGTERM);
  ::pthread_sigmask(SIG_BLOCK, &ending, nullptr);
  ::setenv("GRPC_VERBOSITY", "NONE", 0);  // what it would say on its own, we say in a sentence
  auto hub = hub::server::start(*c, questions);
  if (!hub) return hub.error();
  std::cout << "telltale: the hub listens";
  for (const std::uint16_t port : (*hub)->http().ports()) std::cout << " http:" << port;
  for (const int port : (*hub)->grpc_ports()) std::cout << " grpc:" << port;
  const std::string& place = c->clickhouse.url.empty() ? c->store.directory : c->clickhouse.url;
  std::cout << (c->keep ? ", and keeps what it gets in " + place : ", and passes on what it gets") << "\n"
            << std::flush;
  int signal = 0;
  ::sigwait(&ending, &signal);
  std::cout << "telltale: the hub ends\n";
  return 0;
}

result<int> init_store(const serve_words& words) {
  const auto c = configuration_of(words);
  if (!c) return c.error();
  if (c->clickhouse.url.empty()) {
    return error{
        "the embedded store makes its directory by itself; `store init` is for ClickHouse: give a --config with "
        "clickhouse.url"};
  }
  const auto made = hub::init_clickhouse(c->clickhouse);
  if (!made) return made.error();
  std::cout << *made << "\n";
  return 0;
}

}  // namespace telltale::cli

// An object that records when it is made and when it goes, wherever in the program's life that is.
#pragma once

#include <telltale/core/telltale.hpp>

struct talkative {
  const char* name;
  explicit talkative(const char* n) : name(n) {
    using namespace telltale::literals;
    TELLTALE_SPAN("constructed", "name"_a = telltale::text{name});
    TELLTALE_INFO("hello", "name"_a = telltale::text{name});
  }
  ~talkative() {
    using namespace telltale::literals;
    TELLTALE_SPAN("destroyed", "name"_a = telltale::text{name});
    TELLTALE_INFO("goodbye", "name"_a = telltale::text{name});
  }
};

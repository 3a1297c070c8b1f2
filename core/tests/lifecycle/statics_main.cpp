#include "statics.hpp"

namespace {
const talkative main_one("main");
}

int main() {
  static const talkative local_one("local");
  return 0;
}

#include "statics.hpp"

namespace {
const talkative first_one("first");
}

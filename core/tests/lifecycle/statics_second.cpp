#include "statics.hpp"

namespace {
const talkative second_one("second");
}

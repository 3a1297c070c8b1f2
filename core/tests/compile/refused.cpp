// Compiles as it stands; with any one of the macros below it must not.
#include <span>
#include <string>
#include <string_view>
#include <telltale/core/telltale.hpp>
#include <vector>

using namespace telltale::literals;

struct opted_in {
  int id;
};
template <>
struct telltale::attribute_traits<opted_in> {
  static int get(const opted_in& v) { return v.id; }
};
enum class dtype { f16 };
constexpr std::string_view telltale_name(dtype) {
  return "f16";
}
struct plain {
  int id;
};

constinit telltale::counter counted{"allowed", "", "", {.max_series = 3}};
constinit telltale::histogram rising{"allowed too", "", "", {1, 2}};

void attributes(const int* pointer, const std::string& string, std::string_view view, const char* c_string,
                std::span<float> floats, const std::vector<int>& numbers, const plain& user) {
  TELLTALE_SPAN("allowed", "a"_a = 1, "b"_a = true, "c"_a = 0.5, "d"_a = "literal", "e"_a = telltale::text{string},
                "f"_a = dtype::f16, "g"_a = opted_in{1}, "h"_a = floats.size());
  TELLTALE_INFO("{a} of {{b}}", "a"_a = numbers.size(), "b"_a = telltale::text{view});
  counted.add(1, "a"_a = 1, "e"_a = telltale::text{string}, "f"_a = dtype::f16);
  rising.record(1.5, "d"_a = "literal");
  [[maybe_unused]] char buffer[8] = "buffer";
  (void)pointer, (void)c_string, (void)user;
#if defined(POINTER)
  TELLTALE_SPAN("refused", "x"_a = pointer);
#elif defined(STRING)
  TELLTALE_SPAN("refused", "x"_a = string);
#elif defined(STRING_VIEW)
  TELLTALE_SPAN("refused", "x"_a = view);
#elif defined(C_STRING)
  TELLTALE_SPAN("refused", "x"_a = c_string);
#elif defined(BUFFER)
  TELLTALE_SPAN("refused", "x"_a = buffer);
#elif defined(SPAN)
  TELLTALE_SPAN("refused", "x"_a = floats);
#elif defined(VECTOR)
  TELLTALE_INFO("refused", "x"_a = numbers);
#elif defined(USER_TYPE)
  TELLTALE_INFO("refused", "x"_a = user);
#elif defined(UNKNOWN_FIELD)
  TELLTALE_INFO("refused {y}", "x"_a = 1);
#elif defined(UNPAIRED_OPEN)
  TELLTALE_INFO("refused {x", "x"_a = 1);
#elif defined(UNPAIRED_CLOSE)
  TELLTALE_INFO("refused x}", "x"_a = 1);
#elif defined(DUPLICATE_KEY)
  TELLTALE_SPAN("refused", "x"_a = 1, "y"_a = 2, "x"_a = 3);
#elif defined(LABEL_STRING)
  counted.add(1, "x"_a = string);
#elif defined(DUPLICATE_LABEL)
  counted.add(1, "x"_a = 1, "y"_a = 2, "x"_a = 3);
#elif defined(BOUNDS_THAT_FALL)
  static constinit telltale::histogram falling{"refused", "", "", {2, 1}};
#endif
}

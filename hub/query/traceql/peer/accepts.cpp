// Reads queries, one a line, and prints for each what the parser says: accepted, syntax, meaning or unsupported.
#include <iostream>
#include <string>

#include "../parse.hpp"

int main() {
  using namespace telltale::hub::traceql;
  constexpr std::string_view refusals[] = {"syntax", "meaning", "unsupported"};
  for (std::string line; std::getline(std::cin, line);) {
    const parsed p = parse(line);
    std::cout << (p ? "accepted" : refusals[static_cast<std::size_t>(p.kind())]) << '\n';
  }
}

// The command `telltale`.
#include <iostream>
#include <string_view>
#include <vector>

#include "recover.hpp"

namespace {

constexpr std::string_view usage =
    "telltale recover FILE    shows what a process that was killed, aborted or hangs had recorded last\n"
    "telltale COMMAND --help  says more\n";

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string_view> words(argv + 1, argv + argc);
  if (words.empty()) {
    std::cerr << usage;
    return 2;
  }
  if (words[0] == "--help" || words[0] == "-h" || words[0] == "help") {
    std::cout << usage;
    return 0;
  }
  if (words[0] == "recover") return telltale::cli::recover({words.begin() + 1, words.end()});
  std::cerr << "telltale: there is no command \"" << words[0] << "\"\n" << usage;
  return 2;
}

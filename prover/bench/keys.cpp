// Loading a key from its cache file, beside parsing the .zkey and checking all of it.
#include <stdexcept>

#include "core/bench/child.hpp"
#include "prover/bench/alternating.hpp"
#include "prover/bench/figures.hpp"
#include "telltale/prover/engine.hpp"

namespace prover::bench {
namespace {

struct circuit {
  const char* name;
  telltale::bench::bar bar;
};
const circuit circuits[] = {{"semaphore-20", {}}, {"sha17", {}}, {"chain20", telltale::bench::ratio_at_most(0.30)}};

void add_figure(telltale::bench::report& r, const circuit& c, const std::string& zkey) {
  const telltale::bench::scratch_directory folder;
  engine e(2);
  const auto load = [&](const key_storage& storage) {
    if (const auto key = e.load_key(zkey, key_checks::full, storage); !key) {
      throw std::runtime_error(key.error().message);
    }
    return 0;
  };
  const key_storage cached{.cache_folder = folder / "keys"};
  load(cached);  // makes the file
  const auto p = alternate(
      &milliseconds::wall, [&] { return taken_by([&] { return load(cached); }); },
      [&] { return taken_by([&] { return load({}); }); });
  r.add(figure_of(p, std::string("loading ") + c.name + " from the key cache", "full check and parse", c.bar));
}

}  // namespace

void add_key_figures(telltale::bench::report& r) {
  for (const auto& c : circuits) {
    const auto zkey = shared_data() / (std::string(c.name) + ".zkey");
    if (std::filesystem::exists(zkey)) {
      add_figure(r, c, zkey);
    } else {
      r.absent(std::string("loading ") + c.name,
               "no " + zkey.string() + "; TELLTALE_SHARED_DATA may name another folder");
    }
  }
}

}  // namespace prover::bench

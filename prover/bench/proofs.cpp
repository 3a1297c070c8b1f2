// Whole proofs with the key in memory, ours and rapidsnark's in turn, and the share that verifying has.
#include <array>
#include <memory>
#include <optional>
#include <stdexcept>

#include "prover/bench/alternating.hpp"
#include "prover/bench/figures.hpp"
#include "telltale/core/result.hpp"
#include "telltale/prover/engine.hpp"

namespace prover::bench {
namespace {

namespace fs = std::filesystem;
using telltale::bench::ratio_at_most;

struct circuit {
  const char* name;
  std::array<telltale::bench::bar, 2> bars;  // over rapidsnark, with one thread and with two
};
const std::array<circuit, 6> circuits{{{"merkle12", {ratio_at_most(0.45)}},
                                       {"semaphore-20", {ratio_at_most(0.40)}},
                                       {"sha15", {ratio_at_most(0.40)}},
                                       {"eddsa15", {ratio_at_most(0.36)}},
                                       {"sha17", {ratio_at_most(0.36), ratio_at_most(0.32)}},
                                       {"chain20", {ratio_at_most(0.30), ratio_at_most(0.30)}}}};
constexpr std::size_t large_domain = std::size_t{1} << 16;

template <class T>
T value_or_throw(telltale::result<T> result) {
  if (!result) throw std::runtime_error(result.error().message);
  return std::move(*result);
}

// rapidsnark's library: the file itself, or where its program or folder keeps it.
std::optional<fs::path> library_at(const fs::path& given) {
  if (given.extension() == ".so") return given;
  const fs::path folder = fs::is_directory(given) ? given : given.parent_path();
  for (const char* place : {"librapidsnark.so", "lib/librapidsnark.so", "../lib/librapidsnark.so"}) {
    if (fs::exists(folder / place)) return folder / place;
  }
  return std::nullopt;
}

class rapidsnark {
 public:
  explicit rapidsnark(const fs::path& library)
      // It starts as many threads as it may use processors.
      : one_thread_({"taskset", "-c", "0", beside("prover_rapidsnark_peer"), library}),
        two_threads_({"taskset", "-c", "0,1", beside("prover_rapidsnark_peer"), library}) {}

  milliseconds prove(const fs::path& stem, unsigned threads) {
    return (threads == 1 ? one_thread_ : two_threads_).ask(stem.string() + ".zkey\t" + stem.string() + ".wtns");
  }

 private:
  static std::string beside(const char* name) { return fs::read_symlink("/proc/self/exe").parent_path() / name; }
  peer one_thread_;
  peer two_threads_;
};

std::string described(const circuit& c, unsigned threads) {
  return std::string(c.name) + (threads == 1 ? ", one thread" : ", two threads");
}

void add_figures(telltale::bench::report& r, const circuit& c, const fs::path& stem, rapidsnark* theirs) {
  std::array<engine, 2> engines{engine(1), engine(2)};
  const auto key = value_or_throw(engines[1].load_key(stem.string() + ".zkey", key_checks::none));
  const auto values = value_or_throw(witness::load(stem.string() + ".wtns"));
  const auto prove = [&](engine& e) { return value_or_throw(e.prove(key, values)); };
  for (unsigned threads = 1; theirs != nullptr && threads <= 2; ++threads) {
    engine& e = engines[threads - 1];
    // With one thread, what it worked; with two, how long one waits for it.
    const auto p = alternate(
        threads == 1 ? &milliseconds::cpu : &milliseconds::wall, [&] { return taken_by([&] { prove(e); }); },
        [&] { return theirs->prove(stem, threads); });
    r.add(figure_of(p, described(c, threads), "rapidsnark", c.bars[threads - 1]));
  }
  if (key.domain_size() < large_domain) return;
  const auto made = prove(engines[0]);
  const auto verify = [&] { return engines[0].verify(key.verification(), made.proof, made.signals); };
  const auto p = alternate(
      &milliseconds::cpu, [&] { return taken_by(verify); }, [&] { return taken_by([&] { prove(engines[0]); }); });
  r.add(figure_of(p, std::string("verifying after proving ") + c.name, "the proof", ratio_at_most(0.01)));
}

}  // namespace

void add_proof_figures(telltale::bench::report& r, const telltale::bench::options& options) {
  const auto given = options.peer("rapidsnark");
  const auto library = given ? library_at(*given) : std::nullopt;
  std::unique_ptr<rapidsnark> theirs;
  if (library) theirs = std::make_unique<rapidsnark>(*library);
  if (!theirs) {
    r.absent("whole proofs beside rapidsnark",
             given ? "no librapidsnark.so at or beside " + given->string() : "--peer rapidsnark=PATH names none");
  }
  for (const auto& c : circuits) {
    const fs::path stem = shared_data() / c.name;
    if (!fs::exists(stem.string() + ".zkey")) {
      r.absent(c.name, "no " + stem.string() + ".zkey; TELLTALE_SHARED_DATA may name another folder");
      continue;
    }
    add_figures(r, c, stem, theirs.get());
  }
}

}  // namespace prover::bench

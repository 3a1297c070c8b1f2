// `prover info`: what a key, witness or constraint system holds.
#include <array>
#include <cstdio>
#include <cstring>
#include <memory>

#include "prover/cli/command.hpp"
#include "prover/format/r1cs.hpp"
#include "prover/format/test_key_notice.hpp"
#include "prover/format/wtns.hpp"
#include "prover/format/zkey.hpp"
#include "prover/groth16/key_cache.hpp"

namespace prover::cli {
namespace {

void row(const char* what, const std::string& value) {
  std::printf("%-16s %s\n", what, value.c_str());
}
void row(const char* what, u64 value) {
  row(what, format::grouped(value));
}

// Whether the next start takes the key from the cache.
telltale::result<void> describe_cache(const format::byte_source& source, curve_id curve, const std::string& folder) {
  thread_pool pool;
  const auto digest = format::digest_of(source, pool);
  if (!digest) return digest.error();
  row("digest", format::to_hex(*digest));
  const code_path path = choose_code_path();
  format::with_curve(curve, [&](auto c) {
    const auto cached = groth16::read_cache<decltype(c)>(folder, *digest, path, pool);
    row("cached", !cached ? cached.error().message : *cached ? groth16::cache_path(folder, *digest, path) : "no");
  });
  return {};
}

telltale::result<void> describe(const std::string& path, const key_storage& storage) {
  const auto source = format::byte_source::open(path, "file");
  if (!source) return source.error();
  std::array<std::byte, 4> magic{};
  if (source->size() >= magic.size()) {
    if (auto done = source->read(0, magic); !done) return done.error();
  }
  const auto begins_with = [&](const char* word) { return std::memcmp(magic.data(), word, magic.size()) == 0; };
  if (begins_with("zkey")) {
    const auto h = format::read_zkey_header(*source);
    if (!h) return h.error();
    row("file", "Groth16 proving key (.zkey)");
    row("curve", name_of(h->curve));
    row("variables", h->variables);
    row("public signals", h->publics);
    row("domain", h->domain_size);
    row("coefficients", h->coefficients);
    if (h->is_test_key) row("WARNING", std::string(format::test_key_notice));
    if (!storage.cache_folder.empty()) {
      if (auto done = describe_cache(*source, h->curve, storage.cache_folder); !done) return done.error();
    }
  } else if (begins_with("wtns")) {
    const auto h = format::read_wtns_header(*source);
    if (!h) return h.error();
    row("file", "witness (.wtns)");
    row("curve", name_of(h->curve));
    row("values", h->count);
  } else if (begins_with("r1cs")) {
    const auto h = format::read_r1cs_header(*source);
    if (!h) return h.error();
    row("file", "constraint system (.r1cs)");
    row("curve", name_of(h->curve));
    row("wires", h->wires);
    row("constraints", h->constraints);
    row("public outputs", h->public_outputs);
    row("public inputs", h->public_inputs);
    row("private inputs", h->private_inputs);
    row("labels", h->labels);
  } else {
    return source->wrong("it is neither a .zkey, nor a .wtns, nor an .r1cs file", "Check that it is the right file");
  }
  row("bytes", source->size());
  return {};
}

}  // namespace

void add_info(CLI::App& app, int& code) {
  struct options {
    std::string path;
    key_storage storage;
  };
  auto o = std::make_shared<options>();
  auto* command = app.add_subcommand("info", "Say what a key, a witness or a constraint system holds");
  command->add_option("file", o->path, "A .zkey, .wtns or .r1cs file")->required()->option_text("FILE");
  command->add_option("--key-cache", o->storage.cache_folder, "Say whether this folder has the key")
      ->option_text("DIR");
  command->callback([o, &code] {
    if (const auto described = describe(o->path, o->storage); !described) code = fail(bad_input, described.error());
  });
}

}  // namespace prover::cli

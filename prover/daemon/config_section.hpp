// One table of the configuration being read: its keys by type, and what is wrong about them. For config.cpp alone,
// which is the one file that includes the TOML reader.
#pragma once

#include <toml++/toml.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "telltale/core/units.hpp"

namespace prover::daemon {

using std::chrono::milliseconds;

inline const std::string command_line = "--set";  // where a change comes from, in messages

// What is wrong, a line each.
class problems {
 public:
  explicit problems(std::string file) : file_(std::move(file)) {}

  void add(const toml::source_region& where, const std::string& what) {
    std::string place = where.path ? *where.path : file_;
    if (where.begin.line > 0 && place != command_line) {
      place += ':' + std::to_string(where.begin.line) + ':' + std::to_string(where.begin.column);
    }
    add(place, what);
  }
  void add(const std::string& place, const std::string& what) {
    if (!text_.empty()) text_ += '\n';
    text_ += place + ": " + what;
  }
  bool none() const { return text_.empty(); }
  telltale::error error() const { return {text_}; }

 private:
  std::string file_;
  std::string text_;
};

// How many letters must be added, removed or replaced to make one word of the other.
inline std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replaced = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({replaced, row[j] + 1, row[j - 1] + 1});
    }
  }
  return row[b.size()];
}

// "; did you mean "budget"?", or all there is to choose from.
inline std::string suggestion(std::string_view word, const std::vector<std::string>& known) {
  const std::string* best = nullptr;
  std::size_t nearest = std::max<std::size_t>(2, word.size() / 3) + 1;
  for (const std::string& k : known) {
    // A key can be of any length; only one about as long can be meant.
    if (word.size() > k.size() + nearest) continue;
    if (const std::size_t d = distance(word, k); d < nearest) {
      nearest = d;
      best = &k;
    }
  }
  if (best != nullptr) return "; did you mean \"" + *best + "\"?";
  std::string all = ". There are: ";
  for (const std::string& k : known) all += (&k == known.data() ? "" : ", ") + k;
  return all;
}

// Reads the keys of one table. What isn't asked for is unknown, which finish() says.
class section {
 public:
  section(const toml::table* table, std::string name, const std::string& directory, problems& wrong)
      : table_(table), name_(std::move(name)), directory_(directory), wrong_(wrong) {}

  void text(const char* key, std::string& into) {
    if (const auto* n = find(key)) {
      if (const auto* s = n->as_string()) {
        into = s->get();
      } else {
        mistyped(key, *n, "a string");
      }
    }
  }

  void path(const char* key, std::string& into) {
    text(key, into);
    if (!into.empty() && find(key) != nullptr) into = absolute(into);
  }

  void texts(const char* key, std::vector<std::string>& into) {
    const auto* n = find(key);
    if (n == nullptr) return;
    const auto* array = n->as_array();
    std::vector<std::string> read;
    if (array != nullptr) {
      for (const toml::node& e : *array) {
        if (const auto* s = e.as_string()) read.push_back(s->get());
      }
    }
    if (array == nullptr || read.size() != array->size()) return mistyped(key, *n, "an array of strings");
    into = std::move(read);
  }

  void flag(const char* key, bool& into) {
    if (const auto* n = find(key)) {
      if (const auto* b = n->as_boolean()) {
        into = b->get();
      } else {
        mistyped(key, *n, "true or false");
      }
    }
  }

  void count(const char* key, unsigned& into, unsigned least, unsigned most) {
    const auto* n = find(key);
    if (n == nullptr) return;
    const auto* i = n->as_integer();
    if (i == nullptr || i->get() < least || i->get() > most) {
      return mistyped(key, *n, "a whole number from " + std::to_string(least) + " to " + std::to_string(most));
    }
    into = static_cast<unsigned>(i->get());
  }

  // `automatic` is the word for 0, where there is one.
  void size(const char* key, std::uint64_t& into, const char* automatic = nullptr) {
    measure(key, into, automatic, "64MiB", [](std::string_view s) { return telltale::parse_size(s); });
  }
  void duration(const char* key, milliseconds& into, const char* automatic = nullptr) {
    measure(key, into, automatic, "30s", [](std::string_view s) { return telltale::parse_duration(s); });
  }

  template <class E>
  void choice(const char* key, E& into, const std::vector<std::pair<const char*, E>>& names) {
    const auto* n = find(key);
    if (n == nullptr) return;
    const auto* s = n->as_string();
    std::vector<std::string> known;
    for (const auto& [word, value] : names) {
      known.emplace_back(word);
      if (s != nullptr && s->get() == word) {
        into = value;
        return;
      }
    }
    if (s == nullptr) return mistyped(key, *n, "a string");
    wrong_.add(n->source(), "\"" + s->get() + "\" is no value of " + full(key) + suggestion(s->get(), known));
  }

  // Where a key's value stands, for what is wrong about it together with others.
  const toml::source_region& place(const char* key) const {
    static const toml::source_region nowhere{};
    if (table_ == nullptr) return nowhere;
    const toml::node* n = table_->get(key);
    return n != nullptr ? n->source() : table_->source();
  }

  void finish() {
    if (table_ == nullptr) return;
    for (const auto& [key, value] : *table_) {
      if (std::ranges::find(known_, key.str()) != known_.end()) continue;
      wrong_.add(key.source(),
                 "unknown key \"" + std::string(key.str()) + "\" in " + name_ + suggestion(key.str(), known_));
    }
  }

 private:
  const toml::node* find(const char* key) {
    if (std::ranges::find(known_, key) == known_.end()) known_.emplace_back(key);
    return table_ == nullptr ? nullptr : table_->get(key);
  }
  std::string full(const char* key) const { return "\"" + std::string(key) + "\" in " + name_; }
  void mistyped(const char* key, const toml::node& n, const std::string& wanted) {
    wrong_.add(n.source(), full(key) + " must be " + wanted);
  }
  std::string absolute(const std::string& p) const {
    return (std::filesystem::path(directory_) / p).lexically_normal().string();
  }

  template <class T, class Parse>
  void measure(const char* key, T& into, const char* automatic, const char* example, Parse parse) {
    const auto* n = find(key);
    if (n == nullptr) return;
    const auto* s = n->as_string();
    if (s == nullptr) {
      return mistyped(key, *n, "a string such as \"" + std::string(example) + "\"");
    }
    if (automatic != nullptr && s->get() == automatic) {
      into = T{};
      return;
    }
    const auto read = parse(s->get());
    if (!read) {
      std::string why = read.error().message;
      if (automatic != nullptr) why += ", or \"" + std::string(automatic) + "\"";
      return wrong_.add(n->source(), full(key) + ": " + why);
    }
    into = *read;
  }

  const toml::table* table_;
  std::string name_;
  const std::string& directory_;
  problems& wrong_;
  std::vector<std::string> known_;
};

}  // namespace prover::daemon

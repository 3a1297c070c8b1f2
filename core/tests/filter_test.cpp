// Filter directives: what they mean, and what is refused.
#include "filter.hpp"

#include <gtest/gtest.h>

namespace {

using telltale::level;
using telltale::detail::filter;

level under(std::string_view directives, std::string_view module) {
  const auto f = filter::parse(directives);
  EXPECT_TRUE(f) << f.error().message;
  return f->level_for(module);
}

TEST(Filters, ALevelAloneHoldsForEverything) {
  EXPECT_EQ(under("info", "prover"), level::info);
  EXPECT_EQ(under("TRACE", "anything::at::all"), level::trace);
  EXPECT_EQ(under("off", "x"), level::off);
}

TEST(Filters, TheLongestModuleWins) {
  const char* directives = "info,prover=debug,prover::msm=trace,hub=off";
  EXPECT_EQ(under(directives, "core"), level::info);
  EXPECT_EQ(under(directives, "prover"), level::debug);
  EXPECT_EQ(under(directives, "prover::ntt"), level::debug);
  EXPECT_EQ(under(directives, "prover::msm"), level::trace);
  EXPECT_EQ(under(directives, "prover::msm::window"), level::trace);
  EXPECT_EQ(under(directives, "hub::store"), level::off);
}

TEST(Filters, AModuleIsNotAPrefixOfItsNeighbour) {
  EXPECT_EQ(under("warn,prover=debug", "prover2"), level::warn);
  EXPECT_EQ(under("warn,prover=debug", "prover:x"), level::warn);
}

TEST(Filters, WhatNoDirectiveNamesIsOff) {
  EXPECT_EQ(under("prover=debug", "hub"), level::off);
  EXPECT_EQ(under("", "hub"), level::off);
}

TEST(Filters, SpacesAndEmptyPiecesDoNotMatterAndTheLastWins) {
  EXPECT_EQ(under(" info , prover = warn ,, ", "prover"), level::warn);
  EXPECT_EQ(under("prover=warn,prover=error", "prover"), level::error);
}

TEST(Filters, AMisspeltLevelIsRefusedByName) {
  for (const char* bad : {"inof", "info,prover=vebrose", "prover=", "=info", "a b=info", "prover"}) {
    const auto f = filter::parse(bad);
    ASSERT_FALSE(f) << bad;
    EXPECT_NE(f.error().message.find("off, error, warn, info, debug, trace"), std::string::npos) << f.error().message;
  }
  EXPECT_NE(filter::parse("info,prover=vebrose").error().message.find("\"vebrose\" is no level"), std::string::npos);
}

TEST(Filters, RustLogAlsoKnowsAModuleByItself) {
  const auto f = filter::parse("warn,prover", filter::grammar::rust_log);
  ASSERT_TRUE(f);
  EXPECT_EQ(f->level_for("prover::msm"), level::trace);
  EXPECT_EQ(f->as_telltale(), "WARN,prover=TRACE");
  EXPECT_EQ(under(f->as_telltale(), "hub"), level::warn);
}

}  // namespace

// The grammars of W3C Trace Context and Baggage: what is read, what is refused and in which words, what is written.
#include <gtest/gtest.h>

#include <telltale/core/propagation.hpp>

using telltale::baggage_member;
using telltale::parse_baggage;
using telltale::parse_traceparent;
using telltale::parse_tracestate;
using telltale::to_string;
using telltale::traceparent;
using telltale::tracestate_member;

namespace {

using state = std::vector<tracestate_member>;
using baggage = std::vector<baggage_member>;

const std::string trace = "0af7651916cd43dd8448eb211c80319c";
const std::string parent = "b7ad6b7169203331";
const traceparent read{{0x0af7651916cd43ddu, 0x8448eb211c80319cu}, {0xb7ad6b7169203331u}, 1};

template <class T>
std::string why_not(const telltale::result<T>& r) {
  return r ? "(it was read)" : r.error().message;
}

// --- traceparent ----------------------------------------------------------------------------------------------------

TEST(Traceparent, ReadsVersion00) {
  const auto t = parse_traceparent("00-" + trace + "-" + parent + "-01");
  ASSERT_TRUE(t) << why_not(t);
  EXPECT_EQ(*t, read);
  EXPECT_EQ(to_string(*t), "00-" + trace + "-" + parent + "-01");
  EXPECT_EQ(parse_traceparent("00-" + trace + "-" + parent + "-00")->flags, 0);
  EXPECT_EQ(parse_traceparent("00-" + trace + "-" + parent + "-ff")->flags, 0xff);
}

TEST(Traceparent, ReadsLaterVersionsAsFarAsItKnowsThem) {
  for (const std::string& text :
       {"cc-" + trace + "-" + parent + "-01", "cc-" + trace + "-" + parent + "-01-what-the-future-will-be-like",
        "01-" + trace + "-" + parent + "-01-", " \t00-" + trace + "-" + parent + "-01 "}) {
    const auto t = parse_traceparent(text);
    ASSERT_TRUE(t) << text << ": " << why_not(t);
    EXPECT_EQ(*t, read) << text;
  }
}

TEST(Traceparent, RefusesWhatTheSpecificationForbids) {
  const auto refused = [](const std::string& text, std::string_view because) {
    const auto t = parse_traceparent(text);
    EXPECT_FALSE(t) << text;
    EXPECT_NE(why_not(t).find(because), std::string::npos) << text << ": " << why_not(t);
  };
  const std::string rest = "-" + trace + "-" + parent + "-01";
  refused("", "fewer than 55");
  refused("00", "fewer than 55");
  refused("00-" + trace + "-" + parent, "fewer than 55");
  refused("00-" + trace + "-" + parent + "-0", "fewer than 55");
  refused("ff" + rest, "ff is forbidden");
  refused("00" + rest + "-", "exactly 55");
  refused("00" + rest + "-extra", "exactly 55");
  refused("00" + rest + ".", "exactly 55");
  refused("cc" + rest + "1", "without a dash");
  refused("cc" + rest + ".what", "without a dash");
  refused(".0" + rest, "hexadecimal");
  refused("0." + rest, "hexadecimal");
  refused("0X" + rest, "hexadecimal");
  refused("00-0AF7651916CD43DD8448EB211C80319C-" + parent + "-01", "hexadecimal");
  refused("00-" + trace + "-B7AD6B7169203331-01", "hexadecimal");
  refused("00-." + trace.substr(1) + "-" + parent + "-01", "hexadecimal");
  refused("00-" + trace + "-" + parent.substr(1) + ".-01", "hexadecimal");
  refused("00-" + trace + "-" + parent + "-.1", "hexadecimal");
  refused("00-" + trace + "-" + parent + "-0x", "hexadecimal");
  refused("00-00000000000000000000000000000000-" + parent + "-01", "trace id is zero");
  refused("00-" + trace + "-0000000000000000-01", "parent id is zero");
  refused("00_" + trace + "-" + parent + "-01", "dashes");
  refused("00-" + trace.substr(1) + "-" + parent + "-001", "dashes");
  refused("00-" + trace + "0-" + parent + "-01", "dashes");
}

TEST(Traceparent, WritesNothingWithoutIdsAndNoFlagItDoesNotKnow) {
  EXPECT_EQ(to_string(traceparent{{}, {1}, 1}), "");
  EXPECT_EQ(to_string(traceparent{{0, 1}, {}, 1}), "");
  EXPECT_EQ(to_string(traceparent{{0, 1}, {2}, 0xfe}), "00-00000000000000000000000000000001-0000000000000002-00");
  EXPECT_EQ(to_string(traceparent{{0, 1}, {2}, 0xff}), "00-00000000000000000000000000000001-0000000000000002-01");
}

// --- tracestate -----------------------------------------------------------------------------------------------------

TEST(Tracestate, ReadsMembersInTheirOrder) {
  const auto s = parse_tracestate("rojo=00f067aa0ba902b7,congo=t61rcWkgMzE");
  ASSERT_TRUE(s) << why_not(s);
  EXPECT_EQ(*s, (state{{"rojo", "00f067aa0ba902b7"}, {"congo", "t61rcWkgMzE"}}));
  EXPECT_EQ(to_string(*s), "rojo=00f067aa0ba902b7,congo=t61rcWkgMzE");
}

TEST(Tracestate, AllowsWhiteSpaceAndEmptyMembers) {
  EXPECT_EQ(*parse_tracestate(" foo=1 \t, \tbar=2, baz=3 "), (state{{"foo", "1"}, {"bar", "2"}, {"baz", "3"}}));
  EXPECT_EQ(*parse_tracestate("foo=1,"), (state{{"foo", "1"}}));
  EXPECT_EQ(*parse_tracestate(",,foo=1, ,bar=2"), (state{{"foo", "1"}, {"bar", "2"}}));
  EXPECT_EQ(*parse_tracestate(""), state{});
  EXPECT_EQ(*parse_tracestate("foo= a b"), (state{{"foo", " a b"}}));  // leading spaces belong to the value
}

TEST(Tracestate, KnowsTheGrammarOfKeys) {
  for (const std::string& key :
       {std::string("a"), std::string("a_-*/1"), std::string("foo@bar"), std::string("1a@b-c"), std::string("0@x"),
        "z" + std::string(255, 'z'), "t" + std::string(240, 't') + "@v" + std::string(13, 'v')}) {
    EXPECT_TRUE(parse_tracestate(key + "=1")) << key;
  }
  for (const std::string& key :
       {std::string(""), std::string("A"), std::string("foO"), std::string("1foo"), std::string("foo@"),
        std::string("@foo"), std::string("foo@@bar"), std::string("foo@bar@baz"), std::string("foo@1bar"),
        std::string("foo bar"), std::string("foo "), std::string("föö"), std::string("foo.bar"),
        "z" + std::string(256, 'z'), "t" + std::string(241, 't') + "@v", "t@v" + std::string(14, 'v')}) {
    EXPECT_FALSE(parse_tracestate(key + "=1")) << key;
  }
}

TEST(Tracestate, KnowsTheGrammarOfValues) {
  EXPECT_TRUE(parse_tracestate("foo=" + std::string(256, 'v')));
  EXPECT_TRUE(parse_tracestate("foo=!#$%&'()*+-./:;<>?@[]^_`{|}~\"\\"));
  for (const std::string& value : {std::string(""), std::string(257, 'v'), std::string("a=b"), std::string("b\x01"),
                                   std::string("tab\there"), std::string("\x7f"), std::string("ä")}) {
    EXPECT_FALSE(parse_tracestate("foo=" + value)) << value;
  }
  EXPECT_FALSE(parse_tracestate("foo"));
  EXPECT_FALSE(parse_tracestate("foo,bar=1"));
}

TEST(Tracestate, RefusesTooManyMembersAndAKeyTwice) {
  std::string all;
  for (int i = 0; i < 32; ++i) all += "k" + std::to_string(i) + "=1,";
  EXPECT_EQ(parse_tracestate(all)->size(), 32u);
  EXPECT_NE(why_not(parse_tracestate(all + "one=more")).find("more than 32"), std::string::npos);
  EXPECT_NE(why_not(parse_tracestate("foo=1,bar=2,foo=3")).find("twice"), std::string::npos);
  EXPECT_FALSE(parse_tracestate("foo=1,foo=1"));
}

TEST(Tracestate, ShortensWhatIsTooLongLargeMembersFirst) {
  const tracestate_member large{"large", std::string(200, 'l')};  // 206 characters
  state members{
      {"first", "1"}, large, {"b", std::string(120, 'b')}, {"c", std::string(120, 'c')}, {"d", std::string(120, 'd')}};
  EXPECT_EQ(to_string(members), "first=1,b=" + members[2].value + ",c=" + members[3].value + ",d=" + members[4].value);
  members.erase(members.begin() + 1);
  members.push_back({"e", std::string(120, 'e')});
  members.push_back({"f", "6"});
  const std::string shortened = to_string(members);
  EXPECT_EQ(shortened, "first=1,b=" + members[1].value + ",c=" + members[2].value + ",d=" + members[3].value +
                           ",e=" + members[4].value + ",f=6");
  EXPECT_LE(shortened.size(), 512u);
  members.push_back({"g", std::string(100, 'g')});
  EXPECT_EQ(to_string(members), shortened);  // the last goes
}

// --- baggage --------------------------------------------------------------------------------------------------------

TEST(Baggage, ReadsAndDecodes) {
  const auto b = parse_baggage("job_id=c1a0d8a5, module_id = m%201 ;ttl=5;hidden,user=J%C3%BCrgen%2C%20%22x%22");
  ASSERT_TRUE(b) << why_not(b);
  EXPECT_EQ(*b, (baggage{{"job_id", "c1a0d8a5"}, {"module_id", "m 1"}, {"user", "Jürgen, \"x\""}}));
  EXPECT_EQ(*parse_baggage("a=1,,b=,"), (baggage{{"a", "1"}, {"b", ""}}));
  EXPECT_EQ(*parse_baggage("a=1,b=2,a=3"), (baggage{{"a", "3"}, {"b", "2"}}));
  EXPECT_EQ(*parse_baggage("a=x=y"), (baggage{{"a", "x=y"}}));
  EXPECT_EQ(*parse_baggage(""), baggage{});
}

TEST(Baggage, KeepsWhatIsNoEscapeAndReplacesWhatIsNoUtf8) {
  EXPECT_EQ(*parse_baggage("a=100%,b=%4,c=%zz,d=%41"), (baggage{{"a", "100%"}, {"b", "%4"}, {"c", "%zz"}, {"d", "A"}}));
  EXPECT_EQ(*parse_baggage("a=%ff%C3"), (baggage{{"a", "\ufffd\ufffd"}}));
}

TEST(Baggage, RefusesWhatTheGrammarForbids) {
  for (const char* text : {"a", "=1", "a b=1", "ä=1", "a=b c", "a=\"x\"", "a=b\\c", "a=ä", "a=1;=2", "a=1;b=c d",
                           "a=1;;b", "a=\x01", "(a)=1"}) {
    EXPECT_FALSE(parse_baggage(text)) << text;
  }
}

TEST(Baggage, HasLimits) {
  std::string members;
  for (int i = 0; i < 180; ++i) members += "k" + std::to_string(i) + "=1,";
  EXPECT_EQ(parse_baggage(members)->size(), 180u);
  EXPECT_NE(why_not(parse_baggage(members + "one=more")).find("180"), std::string::npos);
  EXPECT_TRUE(parse_baggage("a=" + std::string(8190, 'x')));
  EXPECT_NE(why_not(parse_baggage("a=" + std::string(8191, 'x'))).find("8192"), std::string::npos);

  baggage many;
  for (int i = 0; i < 200; ++i) many.push_back({"k" + std::to_string(i), "v"});
  EXPECT_EQ(parse_baggage(to_string(many))->size(), 180u);
  EXPECT_EQ(to_string(baggage{{"a", "1"}, {"big", std::string(9000, 'x')}, {"b", "2"}}), "a=1,b=2");
}

TEST(Baggage, WritesWhatItReadsBack) {
  const baggage all{{"job_id", "a,b;c=d\"e\\f%20 ü\n"}, {"empty", ""}, {"not a token", "x"}};
  const std::string text = to_string(all);
  EXPECT_EQ(text, "job_id=a%2Cb%3Bc=d%22e%5Cf%2520%20%C3%BC%0A,empty=");
  EXPECT_EQ(*parse_baggage(text), (baggage{all[0], all[1]}));
}

}  // namespace

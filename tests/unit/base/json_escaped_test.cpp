// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include "rpcrdma/base/log_format.hpp"

namespace rpcrdma {
namespace {

const std::string kReplaced = "\xef\xbf\xbd";

TEST(JsonEscaped, Quotes) { EXPECT_EQ(json_escaped(R"(a "b" \c)"), R"(a \"b\" \\c)"); }

TEST(JsonEscaped, ControlCharacters) {
  EXPECT_EQ(json_escaped(std::string_view("a\n\t\0\x1f\x7f", 6)), R"(a\u000a\u0009\u0000\u001f\u007f)");
}

TEST(JsonEscaped, Utf8IsKept) {
  for (const char* text :
       {"", "plain", "\xc3\xa9", "\xe2\x82\xac", "\xf0\x9f\x98\x80", "\xed\x9f\xbf", "\xf4\x8f\xbf\xbf"})
    EXPECT_EQ(json_escaped(text), text);
}

TEST(JsonEscaped, OtherBytesAreReplaced) {
  EXPECT_EQ(json_escaped("a\xff"
                         "b"),
            "a" + kReplaced + "b");
  EXPECT_EQ(json_escaped("\x80"), kReplaced);
  EXPECT_EQ(json_escaped("\xc3"), kReplaced);                                   // a truncated sequence
  EXPECT_EQ(json_escaped("\xc0\xaf"), kReplaced + kReplaced);                   // an overlong encoding
  EXPECT_EQ(json_escaped("\xe0\x80\x80"), kReplaced + kReplaced + kReplaced);   // an overlong encoding
  EXPECT_EQ(json_escaped("\xed\xa0\x80"), kReplaced + kReplaced + kReplaced);   // a surrogate
  EXPECT_EQ(json_escaped("\xf4\x90\x80\x80").size(), 4 * kReplaced.size());     // beyond U+10FFFF
  EXPECT_EQ(json_escaped("\xe2\x82\"").substr(2 * kReplaced.size()), R"(\")");  // truncated: the quote stays
}

TEST(LogFormat, Parse) {
  LogFormat format = LogFormat::text;
  EXPECT_TRUE(parse_log_format("json", format));
  EXPECT_EQ(format, LogFormat::json);
  EXPECT_TRUE(parse_log_format("text", format));
  EXPECT_EQ(format, LogFormat::text);
  EXPECT_FALSE(parse_log_format("xml", format));
}

}  // namespace
}  // namespace rpcrdma

// SPDX-License-Identifier: BSD-3-Clause
#include "rpcrdma/nfs/url.hpp"

#include <gmock/gmock.h>

namespace rpcrdma::nfs {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

TEST(Url, TakesHostPortAndPath) {
  const auto url = parse_url("nfs://server.example:20050/export/some/file");
  ASSERT_TRUE(url);
  EXPECT_EQ(url->host, "server.example");
  EXPECT_EQ(url->port, 20050);
  EXPECT_THAT(url->path, ElementsAre("export", "some", "file"));
}

// [8267-6.3-b]
TEST(Url, PortIs20049UnlessGiven) {
  const auto url = parse_url("nfs://server/export");
  ASSERT_TRUE(url);
  EXPECT_EQ(url->port, 20049);
}

TEST(Url, TakesIpv6InBrackets) {
  const auto plain = parse_url("nfs://[::1]/export");
  ASSERT_TRUE(plain);
  EXPECT_EQ(plain->host, "::1");
  EXPECT_EQ(plain->port, kDefaultPort);
  const auto port = parse_url("nfs://[fe80::1]:7/export");
  ASSERT_TRUE(port);
  EXPECT_EQ(port->host, "fe80::1");
  EXPECT_EQ(port->port, 7);
}

TEST(Url, UnescapesComponents) {
  const auto url = parse_url("nfs://h/a%20b/%25/%C3%A4");
  ASSERT_TRUE(url);
  EXPECT_THAT(url->path, ElementsAre("a b", "%", "\xc3\xa4"));
}

TEST(Url, DropsEmptyAndDotComponents) {
  const auto url = parse_url("nfs://h//a/./b/");
  ASSERT_TRUE(url);
  EXPECT_THAT(url->path, ElementsAre("a", "b"));
  const auto bare = parse_url("nfs://h");
  ASSERT_TRUE(bare);
  EXPECT_THAT(bare->path, IsEmpty());
}

TEST(Url, ErrorsNameTheCause) {
  const auto why = [](std::string_view text) {
    const auto url = parse_url(text);
    return url ? std::string("accepted") : url.error().why;
  };
  EXPECT_THAT(why("http://h/a"), HasSubstr("nfs://HOST"));
  EXPECT_THAT(why("/local/file"), HasSubstr("nfs://HOST"));
  EXPECT_THAT(why("nfs:///a"), HasSubstr("host"));
  EXPECT_THAT(why("nfs://:20049/a"), HasSubstr("host"));
  EXPECT_THAT(why("nfs://h:/a"), HasSubstr("port"));
  EXPECT_THAT(why("nfs://h:0/a"), HasSubstr("port"));
  EXPECT_THAT(why("nfs://h:65536/a"), HasSubstr("port"));
  EXPECT_THAT(why("nfs://h:12x/a"), HasSubstr("port"));
  EXPECT_THAT(why("nfs://::1/a"), HasSubstr("brackets"));
  EXPECT_THAT(why("nfs://[::1/a"), HasSubstr("]"));
  EXPECT_THAT(why("nfs://[::1]x/a"), HasSubstr("PORT"));
  EXPECT_THAT(why("nfs://h/a%2"), HasSubstr("hexadecimal"));
  EXPECT_THAT(why("nfs://h/a%zz"), HasSubstr("hexadecimal"));
  EXPECT_THAT(why("nfs://h/a%2Fb"), HasSubstr("'/'"));
  EXPECT_THAT(why("nfs://h/a%00b"), HasSubstr("zero"));
  EXPECT_THAT(why(std::string_view("nfs://h/a\0b", 11)), HasSubstr("zero"));
  EXPECT_THAT(why(std::string_view("nfs://h\0/a", 10)), HasSubstr("a host cannot hold"));
  EXPECT_THAT(why("nfs://[[x]/a"), HasSubstr("a host cannot hold"));
  EXPECT_THAT(why("nfs://h]/a"), HasSubstr("a host cannot hold"));
  EXPECT_THAT(why("nfs://h/a/../b"), HasSubstr(".."));
  EXPECT_THAT(why("nfs://h/a/%2e%2e/b"), HasSubstr(".."));
}

TEST(Url, TextParsesToTheSame) {
  for (const std::string text : {"nfs://h/a", "nfs://h:7/a/b%20c", "nfs://[::1]:9/%25x", "nfs://h/"}) {
    const auto url = parse_url(text);
    ASSERT_TRUE(url) << text;
    EXPECT_EQ(url->text(), text);
  }
  EXPECT_EQ(parse_url("nfs://h/a")->child("b c").text(), "nfs://h/a/b%20c");
}

TEST(Url, HostAlone) {
  EXPECT_EQ(parse_host("h:9")->port, 9);
  EXPECT_EQ(parse_host("[::1]")->host, "::1");
  EXPECT_FALSE(parse_host(""));
}

}  // namespace
}  // namespace rpcrdma::nfs

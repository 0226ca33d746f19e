// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include "rpcrdma/capture/capture.hpp"

namespace rpcrdma::capture {
namespace {

using boost::asio::ip::make_address;

std::string refusal(std::string_view text) {
  const auto parsed = parse_capture(text);
  return parsed ? "accepted" : parsed.error().why;
}

TEST(CaptureOptions, File) {
  const auto parsed = parse_capture("/tmp/a.pcapng");
  ASSERT_TRUE(parsed);
  EXPECT_EQ(parsed->file, "/tmp/a.pcapng");
  EXPECT_EQ(parsed->size, 0u);
  EXPECT_EQ(parsed->snap, kWhole);
  EXPECT_FALSE(parsed->peer);
  EXPECT_FALSE(parsed->stopped);
}

TEST(CaptureOptions, All) {
  const auto parsed = parse_capture("a,size=2M,files=7,snap=256,peer=192.0.2.0/24,stopped");
  ASSERT_TRUE(parsed);
  EXPECT_EQ(parsed->file, "a");
  EXPECT_EQ(parsed->size, 2u << 20);
  EXPECT_EQ(parsed->files, 7u);
  EXPECT_EQ(parsed->snap, 256u);
  EXPECT_TRUE(parsed->peer->contains(make_address("192.0.2.255")));
  EXPECT_TRUE(parsed->stopped);
}

TEST(CaptureOptions, Refused) {
  EXPECT_EQ(refusal(""), "the name of the file is missing");
  EXPECT_EQ(refusal(",snap=200"), "the name of the file is missing");
  for (const char* option : {"", "snap", "colour=1", "stopped=1", "Size=70000"})
    EXPECT_EQ(refusal("a," + std::string(option)), "unknown option: '" + std::string(option) + "'");
  for (const char* option :
       {"snap=", "snap=x", "snap=-1", "snap=128b", "size=65535", "size=1T", "size=99999999999G", "files=0",
        "files=1001", "peer=", "peer=host", "peer=192.0.2.0/33", "peer=::1/129", "peer=192.0.2.0/", "peer=1.2.3.4/-1"})
    EXPECT_EQ(refusal("a," + std::string(option)), "wrong value: '" + std::string(option) + "'");
  EXPECT_EQ(refusal("a,snap=0"), "accepted");
}

TEST(CaptureOptions, AddressRange) {
  const AddressRange four{make_address("10.1.2.0"), 23};
  EXPECT_TRUE(four.contains(make_address("10.1.3.9")));
  EXPECT_FALSE(four.contains(make_address("10.1.4.0")));
  EXPECT_TRUE(four.contains(make_address("::ffff:10.1.2.1")));
  EXPECT_FALSE(four.contains(make_address("::ffff:10.1.4.1")));
  EXPECT_FALSE(four.contains(make_address("2001:db8::1")));
  const AddressRange six{make_address("2001:db8::"), 127};
  EXPECT_TRUE(six.contains(make_address("2001:db8::1")));
  EXPECT_FALSE(six.contains(make_address("2001:db8::2")));
  EXPECT_FALSE(six.contains(make_address("10.1.2.1")));
  EXPECT_TRUE((AddressRange{make_address("0.0.0.0"), 0}.contains(make_address("255.0.0.1"))));
}

}  // namespace
}  // namespace rpcrdma::capture

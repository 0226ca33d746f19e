// SPDX-License-Identifier: BSD-3-Clause
#include "rpcbind_entries.hpp"

#include <gtest/gtest.h>

#include "rpcrdma/nfsd/program/options.hpp"

namespace rpcrdma::nfsd {
namespace {

/// Calls rpcbind_entries() for listeners at the given endpoints. Returns the entries of the NFS program, each as
/// "NETID ADDRESS". The test fails if the entries of the MOUNT program are not the same.
std::vector<std::string> told(std::vector<const char*> tcp, std::vector<const char*> rdma) {
  std::vector<boost::asio::ip::tcp::endpoint> ends[2];
  for (const char* text : tcp) ends[0].push_back(*parse_endpoint(text));
  for (const char* text : rdma) ends[1].push_back(*parse_endpoint(text));
  std::vector<std::string> seen[2];
  for (const rpc::RpcbindEntry& e : rpcbind_entries(ends[0], ends[1])) {
    EXPECT_EQ(e.version, 3u);
    EXPECT_TRUE(e.program == 100003 || e.program == 100005) << e.program;
    seen[e.program == 100003 ? 0 : 1].push_back(e.netid + " " + e.address);
  }
  EXPECT_EQ(seen[0], seen[1]);
  return seen[0];
}

using Lines = std::vector<std::string>;

// [8166-9-a] [8267-4.2-a]
TEST(Rpcbind, EachKindOfListener) {
  EXPECT_EQ(told({"192.0.2.1:2049", "[2001:db8::1]:2050"}, {"192.0.2.1:20049", "[::1]:20050"}),
            (Lines{"tcp 192.0.2.1.8.1", "tcp6 2001:db8::1.8.2", "rdma 192.0.2.1.78.81", "rdma6 ::1.78.82"}));
  EXPECT_EQ(told({}, {"127.0.0.1:20049"}), Lines{"rdma 127.0.0.1.78.81"});
}

TEST(Rpcbind, TheFirstOfEachKind) {
  EXPECT_EQ(told({"127.0.0.1:1", "127.0.0.2:2"}, {"127.0.0.1:3"}), (Lines{"tcp 127.0.0.1.0.1", "rdma 127.0.0.1.0.3"}));
}

TEST(Rpcbind, BothFamiliesOnOneWildcard) {
  EXPECT_EQ(told({}, {"[::]:20049"}), Lines{"rdma6 ::.78.81"}) << "an RDMA listener has one address family";
  EXPECT_EQ(told({"[::]:2049"}, {}), (Lines{"tcp 0.0.0.0.8.1", "tcp6 ::.8.1"}));
  EXPECT_EQ(told({"[::]:2049", "127.0.0.1:7"}, {}), (Lines{"tcp 127.0.0.1.0.7", "tcp6 ::.8.1"}));
  EXPECT_EQ(told({"[2001:db8::1]:7", "[::]:2049"}, {}), (Lines{"tcp 0.0.0.0.8.1", "tcp6 2001:db8::1.0.7"}));
}

}  // namespace
}  // namespace rpcrdma::nfsd

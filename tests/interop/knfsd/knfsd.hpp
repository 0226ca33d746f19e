// SPDX-License-Identifier: BSD-3-Clause
#pragma once
// The peer of these tests: the NFS server of the Linux kernel on this machine. Environment variables describe the
// server. It listens at the address RPCRDMA_TEST_VERBS_ADDRESS and the port RPCRDMA_TEST_PORT. It exports the folder
// RPCRDMA_TEST_EXPORT as its root, with fsid=0. The folder contains a file `numbers` of at least 64 KiB.
#include <cstdlib>

#include "interop/fabric/verbs_bed.hpp"

namespace rpcrdma::test {

constexpr const char* kRootHandle = "0100010000000000";

inline std::uint16_t knfsd_port() { return static_cast<std::uint16_t>(std::atoi(std::getenv("RPCRDMA_TEST_PORT"))); }
inline fabric::Endpoint knfsd() { return {boost::asio::ip::make_address(verbs_address()), knfsd_port()}; }

}  // namespace rpcrdma::test

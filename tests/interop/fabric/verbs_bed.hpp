// SPDX-License-Identifier: BSD-3-Clause
#pragma once
// Two verbs fabrics on the device at the address in the environment variable RPCRDMA_TEST_VERBS_ADDRESS.
#include "rpcrdma/fabric/verbs/verbs.hpp"
#include "support/fabric_conformance.hpp"

namespace rpcrdma::test {

/// Returns the Verbs object that all tests of this process share, because a process may have only one.
fabric::Verbs& verbs_provider();
/// The device's address; null if there is no device to test.
const char* verbs_address();
std::unique_ptr<fabric::Fabric> open_at_device(boost::asio::io_context& context);
/// Warnings on standard error; all levels if RPCRDMA_TEST_LOG is set.
std::shared_ptr<LogSink> test_sink();
std::unique_ptr<fabric::Fabric> open_at_device(boost::asio::io_context& context, const char* address,
                                               fabric::VerbsOptions options,
                                               std::shared_ptr<LogSink> sink = test_sink());
/// The beds for the tests; empty if there is no device.
std::vector<BedFactory> verbs_beds();
constexpr std::chrono::seconds kProbing{1};
/// Like verbs_beds(), with kProbing as the keepalive time.
std::vector<BedFactory> probing_beds();
/// Whether RPCRDMA_TEST_IWARP is set. On iWARP a Send or Write completes when it is sent, so the sender might not learn
/// that the peer refused it.
bool on_iwarp();

}  // namespace rpcrdma::test

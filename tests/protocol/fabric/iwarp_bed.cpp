// SPDX-License-Identifier: BSD-3-Clause
#include "rpcrdma/fabric/iwarp/iwarp.hpp"
#include "support/fabric_conformance.hpp"

namespace rpcrdma::test {
namespace {

struct IwarpBed : Bed {
  explicit IwarpBed(fabric::IwarpOptions options)
      : enhanced(options.enhanced),
        server_fabric(std::move(*fabric::open_iwarp(context, patient(options), Log{}))),
        client_fabric(std::move(*fabric::open_iwarp(context, patient(options), Log{}))) {}
  /// Sets a time limit that is long enough even on a busy machine.
  static fabric::IwarpOptions& patient(fabric::IwarpOptions& options) {
    options.request_timeout = std::chrono::minutes(5);
    return options;
  }
  fabric::Fabric& server() override { return *server_fabric; }
  fabric::Fabric& client() override { return *client_fabric; }

  bool negotiates_depths() const override { return enhanced; }

  bool enhanced;
  std::unique_ptr<fabric::Fabric> server_fabric;
  std::unique_ptr<fabric::Fabric> client_fabric;
};

std::unique_ptr<Bed> plain() { return std::make_unique<IwarpBed>(fabric::IwarpOptions{.crc = false}); }
std::unique_ptr<Bed> with_crc() { return std::make_unique<IwarpBed>(fabric::IwarpOptions{.crc = true}); }
/// Returns a bed that uses markers, and frames that fit an Ethernet packet.
std::unique_ptr<Bed> with_markers() {
  fabric::IwarpOptions options;
  options.crc = true;
  options.max_ulpdu = 1442;
  options.request_markers = true;
  return std::make_unique<IwarpBed>(options);
}
std::unique_ptr<Bed> revision_1() {
  fabric::IwarpOptions options;
  options.crc = true;
  options.enhanced = false;
  return std::make_unique<IwarpBed>(options);
}
std::unique_ptr<Bed> peer_to_peer() {
  fabric::IwarpOptions options;
  options.peer_to_peer = true;
  return std::make_unique<IwarpBed>(options);
}

}  // namespace

FABRIC_CONFORMANCE(Iwarp, BedFactory({"plain", plain}), BedFactory({"crc", with_crc}),
                   BedFactory({"markers", with_markers}), BedFactory({"revision_1", revision_1}),
                   BedFactory({"peer_to_peer", peer_to_peer}));

}  // namespace rpcrdma::test

// SPDX-License-Identifier: BSD-3-Clause
// Runs the conformance tests on a captured fabric: the capture does not change the behaviour of the fabric.
#include <filesystem>

#include "rpcrdma/capture/capture.hpp"
#include "rpcrdma/fabric/iwarp/iwarp.hpp"
#include "rpcrdma/fabric/loopback/loopback.hpp"
#include "support/fabric_conformance.hpp"

namespace rpcrdma::test {
namespace {

/// Makes a folder for the capture files.
std::filesystem::path make_folder() {
  std::string name = (std::filesystem::temp_directory_path() / "rpcrdma-captured-XXXXXX").string();
  if (::mkdtemp(name.data()) == nullptr) throw std::system_error(errno, std::generic_category(), name);
  return name;
}

struct CapturedBed : Bed {
  ~CapturedBed() override {
    capture->close();
    std::filesystem::remove_all(folder);
  }
  fabric::Fabric& server() override { return *server_fabric; }
  fabric::Fabric& client() override { return *client_fabric; }

  std::filesystem::path folder = make_folder();
  std::shared_ptr<capture::Capture> capture =
      std::move(*capture::Capture::open({.file = folder / "trace.pcapng"}, Log{}));
  std::unique_ptr<fabric::Fabric> server_fabric;
  std::unique_ptr<fabric::Fabric> client_fabric;
};

std::unique_ptr<Bed> captured_iwarp() {
  fabric::IwarpOptions options;
  options.request_timeout = std::chrono::minutes(5);
  auto bed = std::make_unique<CapturedBed>();
  bed->server_fabric = bed->capture->wrap(std::move(*fabric::open_iwarp(bed->context, options, Log{})));
  bed->client_fabric = bed->capture->wrap(std::move(*fabric::open_iwarp(bed->context, options, Log{})));
  return bed;
}

struct CapturedLoopbackBed final : CapturedBed {
  CapturedLoopbackBed() : network(context, {}) {
    server_fabric = capture->wrap(network.make_fabric("server"));
    client_fabric = capture->wrap(network.make_fabric("client"));
  }
  ~CapturedLoopbackBed() override {
    server_fabric.reset();
    client_fabric.reset();
  }
  fabric::LoopbackNetwork network;
};

std::unique_ptr<Bed> captured_loopback() { return std::make_unique<CapturedLoopbackBed>(); }

}  // namespace

FABRIC_CONFORMANCE(Captured, BedFactory({"iwarp", captured_iwarp}), BedFactory({"loopback", captured_loopback}));

}  // namespace rpcrdma::test

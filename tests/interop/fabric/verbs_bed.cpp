// SPDX-License-Identifier: BSD-3-Clause
#include "interop/fabric/verbs_bed.hpp"

#include <cstdlib>

namespace rpcrdma::test {
namespace {

struct VerbsBed : Bed {
  explicit VerbsBed(fabric::VerbsOptions options)
      : server_fabric(open_at_device(context, verbs_address(), options)),
        client_fabric(open_at_device(context, verbs_address(), options)) {}
  fabric::Fabric& server() override { return *server_fabric; }
  fabric::Fabric& client() override { return *client_fabric; }
  fabric::Endpoint address() const override { return {boost::asio::ip::make_address(verbs_address()), 0}; }
  bool aborts_are_seen() const override { return false; }

  std::unique_ptr<fabric::Fabric> server_fabric;
  std::unique_ptr<fabric::Fabric> client_fabric;
};

std::unique_ptr<Bed> verbs() { return std::make_unique<VerbsBed>(fabric::VerbsOptions{}); }
std::unique_ptr<Bed> probing() { return std::make_unique<VerbsBed>(fabric::VerbsOptions{.keepalive = kProbing}); }

}  // namespace

const char* verbs_address() { return std::getenv("RPCRDMA_TEST_VERBS_ADDRESS"); }

fabric::Verbs& verbs_provider() {
  static fabric::Verbs verbs;
  return verbs;
}

std::unique_ptr<fabric::Fabric> open_at_device(boost::asio::io_context& context) {
  return open_at_device(context, verbs_address(), {});
}

std::shared_ptr<LogSink> test_sink() {
  return make_stderr_sink(std::getenv("RPCRDMA_TEST_LOG") != nullptr ? LogLevel::trace : LogLevel::warn, "test");
}

std::unique_ptr<fabric::Fabric> open_at_device(boost::asio::io_context& context, const char* address,
                                               fabric::VerbsOptions options, std::shared_ptr<LogSink> sink) {
  auto opened = verbs_provider().open(context, boost::asio::ip::make_address(address), options, Log(std::move(sink)));
  if (!opened) throw std::runtime_error("Verbs::open: " + opened.error().message());
  return std::move(*opened);
}

bool on_iwarp() { return std::getenv("RPCRDMA_TEST_IWARP") != nullptr; }

std::vector<BedFactory> verbs_beds() {
  if (verbs_address() == nullptr) return {};
  return {{"verbs", verbs}};
}

std::vector<BedFactory> probing_beds() {
  if (verbs_address() == nullptr) return {};
  return {{"probing", probing}};
}

}  // namespace rpcrdma::test

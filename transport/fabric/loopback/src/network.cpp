// SPDX-License-Identifier: BSD-3-Clause
#include <fmt/format.h>

#include "core.hpp"
#include "fabric.hpp"
#include "rpcrdma/fabric/loopback/loopback.hpp"

namespace rpcrdma::fabric {

LoopbackNetwork::LoopbackNetwork(boost::asio::io_context& context, LoopbackOptions options)
    : core_(std::make_shared<loopback::Core>(context, options)) {}

LoopbackNetwork::~LoopbackNetwork() = default;

Capabilities LoopbackNetwork::default_capabilities() noexcept {
  Capabilities out;
  out.name = "loopback";
  out.max_gather = 16;
  out.max_read_depth = 64;
  out.max_message = 1u << 30;
  out.remote_invalidation = true;
  out.exact_window_bounds = true;
  return out;
}

std::unique_ptr<LoopbackFabric> LoopbackNetwork::make_fabric(std::string label, Capabilities capabilities) {
  return std::make_unique<loopback::FabricImpl>(core_, std::move(label), capabilities);
}

void LoopbackNetwork::set_max_delay(std::uint32_t turns) noexcept { core_->options().max_delay = turns; }
void LoopbackNetwork::pause(LoopbackPause where) { core_->pause(where); }
void LoopbackNetwork::drop_connection_after(std::uint64_t frames) noexcept { core_->drop_after(frames); }
std::uint64_t LoopbackNetwork::overruns() const noexcept { return core_->overruns(); }
std::uint64_t LoopbackNetwork::frames() const noexcept { return core_->frames(); }
void LoopbackNetwork::start_trace() { core_->start_trace(); }
const std::vector<LoopbackTraceEntry>& LoopbackNetwork::trace() const noexcept { return core_->trace(); }

std::vector<std::string> LoopbackNetwork::take_trace_text() {
  std::vector<std::string> out;
  for (const LoopbackTraceEntry& entry : core_->trace()) out.push_back(entry.text());
  core_->start_trace();
  return out;
}

std::string LoopbackTraceEntry::text() const {
  switch (kind) {
    case Kind::send: return fmt::format("{} send {}{}", from, length, invalidate ? " invalidate" : "");
    case Kind::write: return fmt::format("{} write {}", from, length);
    case Kind::read_request: return fmt::format("{} read {}", from, length);
    case Kind::read_response: return fmt::format("{} response {}", from, length);
    case Kind::close: return fmt::format("{} close", from);
  }
  return {};
}

}  // namespace rpcrdma::fabric

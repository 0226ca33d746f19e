// SPDX-License-Identifier: BSD-3-Clause
#include "fabric_state.hpp"

#include "window.hpp"

namespace rpcrdma::fabric::loopback {
namespace {

error_code usual_error(LoopbackOperation operation) noexcept {
  switch (operation) {
    case LoopbackOperation::connect:
    case LoopbackOperation::accept: return FabricError::handshake_failed;
    case LoopbackOperation::completion: return FabricError::protocol_violation;
    default: return BaseError::out_of_memory;
  }
}

bool covers(const MutableOctets& region, const BufferRef& buffer) noexcept {
  if (buffer.data < region.data() || buffer.data > region.data() + region.size()) return false;
  const auto offset = static_cast<std::size_t>(buffer.data - region.data());
  return buffer.size <= region.size() - offset;
}

}  // namespace

error_code Faults::next(LoopbackOperation operation) noexcept {
  ++counts_[static_cast<std::size_t>(operation)];
  ++counts_[static_cast<std::size_t>(LoopbackOperation::any)];
  for (auto at = armed_.begin(); at != armed_.end(); ++at) {
    if (at->operation != operation && at->operation != LoopbackOperation::any) continue;
    if (count(at->operation) != at->at) continue;
    const error_code error = at->error ? at->error : usual_error(operation);
    armed_.erase(at);
    return error;
  }
  return {};
}

void FabricState::enlist(const std::shared_ptr<WindowState>& window) {
  std::erase_if(windows, [](const std::weak_ptr<WindowState>& one) { return one.expired(); });
  windows.push_back(window);
}

std::vector<LoopbackExposure> FabricState::exposures() const {
  std::vector<LoopbackExposure> out;
  for (const auto& one : windows) {
    const auto window = one.lock();
    if (window && (window->bound || window->pins != 0)) out.push_back({window->segment.handle, window->memory});
  }
  return out;
}

const MutableOctets* FabricState::region_of(const BufferRef& buffer) const noexcept {
  const auto found = regions.find(buffer.local_key);
  return found != regions.end() && covers(found->second, buffer) ? &found->second : nullptr;
}

const MutableOctets* FabricState::region_around(const BufferRef& buffer) const noexcept {
  if (const MutableOctets* region = region_of(buffer)) return region;
  for (const auto& [key, region] : regions)
    if (covers(region, buffer)) return &region;
  return nullptr;
}

}  // namespace rpcrdma::fabric::loopback

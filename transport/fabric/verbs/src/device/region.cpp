// SPDX-License-Identifier: BSD-3-Clause
#include "device/region.hpp"

#include <limits>

#include "error.hpp"

namespace rpcrdma::fabric::verbs {

Result<std::unique_ptr<MemoryRegion>> VerbsRegion::make(std::shared_ptr<Device> device, std::span<std::byte> memory) {
  if (memory.empty() || memory.size() > std::numeric_limits<std::uint32_t>::max()) return BaseError::invalid_argument;
  const auto key = device->add(memory);
  if (!key) return key.error();
  return std::make_unique<VerbsRegion>(std::move(device),
                                       BufferRef{memory.data(), static_cast<std::uint32_t>(memory.size()), *key});
}

VerbsRegion::VerbsRegion(std::shared_ptr<Device> device, BufferRef buffer) noexcept
    : device_(std::move(device)), buffer_(buffer) {}

}  // namespace rpcrdma::fabric::verbs

// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include "device/device.hpp"

namespace rpcrdma::fabric::verbs {

/// A registration without remote rights, from which windows may be bound.
class VerbsRegion final : public MemoryRegion {
 public:
  static Result<std::unique_ptr<MemoryRegion>> make(std::shared_ptr<Device> device, std::span<std::byte> memory);
  VerbsRegion(std::shared_ptr<Device> device, BufferRef buffer) noexcept;
  ~VerbsRegion() override { device_->remove(buffer_.local_key); }

  BufferRef buffer() const noexcept override { return buffer_; }

 private:
  std::shared_ptr<Device> device_;
  BufferRef buffer_;
};

}  // namespace rpcrdma::fabric::verbs

// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include "device.hpp"

namespace rpcrdma::fabric::verbs {

/// A registration without remote rights, from which windows may be bound.
class VerbsRegion final : public MemoryRegion {
 public:
  static Result<std::unique_ptr<MemoryRegion>> make(std::shared_ptr<Device> device, std::span<std::byte> memory,
                                                    const Log& log);
  VerbsRegion(std::shared_ptr<Device> device, ibv_mr* registration, const Log& log);
  ~VerbsRegion() override;

  BufferRef buffer() const noexcept override;

 private:
  std::shared_ptr<Device> device_;
  ibv_mr* registration_;  // not a Registration: giving it back may fail, and that must be said
  Log log_;
};

}  // namespace rpcrdma::fabric::verbs

// SPDX-License-Identifier: BSD-3-Clause
#include "region.hpp"

#include <cerrno>
#include <limits>

#include "error.hpp"

namespace rpcrdma::fabric::verbs {

Result<std::unique_ptr<MemoryRegion>> VerbsRegion::make(std::shared_ptr<Device> device, std::span<std::byte> memory,
                                                        const Log& log) {
  if (memory.empty() || memory.size() > std::numeric_limits<std::uint32_t>::max()) return BaseError::invalid_argument;
  int access = IBV_ACCESS_LOCAL_WRITE;
  if (device->limits().windows) access |= IBV_ACCESS_MW_BIND;
  if (device->limits().remote_writable_sinks) access |= IBV_ACCESS_REMOTE_WRITE;
  ibv_mr* registration = ibv_reg_mr(device->domain(), memory.data(), memory.size(), access);
  if (registration == nullptr) {
    const error_code error = last_error();
    if (error.value() == ENOMEM)
      log.warn("verbs: {} octets do not fit the limit of locked memory (ulimit -l)", memory.size());
    return error;
  }
  return std::make_unique<VerbsRegion>(std::move(device), registration, log);
}

VerbsRegion::VerbsRegion(std::shared_ptr<Device> device, ibv_mr* registration, const Log& log)
    : device_(std::move(device)), registration_(registration), log_(log) {
  device_->add(registration_);
}

VerbsRegion::~VerbsRegion() {
  device_->remove(registration_);
  if (const int error = ibv_dereg_mr(registration_); error != 0)
    log_.error("verbs: memory stays registered, a window is still bound to it: {}", system_error(error).message());
}

BufferRef VerbsRegion::buffer() const noexcept {
  return {static_cast<std::byte*>(registration_->addr), static_cast<std::uint32_t>(registration_->length),
          registration_->lkey};
}

}  // namespace rpcrdma::fabric::verbs

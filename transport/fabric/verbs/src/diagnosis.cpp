// SPDX-License-Identifier: BSD-3-Clause
// librdmacm reports ENODEV in three cases: the kernel has no such device, the device's file cannot be opened, or
// libibverbs has no driver for the device.
#include "diagnosis.hpp"

#include <unistd.h>

#include <filesystem>
#include <string>

#include "rpcrdma/fabric/error.hpp"

namespace rpcrdma::fabric::verbs {
namespace {

constexpr const char* kKernelsDevices = "/sys/class/infiniband_verbs";
constexpr std::string_view kDevice = "uverbs";

struct DeviceFiles {
  bool any = false;
  bool all_open = true;  // this process may open every device file
};

DeviceFiles list_device_files() {
  DeviceFiles files;
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator(kKernelsDevices, ignored)) {
    const std::string name = entry.path().filename();
    if (!name.starts_with(kDevice)) continue;
    files.any = true;
    if (::access(("/dev/infiniband/" + name).c_str(), R_OK | W_OK) != 0) files.all_open = false;
  }
  return files;
}

}  // namespace

error_code why_no_device(rdma_cm_id* id) noexcept {
  // An id without a local address is not bound: the kernel has no device for the address. If the kernel has bound the
  // id, the id has an address, even if librdmacm could not open the device.
  if (id != nullptr && rdma_get_local_addr(id)->sa_family == AF_UNSPEC) return FabricError::no_device;
  const DeviceFiles files = list_device_files();
  if (!files.any) return FabricError::no_device;
  return files.all_open ? FabricError::no_driver : FabricError::device_closed;
}

}  // namespace rpcrdma::fabric::verbs

// SPDX-License-Identifier: BSD-3-Clause
#include "rpcrdma/fabric/error.hpp"

#include <cstdint>
#include <string>

namespace rpcrdma::fabric {
namespace {

/// The category is identified by number: a plug-in may contain a copy of it, and an error of the copy must compare
/// equal to the same error of the original.
constexpr std::uint64_t kCategoryId = 0x7270'6372'646d'6103;

class FabricCategory final : public boost::system::error_category {
 public:
  FabricCategory() noexcept : error_category(kCategoryId) {}
  const char* name() const noexcept override { return "rpcrdma.fabric"; }
  std::string message(int value) const override {
    switch (static_cast<FabricError>(value)) {
      case FabricError::flushed: return "connection ended before the operation completed";
      case FabricError::rejected: return "connection rejected by the peer";
      case FabricError::handshake_failed: return "peer does not speak RDMA on this port";
      case FabricError::handshake_timeout: return "peer did not answer the connection request";
      case FabricError::too_many_reads: return "peer requires more outstanding RDMA Reads than this side supports";
      case FabricError::remote_access: return "peer refused access to its memory";
      case FabricError::remote_terminated: return "peer terminated the connection";
      case FabricError::protocol_violation: return "peer violated the fabric protocol";
      case FabricError::message_too_long: return "message longer than the posted receive";
      case FabricError::no_receive: return "message arrived with no receive posted";
      case FabricError::queue_full: return "work queue is full";
      case FabricError::not_connected: return "not connected";
      case FabricError::unsupported: return "not supported by this fabric";
      case FabricError::no_device: return "no RDMA device for this address (`rdma link` lists the devices)";
      case FabricError::no_plugin:
        return "the verbs fabric is missing: librpcrdma-verbs.so was not found (built without rdma-core, or not "
               "installed; "
               "RPCRDMA_PLUGIN_DIR names its folder)";
      case FabricError::plugin_mismatch: return "librpcrdma-verbs.so belongs to another build of librpcrdma";
      case FabricError::no_rdma:
        return "no RDMA here: /dev/infiniband/rdma_cm is missing or not accessible (modprobe rdma_ucm)";
      case FabricError::device_lost: return "the RDMA device was removed";
      case FabricError::device_closed:
        return "no permission for the RDMA device: its /dev/infiniband/uverbs* is missing or not accessible";
      case FabricError::no_driver:
        return "no RDMA driver: rdma-core has none for this device, or cannot load it (package ibverbs-providers)";
      case FabricError::no_libibverbs:
        return "rdma-core is missing: libibverbs.so.1 cannot be loaded (package libibverbs1)";
      case FabricError::no_librdmacm:
        return "rdma-core is missing: librdmacm.so.1 cannot be loaded (package librdmacm1)";
      case FabricError::locked_memory:
        return "memory cannot be registered: the limit of locked memory is reached (ulimit -l)";
    }
    return "unknown fabric error";
  }
  boost::system::error_condition default_error_condition(int value) const noexcept override {
    switch (static_cast<FabricError>(value)) {
      case FabricError::queue_full: return make_error_condition(Condition::bug);
      case FabricError::locked_memory: return make_error_condition(Condition::retry);
      case FabricError::unsupported:
      case FabricError::no_device:
      case FabricError::no_plugin:
      case FabricError::plugin_mismatch:
      case FabricError::no_rdma:
      case FabricError::device_closed:
      case FabricError::no_driver:
      case FabricError::no_libibverbs:
      case FabricError::no_librdmacm:
      case FabricError::handshake_failed:
      case FabricError::too_many_reads: return make_error_condition(Condition::give_up);
      default: return make_error_condition(Condition::reconnect);
    }
  }
};

const FabricCategory kCategory;

}  // namespace

error_code make_error_code(FabricError e) noexcept { return {static_cast<int>(e), kCategory}; }

}  // namespace rpcrdma::fabric

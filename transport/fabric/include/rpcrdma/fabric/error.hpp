// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include "rpcrdma/base/error.hpp"
#include "rpcrdma/base/export.hpp"

namespace rpcrdma::fabric {

/// Why a fabric, a connection or an operation on it failed.
enum class FabricError {
  flushed = 1,         ///< the connection ended before the operation completed
  rejected,            ///< the peer's listener refused the connection
  handshake_failed,    ///< set-up failed, usually because the peer does not use this fabric's connection protocol
  handshake_timeout,   ///< the connection was not set up in time
  too_many_reads,      ///< the peer requires more outstanding RDMA Reads than this side supports
  remote_access,       ///< the peer refused a read or write of its memory
  remote_terminated,   ///< the peer ended the connection with an error
  protocol_violation,  ///< the peer broke the fabric's protocol; the connection was ended
  message_too_long,    ///< a message was longer than the receive posted for it
  no_receive,          ///< a message arrived while no receive was posted
  queue_full,          ///< the user posted more work than the queue holds
  not_connected,       ///< the user posted work on a queue pair that is not connected
  unsupported,         ///< the provider, or this connection, does not support the operation
  no_device,           ///< the provider found no device for the address
  no_plugin,           ///< the provider's plug-in was not found
  plugin_mismatch,     ///< this program cannot use the provider's plug-in, usually because it belongs to another build
  no_rdma,             ///< the kernel offers no RDMA, or denies access to it
  device_lost,         ///< the device was removed or has failed; it may come back
  device_closed,       ///< the device file is missing, or this process has no permission to open it
  no_driver,           ///< rdma-core has no driver for the device
  no_libibverbs,       ///< libibverbs of rdma-core is missing
  no_librdmacm,        ///< librdmacm of rdma-core is missing
  locked_memory,       ///< a registration exceeds the limit of locked memory (RLIMIT_MEMLOCK)
};

/// For the conversion to error_code.
RPCRDMA_EXPORT error_code make_error_code(FabricError e) noexcept;

}  // namespace rpcrdma::fabric

template <>
struct boost::system::is_error_code_enum<rpcrdma::fabric::FabricError> : std::true_type {};

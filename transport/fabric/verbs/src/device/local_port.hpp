// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include "device/limits.hpp"
#include "rpcrdma/base/error.hpp"
#include "rpcrdma/base/fd.hpp"
#include "rpcrdma/fabric/fabric.hpp"

namespace rpcrdma::fabric::verbs {

/// Binds `id`, for use with a device with the limits `device`, to `local`. If the port of `local` is 0 and the device
/// is an iWARP device, binds the id to a TCP port that no socket uses.
///
/// rdma_cm would choose a port that no other rdma_cm id uses. But the connections of an iWARP device are TCP
/// connections of this host: rdma_connect() and rdma_listen() fail with EADDRINUSE if a socket of any program uses the
/// port.
///
/// Returns a socket that reserves the port for the device. Keep it until rdma_connect() or rdma_listen() has returned.
/// It is empty if no port was chosen here. This includes the case that no socket can be made, in which rdma_cm chooses
/// the port.
Result<Fd> bind_to_port(rdma_cm_id& id, Endpoint local, const DeviceLimits& device);

}  // namespace rpcrdma::fabric::verbs

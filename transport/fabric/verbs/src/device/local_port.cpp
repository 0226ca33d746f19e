// SPDX-License-Identifier: BSD-3-Clause
#include "device/local_port.hpp"

#include <sys/socket.h>

#include <cerrno>

#include "error.hpp"

namespace rpcrdma::fabric::verbs {
namespace {

/// The number of ports to try. The kernel may choose a port that an rdma_cm id uses without a socket.
constexpr int kTries = 16;

/// Sets the port of `local` to a port that no socket uses. Returns a socket that is bound to it, or an empty Fd.
Fd hold_free_port(Endpoint& local) noexcept {
  Fd held(::socket(local.data()->sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const int on = 1;
  auto length = static_cast<socklen_t>(local.size());
  // siw sets SO_REUSEADDR as well. With this option, a socket may bind to the port of another one that has it and does
  // not listen. The kernel itself chooses a port that no socket uses.
  if (!held || ::setsockopt(held.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) != 0 ||
      ::bind(held.get(), local.data(), length) != 0 || ::getsockname(held.get(), local.data(), &length) != 0)
    return {};
  return held;
}

}  // namespace

Result<Fd> bind_to_port(rdma_cm_id& id, Endpoint local, const DeviceLimits& device) {
  const bool choose = device.iwarp && local.port() == 0;
  for (int tries = 0; choose && tries < kTries; ++tries) {
    Endpoint chosen = local;
    Fd held = hold_free_port(chosen);
    if (!held) break;
    if (rdma_bind_addr(&id, chosen.data()) == 0) return held;
    if (errno != EADDRINUSE && errno != EADDRNOTAVAIL) break;
  }
  if (rdma_bind_addr(&id, local.data()) != 0) return last_error();
  return Fd();
}

}  // namespace rpcrdma::fabric::verbs

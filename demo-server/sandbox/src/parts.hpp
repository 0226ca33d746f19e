// SPDX-License-Identifier: BSD-3-Clause
#pragma once
// The parts of the sandbox, in the order in which they must be entered. Each confines the calling thread.
#include "rpcrdma/base/error.hpp"
#include "rpcrdma/nfsd/sandbox/sandbox.hpp"

namespace rpcrdma::nfsd {

inline error_code error_of(int error) noexcept { return {error, boost::system::system_category()}; }

/// Limits by Landlock what the process can reach: TCP ports, abstract sockets, signals and, in `strict` mode, files.
/// Omits limits that the kernel's version of Landlock does not support. Fails if it cannot limit files (in `strict`
/// mode) or TCP ports (in the other modes). The process must have set no_new_privs before.
error_code confine_to(const SandboxNeeds& needs, bool strict);

/// Drops all capabilities except those that enter_sandbox() keeps.
error_code reduce_capabilities(const SandboxNeeds& needs) noexcept;

/// Installs the seccomp filter of system calls. Needs no_new_privs.
error_code filter_system_calls(SandboxMode mode) noexcept;

}  // namespace rpcrdma::nfsd

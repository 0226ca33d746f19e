// SPDX-License-Identifier: BSD-3-Clause
#pragma once
// Drops the rights that a file server does not need, so that a peer that takes control of the process can do less.
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string_view>
#include <vector>

#include "rpcrdma/base/log.hpp"
#include "rpcrdma/nfsd/exports/checked.hpp"

namespace rpcrdma::nfsd {

enum class SandboxMode : std::uint8_t {
  off,     ///< changes nothing
  log,     ///< as `on`, but the kernel logs and executes the system calls that `on` refuses
  on,      ///< fewer capabilities, filtered system calls, only the needed TCP ports; leaves out what the kernel lacks
  strict,  ///< as `on`, and limits access to files; fails if the kernel lacks a part (exceptions: see enter_sandbox())
};

/// "off", "log", "on" or "strict"; nothing for other words.
std::optional<SandboxMode> parse_sandbox_mode(std::string_view word) noexcept;

/// The rights that the server needs within the sandbox.
struct SandboxNeeds {
  bool devices = false;                  ///< to make block and character devices
  std::vector<std::uint16_t> tcp_ports;  ///< ports to bind; 0 stands for a free port that the kernel chooses
  /// `readable` and `writable` have an effect in mode `strict` only. They need not list the files that the server's
  /// libraries read. Paths that do not exist are ignored.
  std::vector<std::filesystem::path> readable;  ///< to read, with all that is below them
  std::vector<std::filesystem::path> writable;  ///< to read and to change
};

/// Puts the calling thread, and all threads that it starts later, into the sandbox for the life of the process. Call it
/// before the process has a second thread. The sandbox restricts:
///
/// - capabilities. The process keeps those to act as callers, to access files, to exceed quotas for root, to lock
///   memory and, if needed, to make device files and to bind ports below 1024. The process and its children never gain
///   others.
/// - system calls. The sandbox permits those that the server and its libraries make. The others fail with ENOSYS,
///   except in mode `log`. Builds with a sanitizer filter no system calls.
/// - TCP ports, by Landlock, from Linux 6.7 on.
/// - signals and abstract sockets, by Landlock, from Linux 6.12 on.
/// - access to files, by Landlock, from Linux 5.19 on, in mode `strict` only.
///
/// If the kernel lacks a part, the function logs this and omits the part. In mode `strict` the function fails instead.
/// There are two exceptions. Before Linux 6.12, signals and abstract sockets are not restricted in any mode. Before
/// Linux 6.7, TCP ports are not restricted in mode `strict`.
Checked<void> enter_sandbox(SandboxMode mode, const SandboxNeeds& needs, const Log& log);

/// Whether enter_sandbox() of this build can filter system calls. Returns false in builds with a sanitizer, because the
/// sanitizer's library makes system calls that the filter does not permit.
bool filters_system_calls() noexcept;

}  // namespace rpcrdma::nfsd

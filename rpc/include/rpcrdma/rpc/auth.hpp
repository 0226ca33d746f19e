// SPDX-License-Identifier: BSD-3-Clause
#pragma once
// Credentials: AUTH_NONE and AUTH_SYS (RFC 5531 section 8, appendix A).
#include <array>
#include <cstdint>
#include <span>
#include <string_view>

#include "rpcrdma/base/export.hpp"

namespace rpcrdma::rpc {

/// How a caller identifies itself (RFC 5531 section 8.2). This implementation supports only `none` and `sys`.
enum class AuthFlavor : std::uint32_t { none = 0, sys = 1, short_hand = 2, dh = 3, gss = 6, tls = 7 };

/// The maximum number of bytes of a machine name in AUTH_SYS (RFC 5531 appendix A).
inline constexpr std::uint32_t kMaxMachineName = 255;
/// The maximum number of groups in AUTH_SYS (RFC 5531 appendix A).
inline constexpr std::uint32_t kMaxGids = 16;

/// The identity of a caller. Copyable, of fixed size. The fields after `flavor` are used for AUTH_SYS only.
class RPCRDMA_EXPORT Credential {
 public:
  /// AUTH_NONE.
  Credential() noexcept = default;
  /// Returns an AUTH_SYS credential. Truncates the machine name and the list of gids to the limits of the protocol.
  static Credential sys(std::uint32_t uid, std::uint32_t gid, std::span<const std::uint32_t> gids = {},
                        std::string_view machine = {}, std::uint32_t stamp = 0) noexcept;
  /// Returns the AUTH_SYS credential of this process: its effective ids, its groups and the host name.
  static Credential of_process();

  AuthFlavor flavor = AuthFlavor::none;  ///< the fields below are used only if this is AuthFlavor::sys
  std::uint32_t stamp = 0;               ///< chosen by the caller; servers ignore it
  std::uint32_t uid = 0;                 ///< effective user id
  std::uint32_t gid = 0;                 ///< effective group id

  /// Returns the supplementary groups. The span is valid until the next set_gids() or the end of this object.
  std::span<const std::uint32_t> gids() const noexcept { return {gids_.data(), gid_count_}; }
  /// Returns the name of the caller's machine. The view is valid until the next set_machine() or the end of this
  /// object.
  std::string_view machine() const noexcept { return {machine_.data(), machine_length_}; }
  /// Copies at most kMaxGids groups and drops the rest.
  void set_gids(std::span<const std::uint32_t> gids) noexcept;
  /// Copies at most kMaxMachineName bytes and drops the rest.
  void set_machine(std::string_view machine) noexcept;

 private:
  std::uint32_t gid_count_ = 0;
  std::uint32_t machine_length_ = 0;
  std::array<std::uint32_t, kMaxGids> gids_{};
  std::array<char, kMaxMachineName> machine_{};
};

/// The credential that a procedure requires.
enum class AuthRequirement : std::uint8_t {
  none,  ///< any credential of a supported flavor; NULL procedures accept every flavor
  sys,   ///< AUTH_SYS; a call with AUTH_NONE is answered by AUTH_ERROR with AUTH_TOOWEAK
};

}  // namespace rpcrdma::rpc

// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include "rpcrdma/fabric/error.hpp"
#include "wire/terminate.hpp"

namespace rpcrdma::fabric::iwarp {

/// The place for the payload of a segment, or the reason why the segment is refused.
struct Placement {
  std::byte* at = nullptr;  ///< null: the payload is dropped, with or without a refusal
  const TerminateCode* refusal = nullptr;
  FabricError why = FabricError::protocol_violation;
  std::uint32_t rest = 0;  ///< as Target::rest
};

/// For a segment that breaks a rule: `code` is sent to the peer, `why` is reported to the user.
inline Placement refused(const TerminateCode& code, FabricError why = FabricError::protocol_violation) noexcept {
  return {nullptr, &code, why};
}

}  // namespace rpcrdma::fabric::iwarp

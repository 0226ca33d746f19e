// SPDX-License-Identifier: BSD-3-Clause
#pragma once
// The address of a service, as text: [FABRIC@]HOST[:PORT].
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "rpcrdma/base/export.hpp"
#include "rpcrdma/fabric/open/open.hpp"

namespace rpcrdma {

/// The transport of the calls of a service.
struct Carrier {
  bool tcp = false;  ///< record marking over TCP (RFC 5531 section 11) instead of RPC-over-RDMA
  fabric::Provider provider = fabric::Provider::automatic;  ///< the RDMA fabric
};

/// A parsed address.
struct Address {
  Carrier carrier;                    ///< the part before @
  std::string host;                   ///< a name or an IP address, without brackets
  std::optional<std::uint16_t> port;  ///< absent: ask rpcbind
};

/// Parses "[FABRIC@]HOST[:PORT]": FABRIC is auto (the default), verbs, iwarp or tcp; an IPv6 address with a port is in
/// brackets. Throws std::invalid_argument with one line that names the error.
RPCRDMA_EXPORT Address parse_address(std::string_view text);

}  // namespace rpcrdma

// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <unordered_map>

#include "rpcrdma/fabric/iwarp/iwarp.hpp"
#include "setup/negotiation.hpp"
#include "stream/stag_table.hpp"

namespace rpcrdma::fabric::iwarp {

/// The maximum number of buffers in one Send or Write.
inline constexpr std::uint32_t kMaxWorkGather = 32;

/// State that a fabric shares with its queue pairs, windows and listeners, because these objects may outlive the
/// fabric.
struct FabricState {
  FabricState(boost::asio::io_context& c, const IwarpOptions& o, Log l);

  /// The region that has the key of `buffer` and contains its memory; null if there is none.
  const MutableOctets* region_of(const BufferRef& buffer) const noexcept;
  SetupWishes wishes(const QueuePairOptions& wanted, const Endpoint& local, const Endpoint& peer) const noexcept;

  boost::asio::io_context& context;
  const IwarpOptions options;
  const Log log;
  Capabilities capabilities;
  Counters counters;
  StagTable stags;
  std::unordered_map<std::uint32_t, MutableOctets> regions;  ///< by local key
  std::uint32_t next_key = 1;
  LogLimit setup_lines;   ///< limits the lines about connections that cannot be accepted or set up
  LogLimit stream_lines;  ///< limits the lines about the ends of connections
};

}  // namespace rpcrdma::fabric::iwarp

// SPDX-License-Identifier: BSD-3-Clause
#pragma once
// The entry point of librpcrdma-verbs.so, the shared object that links rdma-core and holds the verbs provider.
// transport/fabric/open loads it to look for an RDMA device.
//
// C++ objects cross this interface, so both sides must come from one build: the caller compares `abi` first, then
// `build`, and uses nothing else of a plug-in that differs. The plug-in has its own copies of the layers below the
// provider. If the program exports its symbols (ELF dynamic symbol table), the dynamic linker makes the plug-in use the
// program's copies.
#include "rpcrdma/fabric/verbs/verbs.hpp"

namespace rpcrdma::fabric {

inline constexpr std::uint32_t kVerbsPluginAbi = 1;
inline constexpr const char* kVerbsPluginFile = "librpcrdma-verbs.so";
inline constexpr const char* kVerbsPluginEntry = "rpcrdma_verbs_plugin";

struct VerbsPlugin {
  std::uint32_t abi;  ///< kVerbsPluginAbi; the offsets of `abi` and `build` are the same in every version
  const char* build;  ///< identifies the headers and the compiler (CMake: RPCRDMA_BUILD_ID)
  decltype(&verbs_device_at) device_at;
  /// Verbs::open() of the plug-in's Verbs, which is the only one of the process.
  Result<std::unique_ptr<Fabric>> (*open)(boost::asio::io_context&, const boost::asio::ip::address&, VerbsOptions, Log);
};

/// The type of the function that kVerbsPluginEntry names.
using VerbsPluginEntry = const VerbsPlugin*();

}  // namespace rpcrdma::fabric

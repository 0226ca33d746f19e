// SPDX-License-Identifier: BSD-3-Clause
#pragma once
// The entry point of the plug-in librpcrdma-verbs.so. This shared object contains the verbs provider and links
// rdma-core. transport/fabric/open loads the plug-in to look for an RDMA device.
//
// C++ objects cross this interface. Therefore the plug-in and the program that loads it must come from one build. The
// program compares `abi` first, and then `build`. If one of them differs, the program uses no other member.
//
// The plug-in contains its own copies of the layers below the provider. If the program exports the symbols of its
// copies (ELF dynamic symbol table), the dynamic linker makes the plug-in use those instead.
#include "rpcrdma/fabric/verbs/verbs.hpp"

namespace rpcrdma::fabric {

inline constexpr std::uint32_t kVerbsPluginAbi = 1;
inline constexpr const char* kVerbsPluginFile = "librpcrdma-verbs.so";
inline constexpr const char* kVerbsPluginEntry = "rpcrdma_verbs_plugin";

struct VerbsPlugin {
  std::uint32_t abi;  ///< kVerbsPluginAbi; the offsets of `abi` and `build` are the same in every version
  const char* build;  ///< identifies the headers and the compiler (CMake: RPCRDMA_BUILD_ID)
  decltype(&verbs_device_at) device_at;
  /// Calls Verbs::open() on the Verbs object of the plug-in. The whole process shares this one object.
  Result<std::unique_ptr<Fabric>> (*open)(boost::asio::io_context&, const boost::asio::ip::address&, VerbsOptions, Log);
};

/// The type of the function that kVerbsPluginEntry names.
using VerbsPluginEntry = const VerbsPlugin*();

}  // namespace rpcrdma::fabric

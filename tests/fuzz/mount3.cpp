// SPDX-License-Identifier: BSD-3-Clause
// Arguments and results of MOUNTv3: see typed.hpp.
#include "rpcrdma/rpc/mount3.hpp"

#include "typed.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace rpcrdma::rpc::mount3;
  return rpcrdma::fuzz::check_one_of<Null, Mnt, Dump, Umnt, Umntall, Export>({data, size});
}

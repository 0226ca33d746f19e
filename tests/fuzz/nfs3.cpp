// SPDX-License-Identifier: BSD-3-Clause
// Arguments and results of NFSv3: see typed.hpp.
#include "rpcrdma/rpc/nfs3.hpp"

#include "typed.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace rpcrdma::rpc::nfs3;
  return rpcrdma::fuzz::check_one_of<Null, Getattr, Setattr, Lookup, Access, Readlink, Read, Write, Create, Mkdir,
                                     Symlink, Mknod, Remove, Rmdir, Rename, Link, Readdir, Readdirplus, Fsstat, Fsinfo,
                                     Pathconf, Commit>({data, size});
}

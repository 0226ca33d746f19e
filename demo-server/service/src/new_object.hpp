// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include "request.hpp"

namespace rpcrdma::nfsd {

/// Fills the results of CREATE, MKDIR, SYMLINK and MKNOD, which have the same fields.
template <class P, class Ok, class Fail>
void fill_new(const Request<P>& request, const NodeResult& made, Ok& ok, Fail& fail) {
  if (made.status != Status::ok) {
    fail.dir_wcc = to_wire(made.directory, request.fsid());
    return;
  }
  ok.obj = optional_handle(request.handle(made.node));
  ok.obj_attributes = to_wire(made.attributes, request.fsid());
  ok.dir_wcc = to_wire(made.directory, request.fsid());
}

}  // namespace rpcrdma::nfsd

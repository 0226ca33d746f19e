// SPDX-License-Identifier: BSD-3-Clause
#include "convert.hpp"

namespace rpcrdma::nfsd {

Caller caller_of(const rpc::Credential& credential, const ExportPolicy& policy) {
  Identity claimed;
  claimed.uid = claimed.gid = Identity::kNone;
  if (credential.flavor == rpc::AuthFlavor::sys) {
    claimed.uid = credential.uid;
    claimed.gid = credential.gid;
    claimed.groups.assign(credential.gids().begin(), credential.gids().end());
  }
  return {squashed(claimed, policy.squash), policy.sync};
}

}  // namespace rpcrdma::nfsd

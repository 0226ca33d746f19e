// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <boost/system/result.hpp>

#include "rpcrdma/nfsd/fs/types.hpp"

namespace rpcrdma::nfsd {

/// A value, or the reason why there is none: a Status other than ok. A function without a value returns a Status.
template <class T>
using StatusOr = boost::system::result<T, Status>;

}  // namespace rpcrdma::nfsd

// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <rpc/rpc.h>

#include "rpcrdma/base/export.hpp"

/// bool: TRUE or FALSE (RFC 4506 section 4.4). Any other value fails, in both directions; libtirpc's xdr_bool() takes
/// it for TRUE. What rpcgen generates calls this function instead (protocols/generate.cmake).
extern "C" RPCRDMA_EXPORT bool_t xdr_strict_bool(XDR* xdrs, bool_t* value);

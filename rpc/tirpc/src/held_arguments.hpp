// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <vector>

#include "outgoing_call.hpp"
#include "rpcrdma/base/unique_function.hpp"

namespace rpcrdma::tirpc {

/// A call message with one long opaque, which is sent without a copy from the memory that the XDR routine passes. This
/// memory may be a buffer of the routine's own. Therefore the routine runs twice: the first run records the rest of the
/// message, and the second run makes the call at the point where the routine writes the opaque. Used on one thread.
class HeldArguments {
 public:
  /// The first run. Returns false if the message cannot be sent in this way: it does not have exactly one long
  /// opaque, it has too many other bytes, or its authenticator may write other bytes in the second run.
  bool record(const CallArgs& call);
  /// The second run, which calls `make`. Returns false, without calling `make`, unless the routine writes the same
  /// bytes before the opaque, and an opaque of the same length, as in the first run.
  bool run(const CallArgs& call, UniqueFunction<void()> make);
  /// Writes the message. To be called only within `make`.
  void encode(PayloadBuilder& out, xdr::Borrowing& borrowing) const;

 private:
  class Recorder;
  class Maker;

  std::vector<std::byte> before_, after_;  // the bytes of the message before and after the opaque
  Octets opaque_;
};

}  // namespace rpcrdma::tirpc

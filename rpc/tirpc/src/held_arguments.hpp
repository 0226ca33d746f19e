// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <vector>

#include "outgoing_call.hpp"
#include "rpcrdma/base/unique_function.hpp"

namespace rpcrdma::tirpc {

/// A call message with a long opaque. The first long opaque is sent without a copy, from the memory that the XDR
/// routine of the arguments passes. That memory may be a buffer that the routine frees before it returns, so the call
/// must be made while the routine runs. Therefore the routine runs twice. The first run records the bytes of the
/// message before and after the opaque. The second run makes the call at the point where the routine writes the opaque.
/// Used on one thread.
class HeldArguments {
 public:
  /// The first run. Returns false if the message cannot be sent in this way: it has no long opaque, it has too many
  /// other bytes, or its authenticator may write other bytes in the second run.
  bool record(const CallArgs& call);
  /// The second run. Calls `make` when the routine writes the long opaque, and returns true. If the length of the
  /// opaque or the bytes before it differ from those of the first run, does not call `make` and returns false.
  bool run(const CallArgs& call, UniqueFunction<void()> make);
  /// Writes the message to `out`. Offers the opaque to `borrowing`, and copies it if `borrowing` does not take it. To
  /// be called only within `make`, because the opaque may be invalid afterwards.
  void encode(PayloadBuilder& out, xdr::Borrowing& borrowing) const;

 private:
  class Recorder;
  class Maker;

  std::vector<std::byte> before_, after_;  // the bytes of the message before and after the opaque
  Octets opaque_;
};

}  // namespace rpcrdma::tirpc

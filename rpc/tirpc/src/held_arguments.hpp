// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <vector>

#include "outgoing_call.hpp"
#include "rpcrdma/base/unique_function.hpp"

namespace rpcrdma::tirpc {

/// A call message with one long opaque, which is sent without a copy from the memory that the XDR routine passes. As
/// that memory may be a buffer of the routine's own, the call is made inside the routine: its first run records the
/// rest of the message, and its second run makes the call where it writes the opaque. One thread.
class HeldArguments {
 public:
  /// The first run. False if the message cannot be sent in this way: it has no long opaque, or too many other bytes, or
  /// its authenticator may not be asked twice.
  bool record(const CallArgs& call);
  /// The second run, which calls `make`. False if the routine has not written what it wrote before; `make` has not been
  /// called then.
  bool run(const CallArgs& call, UniqueFunction<void()> make);
  /// Writes the message. Only within `make`.
  void encode(PayloadBuilder& out, xdr::Borrowing& borrowing) const;

 private:
  class Recorder;
  class Maker;

  std::vector<std::byte> before_, after_;  // the bytes of the message before and after the opaque
  Octets opaque_;
};

}  // namespace rpcrdma::tirpc

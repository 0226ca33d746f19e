// SPDX-License-Identifier: BSD-3-Clause
#pragma once
// An XDR stream of libtirpc's kind that writes to a PayloadBuilder.
#include <rpc/rpc.h>

#include <cstdint>

#include "rpcrdma/base/payload_builder.hpp"
#include "rpcrdma/xdr/bulk.hpp"

namespace rpcrdma::xdr {

/// Lends registered memory for an eligible item that is not in registered memory, when the peer demands that
/// it goes into a chunk.
class Staging {
 public:
  /// Exactly `size` octets, valid until the message is done with; size 0 when there are none.
  virtual BufferRef stage(std::uint32_t size) = 0;

 protected:
  ~Staging() = default;
};

/// Writes XDR. Failure is sticky. Stays where it is: XDR routines hold its address. One thread.
class Encoder {
 public:
  /// `out` has been started and outlives this object, as does `staging`. Without staging, eligible items
  /// in unregistered memory are copied into the stream.
  explicit Encoder(PayloadBuilder& out, Staging* staging = nullptr) noexcept;
  Encoder(const Encoder&) = delete;
  Encoder& operator=(const Encoder&) = delete;

  /// For XDR routines; the stream's position counts from the start of the message.
  XDR* xdr() noexcept { return &xdr_; }
  /// The encoder behind a stream, or null when the stream is of another kind.
  static Encoder* of(XDR* xdrs) noexcept;

  bool ok() const noexcept { return out_.ok(); }
  std::uint32_t position() const noexcept { return out_.position(); }
  PayloadBuilder& out() noexcept { return out_; }

  void u32(std::uint32_t value) noexcept { out_.u32(value); }
  /// opaque<>: count word, octets, zero pad.
  void counted(Octets value) noexcept;
  /// A DDP-eligible opaque<>: count word, and the octets by reference where possible.
  /// [8166-3.4.4.1-a] the count stays in the stream, the octets become an item
  void bulk(const bulk_data& value) noexcept;

  /// Runs an XDR routine; false on failure.
  template <class T>
  bool encode(bool_t (*routine)(XDR*, T*), const T& value) noexcept {
    // An XDR routine has one signature for both directions; encoding does not write to the value.
    if (!routine(&xdr_, const_cast<T*>(&value))) out_.fail();  // NOLINT(cppcoreguidelines-pro-type-const-cast)
    return out_.ok();
  }

 private:
  XDR xdr_{};
  PayloadBuilder& out_;
  Staging* staging_;
};

}  // namespace rpcrdma::xdr

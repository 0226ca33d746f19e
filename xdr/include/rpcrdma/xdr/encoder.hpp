// SPDX-License-Identifier: BSD-3-Clause
#pragma once
// A libtirpc XDR stream that writes to a PayloadBuilder.
#include <rpc/rpc.h>

#include <boost/container/small_vector.hpp>
#include <cstdint>

#include "rpcrdma/base/export.hpp"
#include "rpcrdma/base/payload_builder.hpp"
#include "rpcrdma/xdr/bulk.hpp"

namespace rpcrdma::xdr {

/// Provides registered memory to which an Encoder copies a DDP-eligible item that is in unregistered memory. Without
/// registered memory, the item cannot be sent in a chunk of its own.
class RPCRDMA_EXPORT Staging {
 public:
  /// Returns exactly `size` bytes, which stay valid as long as the message does. Returns a BufferRef of size 0 if there
  /// is no memory.
  virtual BufferRef stage(std::uint32_t size) = 0;

 protected:
  ~Staging() = default;
};

/// Adds opaques to a message by reference, so that they are not copied.
class Borrowing {
 public:
  /// Adds `octets` to `out` by reference, and returns true. If the result is false, nothing has been added, and the
  /// caller must copy `octets` into the message.
  virtual bool borrow(PayloadBuilder& out, Octets octets) = 0;
  /// The number of bytes at the start of the message that borrow() has already sent. The encoder must not replace them.
  virtual std::uint32_t sent() const noexcept { return 0; }

 protected:
  ~Borrowing() = default;
};

/// Writes XDR. After a failure, ok() stays false. Not movable, because the stream for XDR routines holds the address of
/// the Encoder. Used on one thread.
class RPCRDMA_EXPORT Encoder {
 public:
  /// Writes to `out`, which the caller has started. `staging` provides registered memory for DDP-eligible opaques that
  /// are in unregistered memory. If it is null, these opaques are copied to the stream. `out` and `staging` must
  /// outlive this object.
  explicit Encoder(PayloadBuilder& out, Staging* staging = nullptr) noexcept;
  Encoder(const Encoder&) = delete;
  Encoder& operator=(const Encoder&) = delete;

  /// Sets the object to which the opaques of the following XDR routines are offered. It must outlive this object.
  void set_borrowing(Borrowing* borrowing) noexcept { borrowing_ = borrowing; }

  /// The stream for XDR routines; its position counts from the start of the message.
  XDR* xdr() noexcept { return &xdr_; }
  /// The encoder of a stream, or null if the stream is of another kind.
  static Encoder* of(XDR* xdrs) noexcept;

  bool ok() const noexcept { return out_.ok(); }
  std::uint32_t position() const noexcept { return rewriting_ ? at_ : out_.position(); }
  PayloadBuilder& out() noexcept { return out_; }

  void u32(std::uint32_t value) noexcept {
    if (rewriting_) return rewrite_u32(value);
    out_.u32(value);
  }
  /// Writes the bytes unchanged, without a count.
  void octets(Octets value) noexcept;
  /// Continues at position `to`: the next bytes replace the bytes written there and, beyond them, extend the message.
  /// Returns false if `to` is beyond the end of the message, or if the bytes at `to` have been sent. Bytes added by
  /// reference cannot be replaced.
  bool set_position(std::uint32_t to) noexcept;
  /// Returns room for the next `count` bytes of the message, which the caller must write. Returns null if `count` is 0
  /// or not a multiple of 4, if the current memory does not have this room at an address that is a multiple of 4, if
  /// bytes are being replaced, or if the encoder has failed.
  std::int32_t* room_for(std::uint32_t count) noexcept;
  /// Writes an opaque<>: count word, bytes, zero pad.
  void counted(Octets value) noexcept;
  /// Writes a DDP-eligible opaque<>: first the count word, then the bytes. Registered memory becomes an item that
  /// refers to this memory. If there is a Staging, bytes in unregistered memory are copied to its memory, to which an
  /// item then refers. Otherwise they are written to the stream. [8166-3.4.4.1-a] The count stays in the stream even if
  /// the bytes become an item.
  void bulk(const bulk_data& value) noexcept;

  /// Runs an XDR routine; false on failure.
  template <class T>
  bool encode(bool_t (*routine)(XDR*, T*), const T& value) noexcept {
    // XDR routines have one signature for both directions; encoding does not modify the value.
    if (!routine(&xdr_, const_cast<T*>(&value))) out_.fail();  // NOLINT(cppcoreguidelines-pro-type-const-cast)
    return out_.ok();
  }

 private:
  std::size_t rewrite(Octets value) noexcept;
  void rewrite_u32(std::uint32_t value) noexcept;

  XDR xdr_{};
  PayloadBuilder& out_;
  Staging* staging_;
  Borrowing* borrowing_ = nullptr;
  boost::container::small_vector<std::uint32_t, 2> borrowed_;  // positions of pieces added by reference
  std::uint32_t at_ = 0;                                       // position of the next byte to replace
  bool rewriting_ = false;                                     // whether the next bytes replace those at at_
};

}  // namespace rpcrdma::xdr

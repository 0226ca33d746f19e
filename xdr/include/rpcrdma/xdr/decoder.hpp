// SPDX-License-Identifier: BSD-3-Clause
#pragma once
// A libtirpc XDR stream that reads a Payload: the pieces of a reduced message and its items.
#include <rpc/rpc.h>

#include <boost/container/static_vector.hpp>
#include <boost/endian/conversion.hpp>
#include <cstdint>
#include <cstring>
#include <span>
#include <utility>

#include "rpcrdma/base/cursor.hpp"
#include "rpcrdma/base/export.hpp"
#include "rpcrdma/base/payload.hpp"
#include "rpcrdma/xdr/bulk.hpp"
#include "rpcrdma/xdr/text.hpp"

namespace rpcrdma::xdr {

/// Copies a message, so that values decoded in place outlive it.
class RPCRDMA_EXPORT MessageKeeper {
 public:
  /// Returns a copy of the message `from`, or null if memory is exhausted. The copy must stay valid while the decoded
  /// values are used.
  virtual const Payload* keep(const Payload& from) = 0;

 protected:
  ~MessageKeeper() = default;
};

/// Supplies a message that is still arriving. more() and arrived() block until bytes have arrived.
class Source {
 public:
  /// Appends the next bytes of the message to its pieces, or lengthens the last piece. Returns false if the message has
  /// no more bytes, or if they cannot be obtained.
  virtual bool more() = 0;
  /// Requests the next to.size() bytes of the message, which begin at `position`. Returns a number N. The caller must
  /// copy the first N of these bytes from the pieces of the message, which more() extends. The source transfers the
  /// other bytes directly to the end of `to`. If N is less than to.size(), the caller must call arrived() after it has
  /// copied.
  virtual std::uint32_t place(std::uint32_t position, MutableOctets to) = 0;
  /// Waits for the direct transfer that place() started; false if it fails. Afterwards the source no longer uses `to`.
  virtual bool arrived() = 0;

 protected:
  ~Source() = default;
};

/// Why decoding failed.
enum class DecodeFailure : std::uint8_t {
  none,
  malformed,      ///< truncated, out of range, or not XDR
  bad_item,       ///< the length or position of a chunk does not match the stream, or its item is not eligible
  ignored_chunk,  ///< an eligible result is inline although a Write chunk was offered for it
};

/// The range of a DDP-eligible value in the unreduced stream, whether the value is reduced or not.
struct EligibleRange {
  std::uint32_t position = 0;  ///< the position of the first byte; a multiple of 4
  std::uint32_t length = 0;    ///< bytes, without the pad
};

/// Reads XDR. Never reads past the message; failure is sticky. Not movable: the stream for XDR routines holds its
/// address. Used on one thread.
class RPCRDMA_EXPORT Decoder {
 public:
  /// `message` must outlive this object and, unless `keeper` is given, the values decoded in place.
  explicit Decoder(const Payload& message, MessageKeeper* keeper = nullptr) noexcept;
  Decoder(const Decoder&) = delete;
  Decoder& operator=(const Decoder&) = delete;

  /// Sets the buffers for the DDP-eligible results: `destinations[i]` is for the i-th result. A result that arrives in
  /// the stream is copied to its buffers. A result that has arrived in a Write chunk is not copied. `destinations` must
  /// outlive this object.
  void set_destinations(std::span<const std::span<const BufferRef>> destinations) noexcept {
    destinations_ = destinations;
  }

  /// Values decoded from now on refer to the copy that `keeper` makes or, if `keeper` is null, to the message itself.
  void set_keeper(MessageKeeper* keeper) noexcept { keeper_ = keeper; }

  /// Makes this object obtain from `source` the bytes that are not in the pieces of the message yet. The length of the
  /// message is then an upper bound of the bytes that will arrive. The message must have no items. Call this function
  /// before the first value is decoded.
  void set_source(Source& source) noexcept;

  XDR* xdr() noexcept { return &xdr_; }
  /// The decoder of a stream, or null if the stream is of another kind.
  static Decoder* of(XDR* xdrs) noexcept;

  bool ok() const noexcept { return failure_ == DecodeFailure::none; }
  DecodeFailure failure() const noexcept { return failure_; }
  /// Offset of the next byte in the unreduced stream.
  std::uint32_t position() const noexcept { return position_; }
  /// The number of bytes of the reduced stream that have not been read yet: an upper bound for any number of elements
  /// that a count word claims.
  std::uint32_t remaining() const noexcept { return remaining_; }

  std::uint32_t u32() noexcept { return integer<std::uint32_t>(); }
  std::uint64_t u64() noexcept { return integer<std::uint64_t>(); }
  /// Copies the next bytes of the message until `to` is full. If too few bytes are left, fails and returns false.
  bool copy(MutableOctets to) noexcept;
  void skip(std::uint32_t count) noexcept {
    if (count <= run_)
      advance(count);
    else
      take(nullptr, count);
  }
  /// Continues at position `to` of the unreduced stream. Returns false if the message ends before `to`, or if `to` is
  /// within a reduced item.
  bool set_position(std::uint32_t to) noexcept;
  /// Decodes an opaque<> or string<> of at most `max_length` bytes: in place, or as a copy if it spans pieces.
  bool text(text_data& out, std::uint32_t max_length) noexcept;
  /// Skips the next `count` bytes and returns their address if `count` is a positive multiple of 4 and the bytes are in
  /// one piece of memory, aligned to 4 bytes. Otherwise returns null and skips nothing.
  std::int32_t* in_place(std::uint32_t count) noexcept;
  /// Decodes a DDP-eligible opaque<>; see bulk_data.
  bool bulk(bulk_data& out) noexcept;
  /// The item of a bulk_data that has been decoded from this message (kind `item` or `placed`).
  const PayloadItem& item(std::uint32_t index) const noexcept { return message_->items[index]; }
  /// The first DDP-eligible values that have been decoded and are not empty, in order; at most kMaxRanges of them.
  std::span<const EligibleRange> eligible() const noexcept { return eligible_; }
  static constexpr std::size_t kMaxRanges = 8;  ///< no RFC sets this limit
  void fail(DecodeFailure why = DecodeFailure::malformed) noexcept;

  /// Runs an XDR routine; false on failure.
  template <class T>
  bool decode(bool_t (*routine)(XDR*, T*), T& value) noexcept {
    if (!routine(&xdr_, &value)) fail();
    return ok();
  }
  /// To be called after the last value has been decoded. Fails with bad_item and returns false if a chunk that contains
  /// data belongs to no DDP-eligible value that has been decoded. [8166-6.1-b] [8166-6.1-c] Only eligible values may be
  /// reduced.
  bool finish() noexcept;

 private:
  template <class T>
  T integer() noexcept {
    std::byte octets[sizeof(T)];
    const std::byte* from = octets;
    if (run_ >= sizeof(T))
      from = advance(sizeof(T));
    else if (!take(octets, sizeof octets))
      return 0;
    T value;
    std::memcpy(&value, from, sizeof value);
    return boost::endian::big_to_native(value);
  }
  /// Skips the next `count` bytes, at most run_, and returns their address.
  std::byte* advance(std::uint32_t count) noexcept {
    run_ -= count;
    position_ += count;
    remaining_ -= count;
    return std::exchange(at_, at_ + count);
  }
  const PayloadPiece* piece() const noexcept;
  std::uint32_t offset() const noexcept { return run_end_ - run_; }
  void end_run() noexcept;
  bool next_run() noexcept;
  bool take(std::byte* to, std::uint32_t count) noexcept;
  bool take_long(MutableOctets to) noexcept;
  bool view(std::uint32_t count, const std::byte*& at, bool& owned) noexcept;
  bool keep() noexcept;
  bool reduced_argument(bulk_data& out) noexcept;
  bool reduced_result(bulk_data& out) noexcept;
  bool inline_bulk(bulk_data& out) noexcept;
  bool chunk_left() const noexcept;
  bool place(bulk_data& out, std::span<const BufferRef> destination) noexcept;
  bool jump(std::uint32_t padded_length) noexcept;
  const PayloadItem* next_item() const noexcept;

  XDR xdr_{};
  const Payload* message_;
  MessageKeeper* keeper_;
  Source* source_ = nullptr;
  std::span<const std::span<const BufferRef>> destinations_;
  std::byte* at_ = nullptr;      // the next byte, unless run_ is 0
  std::uint32_t run_ = 0;        // the number of bytes at at_ that come next in the stream
  std::uint32_t run_end_ = 0;    // the offset in the current piece at which these bytes end
  std::size_t piece_ = 0;        // current piece
  std::uint32_t position_ = 0;   // position in the unreduced stream
  std::uint32_t remaining_ = 0;  // bytes left in all pieces
  std::size_t item_ = 0;         // index in message_->items: earlier items have been decoded or skipped
  std::size_t destination_ = 0;  // index in destinations_: the one for the next eligible result
  boost::container::static_vector<EligibleRange, kMaxRanges> eligible_;
  bool kept_ = false;
  DecodeFailure failure_ = DecodeFailure::none;
};

}  // namespace rpcrdma::xdr

// SPDX-License-Identifier: BSD-3-Clause
#pragma once
// Transport characteristics and lists of them: xcharval, xcharspec and xcharsubset of
// draft-dnoveck-nfsv4-rpcrdma-xcharext-01 sections 2.1 and 3. Does no I/O; may be used on any thread.
#include <array>
#include <boost/container/small_vector.hpp>
#include <cstdint>
#include <optional>

#include "rpcrdma/base/cursor.hpp"

namespace rpcrdma::wire::v2 {

/// The codes of the draft that this implementation interprets (section 3, table 1).
enum class CharacteristicId : std::uint32_t {
  receive_buffer_size = 1,            ///< least size of the sender's posted Receives, in bytes (section 3.1)
  requester_remote_invalidation = 2,  ///< 1: as Requester the sender accepts Send with Invalidate (section 3.2)
  backward_request_support = 3,       ///< a BackwardSupport (section 3.3)
};
/// [xchar-6.2-a] The first code for experiments. The codes from this one to 2^32 - 1 are experimental (section 6.2).
inline constexpr std::uint32_t kFirstExperimental = 0xffffff00;
/// The code of SmallerReceives. Other implementations may use this code for their own experiments.
inline constexpr std::uint32_t kSmallerReceivesWanted = 0xffffff01;

/// How an endpoint processes messages of the reverse direction (section 3.3).
enum class BackwardSupport : std::uint32_t {
  unknown = 0,
  none = 1,
  size_limited = 2,  ///< without chunks, as in RFC 8167 section 5.3
  general = 3,       ///< with and without chunks, as in the forward direction
};

/// One characteristic and its value.
struct Characteristic {
  std::uint32_t id = 0;
  /// For the ids in CharacteristicId: the value as an integer; false is 0, true is 1.
  std::uint32_t value = 0;
  /// For other ids: the value without its pad, as it was received. Refers to the memory of the message.
  Octets data;

  Characteristic() = default;
  Characteristic(CharacteristicId known, std::uint32_t its_value) noexcept
      : id(static_cast<std::uint32_t>(known)), value(its_value) {}
  Characteristic(std::uint32_t other, Octets its_data) noexcept : id(other), data(its_data) {}
  /// True if the id is in CharacteristicId. If true, the member `value` holds the value; if false, `data` holds it.
  bool known() const noexcept {
    return id >= static_cast<std::uint32_t>(CharacteristicId::receive_buffer_size) &&
           id <= static_cast<std::uint32_t>(CharacteristicId::backward_request_support);
  }
};
bool operator==(const Characteristic& a, const Characteristic& b) noexcept;

/// An experimental characteristic, sent in UPD_XCHAR: the sender is short of memory, and would accept a request to
/// lower its Receive Buffer Size to `size`. (By section 3.1, only the peer may ask for a smaller size.) No registry
/// assigns the code. Therefore the value begins with eight bytes that name the experiment; the size, a uint32, follows.
class SmallerReceives {
 public:
  explicit SmallerReceives(std::uint32_t size) noexcept;
  /// The result refers to the memory of this object.
  Characteristic characteristic() const noexcept { return {kSmallerReceivesWanted, Octets(data_)}; }
  /// The size in `value`; nothing if `value` is another characteristic, or an experiment of another implementation.
  static std::optional<std::uint32_t> size_in(const Characteristic& value) noexcept;

 private:
  std::array<std::byte, 12> data_{};
};

/// The maximum number of characteristics in one list; a longer list is refused. The draft sets no limit.
inline constexpr std::size_t kMaxCharacteristics = 512;

/// An xcharspec: a list in any order.
using CharacteristicList = boost::container::small_vector<Characteristic, 4>;

/// An xcharsubset: positions in a list, each below kMaxCharacteristics. Position N is bit N mod 32 of word N div 32,
/// the least significant bit first, as in an NFSv4 bitmap; the draft does not say which bit is the first. [xchar-2.1-e]
class Subset {
 public:
  bool contains(std::size_t position) const noexcept {
    return position / 32 < words_.size() && (words_[position / 32] >> position % 32 & 1) != 0;
  }
  void insert(std::size_t position) {
    if (position / 32 >= words_.size()) words_.resize(position / 32 + 1);
    words_[position / 32] |= std::uint32_t{1} << position % 32;
  }
  bool empty() const noexcept { return words_.empty(); }
  void clear() noexcept { words_.clear(); }
  /// The words of the bitmap, without zero words at the end.
  const boost::container::small_vector<std::uint32_t, 1>& words() const noexcept { return words_; }
  void assign(boost::container::small_vector<std::uint32_t, 1> words) noexcept;

  friend bool operator==(const Subset&, const Subset&) = default;

 private:
  boost::container::small_vector<std::uint32_t, 1> words_;
};

}  // namespace rpcrdma::wire::v2

// SPDX-License-Identifier: BSD-3-Clause
#pragma once
// The content of RDMA2_OPTIONAL messages: the four operations of draft-dnoveck-nfsv4-rpcrdma-xcharext-01 section 4.
// None carries a payload. Does no I/O; may be used on any thread.
#include "rpcrdma/base/error.hpp"
#include "rpcrdma/wire/error.hpp"
#include "rpcrdma/wire/v2/characteristics.hpp"

namespace rpcrdma::wire::v2 {

/// rdma_opttype (section 4, table 2).
enum class OptionType : std::uint32_t { init = 1, request = 2, response = 3, update = 4 };

/// INIT_XCHAR: the sender's characteristics at the start of a connection (section 4.1).
struct InitOption {
  static constexpr OptionType kType = OptionType::init;
  CharacteristicList start;
  Subset unchanging;  ///< positions in `start` of the values that do not change as long as the connection lasts
  friend bool operator==(const InitOption&, const InitOption&) = default;
};

/// REQ_XCHAR: asks the peer to change its characteristics (section 4.2).
struct RequestOption {
  static constexpr OptionType kType = OptionType::request;
  CharacteristicList wanted;
  friend bool operator==(const RequestOption&, const RequestOption&) = default;
};

/// RESP_XCHAR: the answer to a RequestOption, with the XID of the request. Each subset holds positions in the list of
/// the request (section 4.3).
struct ResponseOption {
  static constexpr OptionType kType = OptionType::response;
  Subset done;
  Subset rejected;
  Subset pending;  ///< an UpdateOption follows later
  friend bool operator==(const ResponseOption&, const ResponseOption&) = default;
};

/// UPD_XCHAR: announces the present value of one characteristic of the sender (section 4.4).
struct UpdateOption {
  static constexpr OptionType kType = OptionType::update;
  Characteristic now;
  bool pending_cleared = false;  ///< an earlier request for this characteristic is not pending any more
  friend bool operator==(const UpdateOption&, const UpdateOption&) = default;
};

/// Decodes all of `option`, the content of an RDMA2_OPTIONAL. Fails with WireError::bad_option for malformed XDR, for
/// an invalid value of a known characteristic, and for a list of more than kMaxCharacteristics. In the result, values
/// of unknown characteristics refer to the memory of `option`.
boost::system::result<void, WireError> decode(Octets option, InitOption& out);
boost::system::result<void, WireError> decode(Octets option, RequestOption& out);
boost::system::result<void, WireError> decode(Octets option, ResponseOption& out);
boost::system::result<void, WireError> decode(Octets option, UpdateOption& out);

/// Returns the number of bytes written, or BaseError::buffer_overflow.
Result<std::size_t> encode(const InitOption& option, MutableOctets out) noexcept;
Result<std::size_t> encode(const RequestOption& option, MutableOctets out) noexcept;
Result<std::size_t> encode(const ResponseOption& option, MutableOctets out) noexcept;
Result<std::size_t> encode(const UpdateOption& option, MutableOctets out) noexcept;

}  // namespace rpcrdma::wire::v2

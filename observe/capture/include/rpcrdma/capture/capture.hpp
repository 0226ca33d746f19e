// SPDX-License-Identifier: BSD-3-Clause
#pragma once
// Captures the traffic of fabrics, for Wireshark and tshark.
//
// Operation. The capture wraps fabrics (fabric::Tap). The work requests and completions of their queue pairs become
// frames of iWARP over TCP (RFC 5040, 5041, 5044) in a pcapng file, whatever the fabric is. A thread of the capture
// writes the file.
//
// Memory. Each wrapped fabric has a ring of CaptureOptions::buffer bytes, and a second one once it has recorded a
// rejected connection. A frame that does not fit is dropped and counted: the data path never waits for the disk.
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "rpcrdma/base/export.hpp"
#include "rpcrdma/base/log.hpp"
#include "rpcrdma/fabric/tap.hpp"

namespace rpcrdma::capture {

/// A range of IP addresses: those that equal `address` in their first `bits` bits.
struct AddressRange {
  boost::asio::ip::address address;  ///< IPv4 or IPv6
  unsigned bits = 0;                 ///< 0 to 32 for IPv4, 0 to 128 for IPv6
  /// Whether `other` is in the range. An IPv4 range also contains the IPv4-mapped IPv6 addresses of its addresses.
  RPCRDMA_EXPORT bool contains(const boost::asio::ip::address& other) const noexcept;
};

/// The value of CaptureOptions::snap that keeps all bytes of each RDMA Read and Write.
inline constexpr std::uint32_t kWhole = 0xffffffff;
/// The least value of CaptureOptions::size other than 0, in bytes.
inline constexpr std::uint64_t kLeastSize = 65536;

/// The traffic to capture, and the file for it.
struct CaptureOptions {
  std::filesystem::path file{};               ///< created with mode 0600, or truncated; a FIFO needs a reader
  std::uint64_t size = 0;                     ///< bytes of one file, at least kLeastSize; 0: one file of any size
  std::uint32_t files = 2;                    ///< if `size` is not 0: the number of files that are kept, at least 1
  std::uint32_t snap = kWhole;                ///< bytes kept of each RDMA Read and Write; Sends are kept whole
  std::optional<AddressRange> peer{};         ///< captures connections with these peers only
  bool stopped = false;                       ///< true: captures nothing until start()
  std::size_t buffer = std::size_t{4} << 20;  ///< bytes of each ring of a fabric; a power of two, at least 128 KiB
};

/// Why a text does not describe a capture, or why the capture cannot be started.
struct CaptureRefusal {
  std::string why;  ///< one line, for the user
};

/// Parses FILE[,size=N][,files=N][,snap=N][,peer=CIDR][,stopped], where numbers may have the suffix K, M or G.
RPCRDMA_EXPORT boost::system::result<CaptureOptions, CaptureRefusal> parse_capture(std::string_view text);

/// Totals of a capture.
struct CaptureCounts {
  std::uint64_t frames = 0;  ///< written, including the synthetic handshake of each connection
  /// Frames that were not written, because the ring was full or writing to the file failed. If too many ended
  /// connections still wait for the disk, a new connection is not recorded at all, and counts here as one frame.
  std::uint64_t dropped = 0;
  std::uint64_t bytes = 0;  ///< written to files
};

/// One capture, of any number of fabrics. All functions may be called from any thread.
class RPCRDMA_EXPORT Capture final : public fabric::Tap {
 public:
  class Core;  ///< private: shared by the capture, its thread and the wrapped fabrics

  /// Creates the file and starts the thread. Fails with the error of opening the file, or with
  /// BaseError::invalid_argument if a value of `options` is out of range. If the file cannot be written later, the
  /// capture stops and writes one line to `log`.
  static Result<std::shared_ptr<Capture>> open(CaptureOptions options, Log log);
  /// Calls close().
  ~Capture() override;
  Capture(const Capture&) = delete;
  Capture& operator=(const Capture&) = delete;

  /// Returns a fabric that owns `fabric` and captures its traffic. The objects that this fabric makes may outlive the
  /// capture. Their traffic is then no longer captured.
  std::unique_ptr<fabric::Fabric> wrap(std::unique_ptr<fabric::Fabric> fabric) override;

  /// Captures from now on. Has no effect after close().
  void start() noexcept;
  /// Pauses the capture. The thread then writes the frames captured so far and the statistics of the interface. The
  /// file is complete when the thread has written them, which may be after this function has returned.
  void stop() noexcept;
  /// Whether traffic is captured now.
  bool running() const noexcept;
  /// start() if stopped, else stop(). May be called in a signal handler.
  void toggle() noexcept;
  /// Writes the captured frames, and ends the thread. Gives up after a few seconds if the disk does not
  /// answer.
  void close() noexcept;

  /// Totals so far.
  CaptureCounts counts() const noexcept;

 private:
  explicit Capture(std::shared_ptr<Core> core);
  std::shared_ptr<Core> core_;
};

}  // namespace rpcrdma::capture

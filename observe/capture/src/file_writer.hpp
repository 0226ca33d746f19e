// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <atomic>

#include "frames.hpp"
#include "pcapng.hpp"
#include "rpcrdma/base/fd.hpp"
#include "rpcrdma/capture/capture.hpp"

namespace rpcrdma::capture {

/// Writes records to a file, or to a ring of files. Used by one thread, except for counts().
///
/// Each file can be read by itself: it shows the opening of a connection before that connection's first frame. If a
/// write fails, later records are dropped until the next run, and a file that is no FIFO is truncated to a whole number
/// of blocks.
class FileWriter {
 public:
  /// `given_up` becomes true when the writer must not wait any longer for a full FIFO.
  FileWriter(const CaptureOptions& options, const std::atomic<bool>& given_up)
      : options_(options), given_up_(given_up) {}

  error_code open();
  /// Adds a record to the file. `run`: how many times the capture has been started so far. After a failed write, drops
  /// records until `run` changes.
  void write(const Record& record, std::uint64_t run);
  /// Passes the buffered blocks to the kernel. Returns the most recent error if no call of flush() has returned it yet.
  error_code flush();
  /// Adds a block with statistics to the file if write() has added a record since the last such block. The file stays
  /// open, and write() may add more records. `dropped` is the number of records that did not reach write().
  void pause(std::uint64_t dropped);
  /// Sets the number of dropped records for the files that write() completes.
  void set_dropped(std::uint64_t dropped) noexcept { dropped_ = dropped; }
  void close(std::uint64_t dropped);
  /// May be called on any thread.
  CaptureCounts counts() const noexcept;

 private:
  void show_opening(const Record& record, bool late);
  void show_message(const Record& record);
  MutableOctets add(const Record& record, const TcpHeader& header, std::size_t payload, std::string_view comment);
  void add_statistics(std::uint64_t dropped);
  void rotate();
  std::filesystem::path old_name(std::uint32_t number) const;
  void begin_file();
  void write_all() noexcept;
  void fail(error_code why) noexcept;

  const CaptureOptions& options_;
  const std::atomic<bool>& given_up_;
  Fd file_;
  std::uint64_t number_ = 0;  // connections whose Connection::shown_in has another value must be shown again
  std::uint64_t size_ = 0;    // bytes in the file
  std::int64_t began_ = 0;
  std::uint64_t run_ = 0;
  std::uint64_t dropped_ = 0;
  bool failed_ = false;
  bool complete_ = true;  // write() has accepted no record since add_statistics() last ran
  error_code unreported_;
  pcapng::Bytes blocks_;     // pcapng blocks that write_all() has not yet written to the file
  std::size_t pending_ = 0;  // number of packets in blocks_
  std::string comment_;
  std::atomic<std::uint64_t> frames_{0};
  std::atomic<std::uint64_t> lost_{0};
  std::atomic<std::uint64_t> bytes_{0};
};

}  // namespace rpcrdma::capture

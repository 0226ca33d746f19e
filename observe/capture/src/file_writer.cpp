// SPDX-License-Identifier: BSD-3-Clause
#include "file_writer.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <utility>

#include "rpcrdma/base/error.hpp"

namespace rpcrdma::capture {
namespace {

/// The TCP sequence number of the first FPDU of a connection, in either direction.
constexpr std::uint32_t kFirstSequence = 0x10000;
constexpr std::size_t kWriteSize = std::size_t{64} << 10;
constexpr int kPollMs = 50;
constexpr std::string_view kApplication = "librpcrdma";
constexpr std::string_view kAbout =
    "Made from the work requests and completions of one program. Whatever the fabric was, frames have the form of "
    "iWARP over TCP. IP, TCP and MPA headers, CRCs, message sequence numbers and the STags of Read sinks are made up.";

std::int64_t time_now() noexcept {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::system_clock::now().time_since_epoch())
      .count();
}

error_code last_error() noexcept { return {errno, boost::system::system_category()}; }

std::string_view text_of(const Record& record) noexcept {
  return {reinterpret_cast<const char*>(record.content().data()), record.kept};
}

}  // namespace

error_code FileWriter::open() {
  begin_file();
  return unreported_;
}

void FileWriter::begin_file() {
  // O_NONBLOCK: a FIFO without a reader is an error, and a full one does not block.
  constexpr int kFlags = O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK;
  Fd file(::open(options_.file.c_str(), kFlags, 0600));
  if (!file) {
    fail(last_error());
    file_ = {};
    size_ = 0;
    return;
  }
  file_ = std::move(file);
  ++number_;
  size_ = 0;
  began_ = time_now();
  pcapng::begin_file(blocks_, kApplication, kAbout);
  write_all();
}

void FileWriter::write(const Record& record, std::uint64_t run) {
  if (std::exchange(run_, run) != run) failed_ = false;
  if (!failed_) {
    if (size_ == 0)
      begin_file();  // an earlier run could not create this file or write its header, or it is a FIFO
    else if (options_.size != 0 && size_ + blocks_.size() >= options_.size)
      rotate();
  }
  if (failed_) {
    lost_.fetch_add(1, std::memory_order_relaxed);
    return;
  }
  complete_ = false;
  Connection& connection = *record.connection;
  const bool late = connection.shown_in != number_ && record.start.kind != RecordKind::open;
  if (connection.shown_in != number_) show_opening(record, late);
  if (record.start.kind != RecordKind::open) show_message(record);
  connection.run = run;
  if (blocks_.size() >= kWriteSize) write_all();
}

/// Adds the frames of the connection's handshake before its first record in this file. Their sequence numbers make the
/// handshake end where `record` begins in the two streams. If `late` is true, the handshake took place earlier than its
/// frames state, and a comment in the file says so.
void FileWriter::show_opening(const Record& record, bool late) {
  Connection& connection = *record.connection;
  connection.shown_in = number_;
  connection.run = run_;
  const std::vector<std::byte> request = startup_frame(true, false, connection.request_data);
  const std::vector<std::byte> reply = startup_frame(false, connection.refused, connection.reply_data);
  const bool outbound = connection.connector;  // the direction of the request
  const bool sends = outbound == (record.outbound != 0);
  const std::uint32_t first = kFirstSequence + (sends ? record.position : record.confirmed);
  const std::uint32_t second = kFirstSequence + (sends ? record.confirmed : record.position);
  const auto request_at = first - static_cast<std::uint32_t>(request.size());
  const auto reply_at = second - static_cast<std::uint32_t>(reply.size());
  const auto add_frame = [&](const TcpHeader& header, Octets payload, std::string_view comment) {
    put_segment(connection, header, payload, add(record, header, payload.size(), comment));
  };
  comment_ = fmt::format("connection {}: {}{}", connection.number, connection.remark,
                         late ? "; it was opened before its first frame in this file" : "");
  add_frame({outbound, kSyn, request_at - 1, 0}, {}, comment_);
  if (connection.silent) return;
  add_frame({!outbound, kSyn | kAck, reply_at - 1, request_at}, {}, {});
  add_frame({outbound, kAck, request_at, reply_at}, {}, {});
  add_frame({outbound, kPush | kAck, request_at, reply_at}, request, {});
  add_frame({!outbound, kPush | kAck, reply_at, first}, reply, connection.refused ? "the connection was refused" : "");
}

void FileWriter::show_message(const Record& record) {
  Connection& connection = *record.connection;
  TcpHeader header{record.outbound != 0, kAck, kFirstSequence + record.position, kFirstSequence + record.confirmed,
                   connection.window};
  comment_.clear();
  switch (record.start.kind) {
    case RecordKind::frame:
      header.flags = kPush | kAck;
      if (record.whole != 0) comment_ = fmt::format("the first bytes of {}", record.whole);
      break;
    case RecordKind::event:
      // Changes the window: Wireshark reports an empty segment with an unchanged window as a duplicate acknowledgement.
      header.window = connection.window ^= 1;
      comment_ = text_of(record);
      break;
    default:
      comment_ =
          fmt::format("connection {} ended{}{}", connection.number, record.kept == 0 ? "" : ": ", text_of(record));
      header.flags = record.kept == 0 ? kFin | kAck : kReset | kAck;
  }
  if (connection.run != run_) comment_ += "; the capture was stopped before this frame";
  if (record.lost != 0)
    comment_ += fmt::format("; {} frames of this connection were dropped before this one", record.lost);
  if (comment_.starts_with("; ")) comment_.erase(0, 2);
  if (record.start.kind == RecordKind::frame)
    put_fpdu(connection, header, record.content(), add(record, header, fpdu_size(record.kept), comment_));
  else
    put_segment(connection, header, {}, add(record, header, 0, comment_));
}

/// Appends to blocks_ a packet block for one TCP segment. Returns the place in the block into which the caller writes
/// the IP packet with the segment.
MutableOctets FileWriter::add(const Record& record, const TcpHeader& header, std::size_t payload,
                              std::string_view comment) {
  ++pending_;
  return pcapng::add_packet(blocks_,
                            {record.when, header.outbound, segment_size(*record.connection, header, payload), comment});
}

error_code FileWriter::flush() {
  if (!failed_ && !blocks_.empty()) write_all();
  return std::exchange(unreported_, {});
}

void FileWriter::pause(std::uint64_t dropped) {
  if (!complete_) add_statistics(dropped);
}

void FileWriter::add_statistics(std::uint64_t dropped) {
  complete_ = true;
  dropped_ = dropped;
  const std::uint64_t frames = frames_.load(std::memory_order_relaxed) + pending_;
  if (failed_ || !file_) return;
  pcapng::add_statistics(blocks_, {began_, time_now(), frames + dropped, dropped});
  write_all();
}

void FileWriter::close(std::uint64_t dropped) {
  add_statistics(dropped);
  file_ = {};
}

CaptureCounts FileWriter::counts() const noexcept {
  return {frames_.load(std::memory_order_relaxed), lost_.load(std::memory_order_relaxed),
          bytes_.load(std::memory_order_relaxed)};
}

/// Returns the name of an earlier file of the capture. If the present file is FILE.pcapng, the file before it has the
/// number 1 and the name FILE.1.pcapng. Older files have higher numbers.
std::filesystem::path FileWriter::old_name(std::uint32_t number) const {
  std::filesystem::path name = options_.file;
  const std::string extension = name.extension().string();
  name.replace_extension();
  name += fmt::format(".{}{}", number, extension);
  return name;
}

void FileWriter::rotate() {
  add_statistics(dropped_);
  std::error_code ignored;  // the user may have removed a file
  // Removes the oldest file first, so that no rename replaces a file. Before such a rename, some file systems write the
  // renamed file to the disk.
  if (options_.files > 1) std::filesystem::remove(old_name(options_.files - 1), ignored);
  for (std::uint32_t number = options_.files - 1; number > 1; --number)
    std::filesystem::rename(old_name(number - 1), old_name(number), ignored);
  if (options_.files > 1) std::filesystem::rename(options_.file, old_name(1), ignored);
  begin_file();
}

/// Writes blocks_ to the file, and clears blocks_. On failure, drops all of blocks_, and truncates the file to the
/// blocks that earlier calls have written.
void FileWriter::write_all() noexcept {
  error_code failed;
  std::size_t done = 0;
  while (done != blocks_.size() && !failed) {
    const ssize_t count = ::write(file_.get(), blocks_.data() + done, blocks_.size() - done);
    if (count >= 0) {
      done += static_cast<std::size_t>(count);
    } else if (errno == EAGAIN && !given_up_.load()) {
      pollfd wanted{.fd = file_.get(), .events = POLLOUT, .revents = 0};
      ::poll(&wanted, 1, kPollMs);
    } else if (errno != EINTR) {
      failed = last_error();
    }
  }
  if (failed) {
    fail(failed);
    ++number_;  // blocks_ may contain the openings of connections, which the next run therefore shows again
    // Removes the part of blocks_ that has been written.
    [[maybe_unused]] const int cut = ::ftruncate(file_.get(), static_cast<off_t>(size_));
    // lseek() fails for a FIFO, which keeps that part. The next run opens the FIFO again: a new reader needs the
    // header.
    if (::lseek(file_.get(), static_cast<off_t>(size_), SEEK_SET) < 0) size_ = 0;
    lost_.fetch_add(pending_, std::memory_order_relaxed);
  } else {
    size_ += blocks_.size();
    bytes_.fetch_add(blocks_.size(), std::memory_order_relaxed);
    frames_.fetch_add(pending_, std::memory_order_relaxed);
  }
  blocks_.clear();
  pending_ = 0;
}

void FileWriter::fail(error_code why) noexcept {
  failed_ = true;
  unreported_ = why;
}

}  // namespace rpcrdma::capture

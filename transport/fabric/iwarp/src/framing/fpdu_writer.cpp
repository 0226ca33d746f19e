// SPDX-License-Identifier: BSD-3-Clause
#include "framing/fpdu_writer.hpp"

#include <algorithm>
#include <cstring>

namespace rpcrdma::fabric::iwarp {

void FpduWriter::start(bool crc, bool markers) {
  crc_on_ = crc;
  markers_ = markers;
  std::size_t room = kMaxFrames * kGlue;
  if (markers) room = (kMaxOctets + fpdu_size(kMaxMulpdu)) * (kMarkerInterval + 2 * kMarkerSize) / kMarkerInterval;
  glue_.resize(room);
}

bool FpduWriter::has_room(bool in_message) const noexcept {
  if (vectors_.empty()) return true;
  const std::size_t limit = in_message && !markers_ ? kMaxLongOctets : kMaxOctets;
  if (ends_.size() == kMaxFrames || position_ - batch_start_ >= limit) return false;
  return vectors_.size() + kMaxGather + 2 <= kMaxVectors;
}

// [5044-3-a] [5041-4.4-a] each FPDU carries one segment
void FpduWriter::begin(const DdpHeader& header, Octets extra, std::size_t payload) noexcept {
  std::array<std::byte, kFpduLengthSize + kUntaggedHeaderSize> octets;
  const std::size_t ulpdu = header.size() + extra.size() + payload;
  Writer out(octets);
  out.u16(static_cast<std::uint16_t>(ulpdu));  // [5044-4.1-a] the length field
  // [5041-4.4-a] every segment begins with a DDP header
  encode(header, out);
  if (vectors_.empty()) batch_start_ = position_;
  pad_ = fpdu_pad(ulpdu);
  crc_ = {};
  in_frame_ = false;
  emit(out.written(), true);
  emit(extra, true);
}

void FpduWriter::payload(Octets octets) noexcept {
  if (markers_) {
    if (octets.size() >= kLargePayload) copied_ += octets.size();
    return emit(octets, true);
  }
  if (octets.empty()) return;
  if (crc_on_) crc_.add(octets);
  refer(octets.data(), octets.size());
  position_ += octets.size();
}

void FpduWriter::end() noexcept {
  std::array<std::byte, kFpduCrcSize> tail{};
  emit(Octets(tail).first(pad_), true);  // [5044-4.1-b] the pad is zero
  // [5044-4.4-g] the CRC covers a marker between pad and CRC
  if (markers_ && until_marker(position_) == 0) emit_marker();
  // [5044-4.4-f] the CRC field is present even without CRCs
  if (crc_on_) encode_crc(crc_.value(), tail.data());
  emit(tail, false);
  ends_.push_back(position_);
  ++frames_;
}

/// Copies `octets` into the stream. `covered` states whether the CRC covers these bytes, which holds for all but the
/// CRC field. Before and between covered bytes, this function inserts the markers that are due.
/// [5044-4.3-a] [5044-4.3-i] markers only if the peer requested them
void FpduWriter::emit(Octets octets, bool covered) noexcept {
  while (!octets.empty()) {
    std::size_t n = octets.size();
    if (markers_) {
      if (covered && until_marker(position_) == 0) emit_marker();
      if (const std::size_t room = until_marker(position_); room != 0) n = std::min(n, room);
    }
    const Octets part = octets.first(n);
    if (!in_frame_) frame_start_ = position_;
    in_frame_ = true;
    if (covered && crc_on_) crc_.add(part);
    refer(copy(part), n);
    position_ += n;
    octets = octets.subspan(n);
  }
}

// [5044-4.3-c] [5044-4.3-f] all markers of a frame point to its length field; [5044-4.3-g] [5044-7.1.2-l] a marker
// before the first frame, or at the start of a frame, is 0
void FpduWriter::emit_marker() noexcept {
  const Marker marker = encode_marker(in_frame_ ? static_cast<std::uint32_t>(position_ - frame_start_) : 0);
  if (crc_on_) crc_.add(marker);
  refer(copy(marker), marker.size());
  position_ += marker.size();
}

std::byte* FpduWriter::copy(Octets octets) noexcept {
  std::byte* at = glue_.data() + glue_used_;
  std::memcpy(at, octets.data(), octets.size());
  glue_used_ += octets.size();
  return at;
}

void FpduWriter::refer(const std::byte* at, std::size_t size) noexcept {
  if (vectors_.size() > next_) {
    iovec& last = vectors_.back();
    if (static_cast<const std::byte*>(last.iov_base) + last.iov_len == at) {
      last.iov_len += size;
      return;
    }
  }
  vectors_.push_back({const_cast<std::byte*>(at), size});
}

void FpduWriter::advance(std::size_t count) noexcept {
  written_ += count;
  while (next_ < vectors_.size() && count >= vectors_[next_].iov_len) count -= vectors_[next_++].iov_len;
  if (next_ == vectors_.size()) return reset();
  vectors_[next_].iov_base = static_cast<std::byte*>(vectors_[next_].iov_base) + count;
  vectors_[next_].iov_len -= count;
}

void FpduWriter::reset() noexcept {
  vectors_.clear();
  next_ = 0;
  ends_.clear();
  glue_used_ = 0;
}

std::vector<std::byte> FpduWriter::cut() {
  std::uint64_t start = batch_start_;
  std::uint64_t end = written_;
  for (const std::uint64_t frame_end : ends_) {
    if (frame_end > written_) {
      if (written_ > start) end = frame_end;
      break;
    }
    start = frame_end;
  }
  std::vector<std::byte> rest = copy_pending(static_cast<std::size_t>(end - written_));
  reset();
  written_ = position_ = end;
  return rest;
}

std::vector<std::byte> FpduWriter::drain() {
  std::vector<std::byte> all = copy_pending(static_cast<std::size_t>(position_ - written_));
  reset();
  written_ = position_;
  return all;
}

std::vector<std::byte> FpduWriter::copy_pending(std::size_t count) {
  std::vector<std::byte> out;
  out.reserve(count);
  for (const iovec& vector : pending()) {
    const std::size_t n = std::min(count, vector.iov_len);
    const auto* at = static_cast<const std::byte*>(vector.iov_base);
    out.insert(out.end(), at, at + n);
    count -= n;
  }
  return out;
}

}  // namespace rpcrdma::fabric::iwarp

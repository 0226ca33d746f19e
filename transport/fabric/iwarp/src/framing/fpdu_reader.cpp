// SPDX-License-Identifier: BSD-3-Clause
#include "framing/fpdu_reader.hpp"

#include <algorithm>
#include <cstring>
#include <new>

namespace rpcrdma::fabric::iwarp {
namespace {

/// A read offers kMinScratch bytes of the scratch buffer at first, and up to kMaxScratch while many small frames
/// arrive: room for the replies to 32 READs of 4 KiB, as many as there are default credits. The peer can then answer
/// all of them in one turn. The buffer has kFirstScratch bytes until it needs more, and kLargeScratch from then on.
constexpr std::size_t kMinScratch = 1024;
constexpr std::size_t kFirstScratch = 16384;
constexpr std::size_t kMaxScratch = 147456;
/// After this many small frames in a row, the reader no longer expects a large frame. Between two large frames, a peer
/// usually sends no more small frames than calls are in progress: at most 32 with the default credits.
constexpr std::size_t kGuarded = 32;
/// Every frame has at least this many bytes: the length field and the shortest DDP header, that of a tagged segment.
/// While a large frame is expected, a read puts at most this many bytes of each following frame into the scratch
/// buffer.
constexpr std::size_t kFirst = kFpduLengthSize + kTaggedHeaderSize;
/// What a read takes between two large payloads at most: pad and CRC of one frame, and the first bytes of the next one.
constexpr std::size_t kMaxGap = 3 + kFpduCrcSize + kFirst;
/// The parts of the scratch buffer that a plan with expected frames uses: this many bytes at its start. gather() puts
/// what has arrived in place of these frames after them.
constexpr std::size_t kGaps = (1 + FpduReader::kExpected) * kMaxGap;
constexpr std::size_t kLargeScratch = kGaps + FpduReader::kExpected * (65536 + kMaxGap);
static_assert(kLargeScratch >= kMaxScratch);

/// What a read takes after a payload of a ULPDU of this length, if a large payload may follow.
constexpr std::size_t gap_after(std::size_t ulpdu) noexcept { return fpdu_pad(ulpdu) + kFpduCrcSize + kFirst; }

}  // namespace

void FpduReader::start(bool crc, bool markers) {
  crc_on_ = crc;
  markers_ = markers;
  scratch_ = std::make_unique_for_overwrite<std::byte[]>(kFirstScratch);
  scratch_capacity_ = kFirstScratch;
  scratch_size_ = kMinScratch;
  smalls_ = kGuarded;
}

const FpduReader::Plan& FpduReader::plan() noexcept {
  plan_.clear();
  if (state_ == State::payload && target_ != nullptr && !markers_) {
    plan_.emplace_back(target_, remaining_);
    if (large_ && rest_ != 0 && expecting_ && enlarge_scratch()) {
      expect_frames();
      return plan_;
    }
  }
  plan_.emplace_back(scratch_.get(), on_guard() ? std::min(until_large(), scratch_capacity_) : scratch_size_);
  return plan_;
}

/// Appends the buffers after the current payload for the frames that are expected to follow it.
void FpduReader::expect_frames() noexcept {
  std::byte* scratch = scratch_.get();
  std::byte* at = target_ + remaining_;
  std::size_t ulpdu = ulpdu_length_;
  for (std::size_t left = rest_;;) {
    plan_.emplace_back(scratch, gap_after(ulpdu));
    if (left == 0 || plan_.size() == plan_.capacity()) return;
    scratch += gap_after(ulpdu);
    const std::size_t payload = std::min(left, ulpdu - kTaggedHeaderSize);
    plan_.emplace_back(at, payload);
    at += payload;
    left -= payload;
    ulpdu = kTaggedHeaderSize + payload;
  }
}

/// Whether reads stop where a large payload may begin: true if one is expected and the stream has no markers.
bool FpduReader::on_guard() const noexcept { return smalls_ < kGuarded && !markers_; }

/// Returns how many bytes, at least 1, a read may put into the scratch buffer so that it puts no byte of the next large
/// payload there.
std::size_t FpduReader::until_large() const noexcept {
  switch (state_) {
    case State::header:
      if (collected_ < kFirst) return kFirst - collected_;
      // The frame is untagged, because a tagged header would be complete after kFirst bytes. A small frame is read to
      // its end, with the first kFirst bytes of the next frame. A large frame is read to the end of its header, where
      // its payload begins.
      return (ulpdu_length_ < kLargePayload ? fpdu_size(ulpdu_length_) + kFirst
                                            : kFpduLengthSize + kUntaggedHeaderSize) -
             collected_;
    case State::trailer: return pad_ + kFpduCrcSize - collected_ + kFirst;
    default: return (target_ == nullptr ? remaining_ : 0) + gap_after(ulpdu_length_);
  }
}

/// Called when the header of a frame has arrived. Sets large_ for this frame. smalls_ counts the small frames since the
/// last large one, but not beyond kGuarded. A large frame resets smalls_ and scratch_size_. It sets expecting_ if the
/// frame before it gave reason to expect it.
void FpduReader::note_header() noexcept {
  large_ = remaining_ >= kLargePayload;
  if (!large_) {
    if (smalls_ < kGuarded) ++smalls_;
    return;
  }
  if (rest_ != 0 && smalls_ == 0 && ulpdu_length_ == last_large_) expecting_ = true;
  last_large_ = ulpdu_length_;
  smalls_ = 0;
  scratch_size_ = kMinScratch;
}

void FpduReader::filled(std::size_t count) noexcept {
  const bool full = !on_guard() && count == boost::asio::buffer_size(plan_);
  for (std::size_t i = 0; count != 0 && state_ != State::stopped; ++i) {
    const boost::asio::mutable_buffer& buffer = plan_[i];
    const Octets octets(static_cast<const std::byte*>(buffer.data()), std::min(count, buffer.size()));
    const bool in_scratch = (plan_.size() - i) % 2 != 0;
    if (in_scratch && markers_) {
      consume_with_markers(octets);
    } else if (in_scratch) {
      consume(octets);
    } else if (state_ == State::payload && target_ == octets.data() && remaining_ == buffer.size()) {
      placed(octets.size());
    } else {
      consume(gather(i, count));
      expecting_ = false;
      last_large_ = 0;  // that of a frame that was copied
      return;
    }
    count -= octets.size();
  }
  if (full && !on_guard() && state_ != State::stopped) grow();
}

/// Copies the last `count` bytes of a read, which begin in buffer `first` of the plan, to the scratch buffer. To be
/// called if this buffer was planned for the payload of an expected frame, but another frame has arrived.
Octets FpduReader::gather(std::size_t first, std::size_t count) noexcept {
  std::byte* const begin = scratch_.get() + kGaps;
  const auto rest = std::span(plan_.data(), plan_.size()).subspan(first);
  return {begin, boost::asio::buffer_copy(boost::asio::buffer(begin, count), rest)};
}

/// Doubles the number of bytes that the next read may put into the scratch buffer, which is empty. The number stays the
/// same if the buffer cannot become larger.
void FpduReader::grow() noexcept {
  const std::size_t wanted = std::min(2 * scratch_size_, kMaxScratch);
  if (wanted <= scratch_capacity_ || enlarge_scratch()) scratch_size_ = wanted;
}

/// Gives the scratch buffer, which is empty, its full size. Returns false if there is no memory for it.
bool FpduReader::enlarge_scratch() noexcept {
  if (scratch_capacity_ == kLargeScratch) return true;
  std::unique_ptr<std::byte[]> larger(new (std::nothrow) std::byte[kLargeScratch]);
  if (larger == nullptr) return false;
  scratch_ = std::move(larger);
  scratch_capacity_ = kLargeScratch;
  return true;
}

// [5044-5.2-a] [5044-5.1-b] [5041-3-c] finds frame boundaries by the length field alone
void FpduReader::consume(Octets octets) noexcept {
  while (!octets.empty()) {
    switch (state_) {
      case State::header: take_header(octets); break;
      case State::payload: take_payload(octets); break;
      case State::trailer: take_trailer(octets); break;
      case State::stopped: return;
    }
  }
}

/// Appends bytes of `octets` to the header, up to `wanted` bytes in all; returns the number of bytes taken.
std::size_t FpduReader::collect(Octets octets, std::size_t wanted) noexcept {
  if (collected_ >= wanted) return 0;
  const std::size_t n = std::min(octets.size(), wanted - collected_);
  std::memcpy(header_.data() + collected_, octets.data(), n);
  // Adds the bytes to the CRC now and not when the header is complete. The CRC covers the bytes in the order of the
  // stream, and a marker may come between these bytes and the rest of the header.
  if (crc_on_) crc_.add(octets.first(n));
  collected_ += n;
  return n;
}

void FpduReader::take_header(Octets& octets) noexcept {
  octets = octets.subspan(collect(octets, kFirst));
  if (collected_ < kFpduLengthSize) return;
  ulpdu_length_ = Reader(header_).u16();
  // A ULPDU that is shorter than the shortest header, the tagged header, is no DDP segment.
  if (ulpdu_length_ < kTaggedHeaderSize) return fail(terminate::kMarkers);
  if (collected_ <= kFpduLengthSize) return;
  const std::size_t size = is_tagged(header_[kFpduLengthSize]) ? kTaggedHeaderSize : kUntaggedHeaderSize;
  if (ulpdu_length_ < size) return fail(terminate::kMarkers);
  octets = octets.subspan(collect(octets, kFpduLengthSize + size));
  if (collected_ < kFpduLengthSize + size) return;

  Reader in(raw_header());
  const DdpHeader header = decode_ddp(in);
  remaining_ = ulpdu_length_ - size;  // [5041-3-e] the length of the segment without its header
  pad_ = fpdu_pad(ulpdu_length_);
  note_header();
  state_ = remaining_ == 0 ? State::trailer : State::payload;
  collected_ = 0;
  // [5044-3-f] [5044-6-b] The payload is written to target_ as it arrives. The sink delivers the segment only when
  // on_segment_end() is called, which is after the end of the FPDU.
  const Target target = sink_.on_segment(header, static_cast<std::uint32_t>(remaining_));
  target_ = target.at;
  rest_ = target.rest;
}

void FpduReader::take_payload(Octets& octets) noexcept {
  const std::size_t n = std::min(octets.size(), remaining_);
  if (target_ != nullptr) {
    std::memcpy(target_, octets.data(), n);
    if (large_) copied_ += n;
    placed(n);
  } else {
    if (crc_on_) crc_.add(octets.first(n));
    remaining_ -= n;
    if (remaining_ == 0) state_ = State::trailer;
  }
  octets = octets.subspan(n);
}

/// Notes that `count` bytes of the payload have been placed at their target.
void FpduReader::placed(std::size_t count) noexcept {
  if (crc_on_) crc_.add({target_, count});
  target_ += count;
  remaining_ -= count;
  if (remaining_ == 0) state_ = State::trailer;
}

void FpduReader::take_trailer(Octets& octets) noexcept {
  const std::size_t wanted = pad_ + kFpduCrcSize;
  const std::size_t n = std::min(octets.size(), wanted - collected_);
  std::memcpy(trailer_.data() + collected_, octets.data(), n);
  // [5044-4.1-b] the pad is ignored; only the CRC covers it
  if (crc_on_ && collected_ < pad_) crc_.add(octets.first(std::min(n, pad_ - collected_)));
  collected_ += n;
  octets = octets.subspan(n);
  if (collected_ == wanted) finish();
}

void FpduReader::finish() noexcept {
  // [5044-4.1-d] [5044-4.4-j] [5044-4.4-i] [5044-6-a] a frame with a wrong CRC is not delivered; [5044-4.4-d] without
  // CRCs the field is not checked
  const bool good = !crc_on_ || crc_.value() == decode_crc(trailer_.data() + pad_);
  state_ = State::header;
  collected_ = 0;
  target_ = nullptr;
  crc_ = {};
  if (!good) return fail(terminate::kCrc);
  sink_.on_segment_end();
}

// [5044-8-a] [5044-8-c] no later frame is delivered
void FpduReader::fail(const TerminateCode& error) noexcept {
  state_ = State::stopped;
  sink_.on_framing_error(error);
}

Octets FpduReader::raw_header() const noexcept {
  const std::size_t size = is_tagged(header_[kFpduLengthSize]) ? kTaggedHeaderSize : kUntaggedHeaderSize;
  return Octets(header_).subspan(kFpduLengthSize, size);
}

/// [5044-4.3-h] Removes the markers from the stream. Slow path: payloads are copied from the scratch buffer.
void FpduReader::consume_with_markers(Octets octets) noexcept {
  while (!octets.empty() && state_ != State::stopped) {
    if (marker_collected_ != 0 || until_marker(position_) == 0) {
      const std::size_t n = std::min(octets.size(), kMarkerSize - marker_collected_);
      std::memcpy(marker_.data() + marker_collected_, octets.data(), n);
      marker_collected_ += n;
      octets = octets.subspan(n);
      if (marker_collected_ < kMarkerSize) return;
      take_marker();
      continue;
    }
    const std::size_t n = std::min(octets.size(), until_marker(position_));
    for (Octets part = octets.first(n); !part.empty() && state_ != State::stopped;) {
      if (between_frames()) frame_start_ = position_;
      const std::size_t before = part.size();
      switch (state_) {
        case State::header: take_header(part); break;
        case State::payload: take_payload(part); break;
        case State::trailer: take_trailer(part); break;
        case State::stopped: break;
      }
      position_ += before - part.size();
    }
    octets = octets.subspan(n);
  }
}

void FpduReader::take_marker() noexcept {
  // [5044-4.3-d] a marker between two frames belongs to the second
  const std::uint64_t distance = between_frames() ? 0 : position_ - frame_start_;
  if (crc_on_) crc_.add(marker_);  // [5044-4.4-g] [5044-4.4-h] the CRC covers the markers
  position_ += kMarkerSize;
  marker_collected_ = 0;
  // [5044-8-e] [5044-5.2-b] the marker must point to the start of its frame
  if (decode_marker(marker_) != distance) fail(terminate::kMarkers);
}

}  // namespace rpcrdma::fabric::iwarp

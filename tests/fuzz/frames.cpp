// SPDX-License-Identifier: BSD-3-Clause
// A peer's stream after the MPA set-up. The first byte of the input selects CRC, markers, and the slices in which the
// reader receives the stream. The delivered data must not depend on the slices.
#include <cstdlib>
#include <memory>
#include <vector>

#include "framing/fpdu_reader.hpp"
#include "support/feed_reader.hpp"
#include "wire/read_request.hpp"

namespace {

using namespace rpcrdma;
using namespace rpcrdma::fabric::iwarp;

class Sink final : public SegmentSink {
 public:
  Sink(bool crc, bool markers) : reader_(*this) { reader_.start(crc, markers); }

  void feed(Octets bytes, std::size_t step) {
    test::feed_reader(reader_, bytes, [step] { return step; });
  }
  bool operator==(const Sink& other) const {
    return failed_ == other.failed_ && delivered_ == other.delivered_ && log_ == other.log_;
  }

 private:
  Target on_segment(const DdpHeader& header, std::uint32_t payload) noexcept override {
    header_ = header;
    size_ = payload;
    target_.reset(new std::byte[payload]);
    return {header.offset % 2 == 0 && payload != 0 ? target_.get() : nullptr};
  }
  void on_segment_end() noexcept override {
    ++delivered_;
    if (header_.offset % 2 != 0) return;
    log_.insert(log_.end(), target_.get(), target_.get() + size_);
    const Octets payload(target_.get(), size_);
    Terminate terminate;
    if (header_.opcode == static_cast<std::uint8_t>(Opcode::terminate) && decode(payload, terminate))
      static_cast<void>(describe(terminate.code));
    Reader in(payload);
    if (header_.opcode == static_cast<std::uint8_t>(Opcode::read_request)) static_cast<void>(decode_read_request(in));
  }
  void on_framing_error(const TerminateCode&) noexcept override { failed_ = true; }

  FpduReader reader_;
  DdpHeader header_;
  std::unique_ptr<std::byte[]> target_;
  std::size_t size_ = 0;
  std::size_t delivered_ = 0;
  std::vector<std::byte> log_;
  bool failed_ = false;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const bool crc = (data[0] & 1) != 0;
  const bool markers = (data[0] & 2) != 0;
  const Octets stream(reinterpret_cast<const std::byte*>(data + 1), size - 1);
  Sink whole(crc, markers);
  whole.feed(stream, stream.size());
  Sink sliced(crc, markers);
  sliced.feed(stream, 1 + (data[0] >> 2));
  if (!(whole == sliced)) std::abort();
  return 0;
}

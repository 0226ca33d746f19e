// SPDX-License-Identifier: BSD-3-Clause
#include "held_arguments.hpp"

#include <array>

#include "heap_memory.hpp"

namespace rpcrdma::tirpc {
namespace {

/// The number of bytes of heap memory (HeapMemory) after which a message gets no more of it. This memory holds the
/// bytes of the message beside its long opaque, to which the message only refers.
constexpr std::size_t kMostBeside = kLongOpaque;

/// True if `auth` writes the same bytes in each of two runs of the encoder. Libtirpc's AUTH_NONE and AUTH_SYS do so.
/// Returns false for other authenticators, because they may number or sign the messages.
bool repeats(const AUTH& auth) noexcept {
  static const auto* const none = ::authnone_create()->ah_ops;
  static const auto* const sys = [] {
    char host[] = "";
    AUTH* const made = ::authunix_create(host, 0, 0, 0, nullptr);
    const auto* const of_sys = made != nullptr ? made->ah_ops : none;
    if (made != nullptr) auth_destroy(made);
    return of_sys;
  }();
  return auth.ah_ops == none || auth.ah_ops == sys;
}

void refer_to(PayloadBuilder& out, Octets octets) {
  // borrow() takes a pointer to writable memory. The cast is safe, because the memory of an outgoing message is only
  // read.
  auto* const data = const_cast<std::byte*>(octets.data());  // NOLINT(cppcoreguidelines-pro-type-const-cast)
  out.borrow({data, static_cast<std::uint32_t>(octets.size()), 0});
}

/// Room for the start of a message, so that a short message takes no heap memory.
using Start = std::array<std::byte, 1024>;

BufferRef ref(Start& start) noexcept { return {start.data(), std::uint32_t{sizeof start}, 0}; }

}  // namespace

class HeldArguments::Recorder final : public xdr::Borrowing {
 public:
  explicit Recorder(HeldArguments& held) noexcept : held_(held) {}
  bool borrow(PayloadBuilder& out, Octets octets) override {
    if (octets.size() < kLongOpaque || octets.size() > UINT32_MAX) return false;
    // The encoder copies a second long opaque. record() fails if HeapMemory does not provide enough memory for the
    // copy.
    if (!held_.opaque_.empty()) return false;
    held_.opaque_ = octets;
    refer_to(out, octets);
    return true;
  }

 private:
  HeldArguments& held_;
};

class HeldArguments::Maker final : public xdr::Borrowing {
 public:
  Maker(HeldArguments& held, UniqueFunction<void()> make) noexcept : held_(held), make_(std::move(make)) {}
  bool borrow(PayloadBuilder& out, Octets octets) override {
    if (made || octets.size() != held_.opaque_.size() || flat(out.payload()) != held_.before_) return false;
    made = true;
    held_.opaque_ = octets;
    make_();
    refer_to(out, octets);
    return true;
  }
  bool made = false;

 private:
  HeldArguments& held_;
  UniqueFunction<void()> make_;
};

bool HeldArguments::record(const CallArgs& call) {
  if (is_void(call.encode) || !repeats(*call.auth)) return false;
  HeapMemory memory(kMostBeside);
  PayloadBuilder builder;
  alignas(4) Start start;
  builder.start(ref(start), &memory);
  xdr::Encoder encoder(builder);
  Recorder recorder(*this);
  encoder.set_borrowing(&recorder);
  if (!encode_call(encoder, call) || opaque_.empty()) return false;
  std::vector<std::byte>* part = &before_;
  for (const PayloadPiece& piece : builder.payload().pieces) {
    // The routine may have freed the opaque. Memory of the bytes after it may then have the same address.
    if (part == &before_ && piece.octets.data == opaque_.data()) {
      part = &after_;
    } else {
      part->insert(part->end(), piece.octets.data, piece.octets.data + piece.octets.size);
    }
  }
  return true;
}

bool HeldArguments::run(const CallArgs& call, UniqueFunction<void()> make) {
  HeapMemory memory(kMostBeside);
  PayloadBuilder builder;
  alignas(4) Start start;
  builder.start(ref(start), &memory);
  xdr::Encoder encoder(builder);
  Maker maker(*this, std::move(make));
  encoder.set_borrowing(&maker);
  encode_call(encoder, call);
  return maker.made;
}

void HeldArguments::encode(PayloadBuilder& out, xdr::Borrowing& borrowing) const {
  out.octets(before_);
  if (!borrowing.borrow(out, opaque_)) out.octets(opaque_);
  out.octets(after_);
}

}  // namespace rpcrdma::tirpc

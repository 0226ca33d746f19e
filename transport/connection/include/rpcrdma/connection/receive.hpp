// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <boost/smart_ptr/intrusive_ptr.hpp>
#include <optional>

#include "rpcrdma/fabric/fabric.hpp"
#include "rpcrdma/wire/header.hpp"

namespace rpcrdma::transport {

class Connection;
struct ReceiveBlock;

/// One receive buffer: posted, or lent by a ReceiveLease to the reader of the message in it.
class ReceiveSlot final : public fabric::WorkContext {
 public:
  ReceiveSlot(Connection& owner, BufferRef memory, ReceiveBlock& block) noexcept
      : owner_(owner), memory_(memory), block_(&block) {}
  BufferRef memory() const noexcept { return memory_; }
  void on_completion(const fabric::Completion& completion) noexcept override;

 private:
  friend class ReceiveLease;
  friend class ReceiveBuffers;
  Connection& owner_;
  BufferRef memory_;
  ReceiveBlock* block_;
};

/// Keeps a received message in its buffer until release(), which posts the receive again unless the connection has
/// ended. Move-only. Keeps the connection's memory alive, even after the connection is lost.
class ReceiveLease {
 public:
  ReceiveLease() noexcept = default;
  explicit ReceiveLease(Connection& connection, ReceiveSlot& slot) noexcept;
  ReceiveLease(ReceiveLease&&) noexcept = default;
  ReceiveLease& operator=(ReceiveLease&& other) noexcept;
  ~ReceiveLease();
  void release() noexcept;

 private:
  boost::intrusive_ptr<Connection> connection_;
  ReceiveSlot* slot_ = nullptr;
};

/// A received message.
struct Received {
  wire::Header& header;                      ///< reused for the next message: swap its contents out to keep them
  BufferRef payload;                         ///< the bytes after the header, in the receive buffer
  std::optional<std::uint32_t> invalidated;  ///< the handle that the message invalidated (Send with Invalidate)
  ReceiveLease lease;                        ///< keeps `payload` valid
};

}  // namespace rpcrdma::transport

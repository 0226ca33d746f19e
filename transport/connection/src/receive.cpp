// SPDX-License-Identifier: BSD-3-Clause
#include "rpcrdma/connection/receive.hpp"

#include "rpcrdma/connection/connection.hpp"

namespace rpcrdma::transport {

void ReceiveSlot::on_completion(const fabric::Completion& completion) noexcept { owner_.received(*this, completion); }

ReceiveLease::ReceiveLease(Connection& connection, ReceiveSlot& slot) noexcept
    : connection_(&connection), slot_(&slot) {}

ReceiveLease& ReceiveLease::operator=(ReceiveLease&& other) noexcept {
  if (this != &other) {
    release();
    connection_ = std::move(other.connection_);
    slot_ = other.slot_;
  }
  return *this;
}

ReceiveLease::~ReceiveLease() { release(); }

void ReceiveLease::release() noexcept {
  if (!connection_) return;
  const boost::intrusive_ptr<Connection> connection = std::move(connection_);
  connection->repost(*slot_);
}

}  // namespace rpcrdma::transport

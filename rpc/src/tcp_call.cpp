// SPDX-License-Identifier: BSD-3-Clause
#include "tcp_call.hpp"

#include <boost/asio/post.hpp>
#include <csignal>

#include "rpcrdma/connection/error.hpp"
#include "rpcrdma/rpc/message.hpp"
#include "tcp_record.hpp"

namespace rpcrdma::rpc {

bool TcpCall::start(std::shared_ptr<TcpCallOwner> owner, Record& record) {
  Reader in(record);
  xid_ = in.u32();
  if (in.u32() != static_cast<std::uint32_t>(MessageType::call) || !in.ok()) return false;
  owner_ = owner.get();
  latency_ = nullptr;
  alive_ = std::move(owner);
  pipe_ = -1;
  record_.swap(record);
  as_payload(record_, message_);
  return true;
}

void TcpCall::await(BudgetShare& share, std::uint32_t bytes, Handler handler) {
  awaited_ = bytes;
  on_granted_ = std::move(handler);
  share.acquire(*this, bytes);
}

void TcpCall::on_budget(std::size_t bytes) noexcept {
  awaited_ = 0;
  reserved = bytes;
  std::exchange(on_granted_, {})({});
}

std::size_t TcpCall::give_up() noexcept {
  if (!withdraw()) return 0;
  const std::size_t awaited = std::exchange(awaited_, 0);
  std::exchange(on_granted_, {})(transport::TransportError::connection_lost);
  return awaited;
}

void TcpCall::pull(std::size_t, std::span<const BufferRef>, Handler handler) { handler(BaseError::invalid_argument); }

PayloadBuilder& TcpCall::reply() noexcept {
  memory_.start(reply_);
  return reply_;
}

bool TcpCall::send_from(int pipe) noexcept {
  struct sigaction action {};
  if (::sigaction(SIGPIPE, nullptr, &action) != 0 || action.sa_handler != SIG_IGN) return false;
  pipe_ = pipe;
  return true;
}

void TcpCall::send(Handler handler) {
  handler_ = std::move(handler);
  const std::shared_ptr<TcpCallOwner> alive = std::move(alive_);
  if (!reply_.ok()) {
    owner_->end_because("a reply could not be built");
    return written(transport::TransportError::connection_lost);
  }
  owner_->write(*this);
}

void TcpCall::gather(std::vector<std::span<const std::byte>>& out, std::size_t skipped) {
  static constexpr std::array<std::byte, 3> kPad{};
  const auto add = [&](std::span<const std::byte> part) {
    const std::size_t skip = std::min(skipped, part.size());
    skipped -= skip;
    // The address of a part in the pipe stays null.
    if (skip != part.size())
      out.emplace_back(part.data() == nullptr ? nullptr : part.data() + skip, part.size() - skip);
  };
  const Payload& message = reply_.payload();
  Writer(mark_).u32(kLastFragment | message.length);
  add(mark_);
  auto item = message.items.begin();
  const auto items_before = [&](std::uint32_t position) {
    for (; item != message.items.end() && item->position < position; ++item) {
      for (const BufferRef& part : item->parts) add(part.octets());
      add(std::span(kPad).first(pad4(item->length) - item->length));
    }
  };
  for (const PayloadPiece& piece : message.pieces) {
    items_before(piece.position);
    add(piece.octets.octets());
  }
  items_before(UINT32_MAX);
}

void TcpCall::written(error_code status) noexcept {
  Histogram* const latency = std::exchange(latency_, nullptr);
  if (latency != nullptr && !status) {
    const auto spent = std::chrono::nanoseconds(std::chrono::steady_clock::now() - arrived_).count();
    latency->add(static_cast<std::uint64_t>(std::max<std::int64_t>(spent, 0)));
  }
  Handler handler = std::move(handler_);
  end();
  if (handler) handler(status);
}

void TcpCall::discard() { end(); }

void TcpCall::end() noexcept {
  const std::shared_ptr<TcpCallOwner> alive = std::move(alive_);
  memory_.shrink();
  owner_->ended(*this);
}

}  // namespace rpcrdma::rpc

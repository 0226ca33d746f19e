// SPDX-License-Identifier: BSD-3-Clause
// Operation. The Reads of a call are posted in the order of the message, and complete in that order: an earlier piece
// arrives and is copied while the Read of the next long opaque is in progress.
// Ownership. arrived() returns when no Read uses the program's memory any more.
// Errors. A Read fails with its connection, which also ends when the client answers no Read for
// ServerOptions::progress_timeout. Decoding then fails, as on a TCP stream that ends.
#include "long_arguments.hpp"

#include <algorithm>

#include "outgoing_call.hpp"

namespace rpcrdma::tirpc {
namespace {

constexpr std::uint32_t kPiece = 1u << 17;

}  // namespace

void LongArguments::read_ahead() {
  if (asked_ == message_.length) return;
  auto memory = call_.pool().allocate(std::min(kPiece, message_.length - asked_));
  if (memory) read(ahead_, std::move(*memory));
}

void LongArguments::read(Transfer& transfer, memory::RegisteredBuffer memory) {
  transfer.memory = std::move(memory);
  transfer.position = asked_;
  transfer.under_way = true;
  transfer.good = false;
  const BufferRef to = transfer.memory.ref();
  call_.pull_rest(asked_, {&to, 1}, [self = shared_from_this(), &transfer](error_code status) {
    transfer.under_way = false;
    transfer.good = !status;
  });
  asked_ += to.size;
}

bool LongArguments::finish(const Transfer& transfer) {
  while (transfer.under_way) runner_.run_one();
  return transfer.good;
}

bool LongArguments::more() {
  if (!ahead_.memory) read_ahead();
  if (!ahead_.memory || !finish(ahead_)) return false;
  message_.pieces.push_back({ahead_.position, ahead_.memory.ref()});
  pieces_.push_back(std::move(ahead_.memory));
  read_ahead();
  return true;
}

std::uint32_t LongArguments::place(std::uint32_t position, MutableOctets to) {
  const std::uint32_t first = std::min(asked_ - position, static_cast<std::uint32_t>(to.size()));
  if (to.size() - first < kLongOpaque || !call_.pool().fabric().capabilities().cheap_registration)
    return static_cast<std::uint32_t>(to.size());
  auto memory = memory::adopt(call_.pool().fabric(), to.subspan(first));
  if (!memory) return static_cast<std::uint32_t>(to.size());
  read(direct_, std::move(*memory));
  return first;
}

bool LongArguments::arrived() {
  const bool good = finish(direct_);
  direct_.memory.reset();
  return good;
}

}  // namespace rpcrdma::tirpc

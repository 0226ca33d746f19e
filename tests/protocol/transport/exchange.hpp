// SPDX-License-Identifier: BSD-3-Clause
#pragma once
// A small protocol for tests of the transport. A Shape describes a call and its reply. The server checks the call and
// makes the reply, and the client checks the reply. Both compare every byte. The fields of the messages are:
//
//   call:  xid, CALL, seed, size of the reply's body, number of arguments, (size, bytes) of each argument,
//          number of results, size of each result, body
//   reply: xid, REPLY, seed, (size, bytes) of each result, body
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "rpcrdma/memory/pool.hpp"
#include "rpcrdma/requester/requester.hpp"
#include "rpcrdma/responder/responder.hpp"

namespace rpcrdma::test {

struct Shape {
  std::uint32_t seed = 1;
  std::uint32_t call_body = 0;         ///< bytes of the call's body, which is not DDP-eligible; a multiple of 4
  std::uint32_t reply_body = 0;        ///< bytes of the reply's body, which is not DDP-eligible; a multiple of 4
  std::vector<std::uint32_t> items;    ///< bytes of each eligible argument
  std::vector<std::uint32_t> results;  ///< bytes of each eligible result
  std::uint32_t pieces = 1;            ///< pieces of memory of each argument and result
  bool apart = false;                  ///< gaps separate the pieces
  bool may_reduce = true;
  std::uint32_t max_reply = 0;  ///< 0: the exact length of the expected reply
};

/// A call of a shape. It owns the memory of its arguments and results.
class ShapedCall final : public transport::Call {
 public:
  ShapedCall(memory::Pool& pool, transport::Requester& requester, const Shape& shape);

  void encode(PayloadBuilder& out) noexcept override;
  void done(error_code status, const Payload* reply) noexcept override;

  int times_done = 0;
  int times_encoded = 0;
  error_code status;
  std::string complaint;  ///< what is wrong with the reply; empty: nothing
  std::size_t reply_items = 0;
  std::size_t reply_item_bytes = 0;    ///< total size of the items' parts
  std::function<void()> before_check;  ///< runs in done() before the reply is checked
  std::function<void()> on_done;

 private:
  void check(const Payload& reply);
  Shape shape_;
  std::vector<memory::RegisteredBuffer> memory_;
  std::vector<boost::container::small_vector<BufferRef, 4>> items_;
};

/// The server's side of this protocol. It reads the Shape from each call, checks the arguments of the call, and makes
/// the reply.
class ShapedHandler : public transport::CallHandler {
 public:
  void on_call(transport::IncomingCall& call) noexcept override;

  int calls = 0;
  int sent = 0;           ///< replies for which the handler of IncomingCall::send() has run
  std::size_t items = 0;  ///< eligible arguments that have been pulled from Read chunks
  std::string complaint;
  error_code last_send;
  std::function<bool(transport::IncomingCall&)> intercept;  ///< true: the test serves the call

 private:
  struct Job;
  void pull(std::shared_ptr<Job> job);
  void answer(std::shared_ptr<Job> job);
};

Shape random_shape(std::mt19937& random, std::uint32_t seed);

}  // namespace rpcrdma::test

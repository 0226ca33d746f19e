// SPDX-License-Identifier: BSD-3-Clause
// Operation. Each RDMA Read needs a send credit. A round posts as many Reads as there are credits; only the last Read
// reports its completion. Without credits the job waits for them.
// Ownership. The caller of start() owns the destination and keeps it until the handler runs.
// Errors. A Read that fails ends the connection and the job. If a Read cannot be posted, the connection ends, and then
// the job. But if the sink of a Read cannot be registered at present, only the job ends, after its earlier Reads are
// complete.
#include "pull_job.hpp"

#include "call_impl.hpp"
#include "rpcrdma/connection/probe.hpp"

namespace rpcrdma::transport {

void PullJob::start(CallImpl& call, std::size_t item, std::span<const BufferRef> destination,
                    std::span<const Segment> segments, IncomingCall::Handler handler, std::uint32_t offset) {
  call_ = &call;
  item_ = item;
  RPCRDMA_PROBE(pull_started, &call.transport(), call.xid(), static_cast<int>(item), segments.size());
  destination_.assign(destination.begin(), destination.end());
  splitter_ = Splitter(destination_, segments, call.transport().fabric().capabilities().max_message);
  splitter_.skip(offset, 0);
  handler_ = std::move(handler);
  on_wire_ = false;
  SendCredits& queue = call.transport().send_queue();
  refused_ = {};
  SendUnits first = queue.try_reserve(1);
  if (first.count() != 0)
    post_round(std::move(first));
  else
    queue.wait(*this, 1);
}

void PullJob::on_units(SendUnits units) noexcept { post_round(std::move(units)); }

void PullJob::post_round(SendUnits first) {
  units_ = std::move(first);
  on_wire_ = true;
  Connection& connection = call_->transport();
  for (ReadOperation read; splitter_.next(read);) {
    SendUnits another = splitter_.done() ? SendUnits() : connection.send_queue().try_reserve(1);
    const bool last = another.count() == 0;
    const error_code refused = connection.post_read(read.sink, read.handle, read.offset, last ? this : nullptr);
    if (refused == fabric::FabricError::locked_memory) return await_round(refused);
    // After any other error the connection has been aborted. The job ends with the connection, when no Read is in
    // progress any more.
    if (refused || last) return;
    units_.absorb(std::move(another));
  }
}

// Called if the sink of a Read cannot be registered. The earlier Reads of this round do not report their completion, so
// this function posts an empty RDMA Write, which completes after them. The Write accesses no memory of the peer.
void PullJob::await_round(error_code refused) {
  refused_ = refused;
  call_->transport().post_write({}, 0, 0, this);
}

void PullJob::on_completion(const fabric::Completion& completion) noexcept {
  Connection& connection = call_->transport();
  connection.enter_batch();
  units_.release();
  if (completion.status) {
    connection.abort(completion.status);
    return call_->pulled(*this, completion.status);
  }
  if (refused_ || splitter_.done()) return call_->pulled(*this, refused_);
  SendUnits next = connection.send_queue().try_reserve(1);
  if (next.count() != 0)
    post_round(std::move(next));
  else
    connection.send_queue().wait(*this, 1);
}

}  // namespace rpcrdma::transport

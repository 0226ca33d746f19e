// SPDX-License-Identifier: BSD-3-Clause
#pragma once
// Operation. CapturedQueuePair passes all work to the queue pair of a provider, and records this work. Sends, Writes
// and Read Requests are recorded when they are posted. Received messages and Read Responses are recorded when the
// Receive or the Read completes, because their bytes are not known before.
// Ownership. CapturedQueuePair owns the provider's queue pair. For each outstanding Receive or Read, it also owns an
// object of type Posted.
// Error handling. Work that the provider refuses is not recorded. A Receive that fails is not recorded. Of a Read that
// fails, only the Read Request is recorded.
#include "peer_access.hpp"
#include "recorder.hpp"
#include "rpcrdma/base/recycler.hpp"

namespace rpcrdma::capture {

class CapturedQueuePair final : public fabric::QueuePair,
                                private fabric::QueuePairEvents,
                                private fabric::AccessEvents {
 public:
  /// The properties that are known when the queue pair is made.
  struct Side {
    std::string_view fabric;  ///< the provider's name; a string literal
    bool connector = false;
    bool reports_access = false;       ///< the provider reports the peer's Reads and Writes
    std::uint64_t number = 0;          ///< the connection's number; 0: not known yet
    fabric::Endpoint peer;             ///< the peer to show if the connection fails
    std::vector<std::byte> own_data;   ///< private data of this side
    std::vector<std::byte> peer_data;  ///< for an acceptor: the private data of the peer's connection request
    std::string remark;
  };
  CapturedQueuePair(std::shared_ptr<Recorder> recorder, Side side, fabric::QueuePairEvents& user);
  ~CapturedQueuePair() override;

  /// The callbacks for the provider's queue pair. Call before set().
  fabric::QueuePairEvents& events() noexcept { return *this; }
  fabric::AccessEvents& access() noexcept { return *this; }
  void set(std::unique_ptr<fabric::QueuePair> provider) { inner_ = std::move(provider); }
  fabric::QueuePair& inner() noexcept { return *inner_; }

  error_code post_receive(BufferRef buffer, fabric::WorkContext* context) override;
  error_code post_send(std::span<const BufferRef> gather, const fabric::SendOptions& options,
                       fabric::WorkContext* context) override;
  error_code post_write(std::span<const BufferRef> gather, std::uint32_t handle, std::uint64_t offset,
                        fabric::WorkContext* context) override;
  error_code post_read(BufferRef sink, std::uint32_t handle, std::uint64_t offset,
                       fabric::WorkContext* context) override;
  Result<std::unique_ptr<fabric::Window>> make_window() override { return inner_->make_window(); }
  Result<Segment> bind(fabric::Window& window, BufferRef memory, fabric::Access access) override;
  error_code invalidate(fabric::Window& window, fabric::WorkContext* context) override;
  std::uint64_t read_waits() const noexcept override { return inner_->read_waits(); }
  void submit() override { inner_->submit(); }
  void disconnect() override { inner_->disconnect(); }
  void abort() override { inner_->abort(); }
  void quiesce() noexcept override;
  std::uint64_t retransmissions() const noexcept override { return inner_->retransmissions(); }

 private:
  /// A Receive or Read that is outstanding.
  struct Posted final : fabric::WorkContext {
    explicit Posted(CapturedQueuePair& of) noexcept : owner(of) {}
    void on_completion(const fabric::Completion& completion) noexcept override { owner.completed(*this, completion); }

    CapturedQueuePair& owner;
    fabric::WorkContext* user = nullptr;
    BufferRef buffer;
    bool receive = false;
    std::uint32_t sink = 0;  // STag of the sink of a Read; 0: the Read Request was not recorded
  };

  void on_established(const fabric::ConnectionInfo& info) noexcept override;
  void on_rejected(const fabric::ConnectionInfo& peer) noexcept override;
  void on_disconnected(error_code why) noexcept override;
  void on_batch_end() noexcept override { user_.on_batch_end(); }
  void on_remote_write(std::uint32_t handle, std::uint64_t offset, Octets data) noexcept override;
  void on_remote_read(std::uint32_t handle, std::uint64_t offset, Octets data) noexcept override;

  Posted& post(BufferRef buffer, fabric::WorkContext* user, bool receive);
  void completed(Posted& posted, const fabric::Completion& completion) noexcept;
  void received(BufferRef message, const fabric::Completion& completion) noexcept;
  void show(const AccessPart& part) noexcept;
  void open(const fabric::ConnectionInfo& info, bool refused, bool silent, std::string remark) noexcept;

  std::shared_ptr<Recorder> recorder_;
  Side side_;
  fabric::QueuePairEvents& user_;
  Track track_;
  PeerAccess peer_access_;
  Recycler<Posted> posted_;
  std::unique_ptr<fabric::QueuePair> inner_;  // destroyed first: it refers to posted_
};

}  // namespace rpcrdma::capture

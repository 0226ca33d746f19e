// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <infiniband/verbs.h>

#include <vector>

#include "handles.hpp"
#include "rpcrdma/base/error.hpp"
#include "rpcrdma/fabric/fabric.hpp"

namespace rpcrdma::fabric::verbs {

/// The send side of a queue pair: the operations that are outstanding, in order, and the chain of work requests that
/// the next submit() posts with one call.
///
/// Every operation has a slot. The slots are numbered from 0 in order of posting, and the number of a slot is the id of
/// the work request. Without Limits::overtaking, a completion of number n also completes the operations before n. With
/// Limits::overtaking, every work request is signalled and has a completion of its own.
///
/// Some operations need no work request: the invalidation of a window that the peer has invalidated, or that is not on
/// the device. They have slots as well, so that they complete in order of posting. The work request before such an
/// operation must be signalled.
///
/// used() counts the slots of the user's operations. If an operation has no context, take_...() subtracts its slot. If
/// it has a context, the caller of take_...() passes used() to the CompletionDispatcher, which subtracts the slot
/// directly before it runs the callback.
class SendSide {
 public:
  struct Limits {
    /// The maximum number of outstanding operations that the user has posted. Flushes and probes do not count.
    std::uint32_t depth = 0;
    std::uint32_t max_gather = 1;
    std::uint32_t max_inline = 0;
    std::uint32_t signal_interval = 1;
    bool overtaking =
        false;  ///< operations complete in any order, each with a completion of its own; signal_interval is 1
  };
  struct Slot {
    enum class Kind : std::uint8_t {
      request,   ///< an operation of the user that has a work request
      software,  ///< an operation of the user that needs no work request: an invalidation without effect on the device
      flush,     ///< an empty RDMA Write of the provider, whose completion also completes the operations before it
      probe,     ///< an empty RDMA Write of the provider, which the peer's device must acknowledge
    };
    WorkContext* context = nullptr;
    std::uint32_t window = 0;  ///< serial of the window that this operation invalidates, or 0
    Kind kind = Kind::request;
    bool read = false;    ///< an RDMA Read
    bool prompt = false;  ///< counts for prompt()
    bool done = false;    ///< set by note_done(): the device has completed the request, with `status`
    error_code status{};
    Registration sink{};  ///< the sink of an RDMA Read, until the Read has completed
  };

  explicit SendSide(const Limits& limits);

  /// Returns the number of entries that the device's send queue needs if the user may have `depth` operations
  /// outstanding. The two additional entries are for a probe, and for a flush at the end of the connection. Any other
  /// flush precedes an operation of kind `software`, which needs no entry itself.
  static std::uint32_t device_depth(std::uint32_t depth) noexcept { return depth + 2; }

  void set_max_inline(std::uint32_t bytes) noexcept { limits_.max_inline = bytes; }

  bool full() const noexcept { return used_ == limits_.depth; }
  /// The number of slots in use that belong to operations of the user. Slots of flushes and probes do not count.
  std::uint32_t* used() noexcept { return &used_; }
  bool empty() const noexcept { return head_ == tail_; }
  /// Whether the device will report a completion.
  bool reporting() const noexcept { return tail_ - head_ > unsignalled_run_; }
  /// As QueuePair::read_waits().
  std::uint64_t read_waits() const noexcept { return read_waits_; }

  /// Appends a work request, whose opcode and opcode-specific fields the caller then sets. Do not call it when full().
  ///
  /// If `may_inline` is true and `gather` has at most Limits::max_inline bytes, submit() copies these bytes into the
  /// work request. Otherwise each buffer in `gather` that is not empty must have a local key. Fails with
  /// BaseError::invalid_argument if a key is missing, or if `gather` has more than Limits::max_gather buffers.
  Result<ibv_send_wr*> append(std::span<const BufferRef> gather, bool may_inline, WorkContext* context,
                              std::uint32_t window = 0);
  /// Undoes the latest append.
  void retract() noexcept;
  /// To be called after the append of an RDMA Read whose sink has a registration of its own. Makes the work request use
  /// the local key of `sink`. The slot of the Read owns `sink` until the Read is complete.
  void set_sink(Registration sink) noexcept;
  /// To be called after the append of an RDMA Read. Counts it in read_waits() if `depth` Reads are already in progress.
  void note_read(std::uint32_t depth) noexcept;
  /// To be called after the append of a Send with SendOptions::defer_completion.
  void note_deferred() noexcept;
  /// Whether completions are to be collected as soon as they arrive: the user waits for one that is not deferred, or
  /// more than half the entries of the send queue are in use.
  bool prompt() const noexcept { return prompt_ != 0 || used_ > limits_.depth / 2; }
  /// To be called after the append of a bind. Makes the last request of the chain signal its completion, because this
  /// completion tells whether the bind succeeded.
  void note_bind() noexcept { chain_has_bind_ = true; }
  /// Appends an operation that needs no work request. It completes in order of posting. Do not call it when full().
  void append_software(WorkContext* context, std::uint32_t window);
  /// Ensures that a completion follows the last work request.
  void require_signal();
  /// Appends a probe: an empty RDMA Write. If the peer's device does not acknowledge it, the connection fails. Do not
  /// call it while an earlier probe is outstanding.
  void append_probe();
  bool probing() const noexcept { return probing_; }

  /// Posts the chain. If posting fails, the requests that were not posted stay outstanding until the end of the
  /// connection flushes them.
  error_code submit(ibv_qp* queue_pair);
  /// To be called when the peer has invalidated `key`. If the chain, which has not been posted yet, holds a local
  /// invalidation of this key, replaces it by an empty RDMA Write, which has no effect.
  void disarm_invalidation(std::uint32_t key) noexcept;

  /// To be called when the device reports the completion of the work request `number`. Earlier requests that are not
  /// complete stay outstanding. To be used only with Limits::overtaking.
  void note_done(std::uint64_t number, error_code status) noexcept;
  /// Takes the oldest slot and sets `number` to its number, if the operation of the slot is complete. Otherwise returns
  /// false. `last` is the number of a completion. Without Limits::overtaking, an operation is complete if its number is
  /// at most `last`. With Limits::overtaking, `last` has no effect: an operation is complete if note_done() was called
  /// for it, or if it needs no work request.
  bool take_until(std::uint64_t last, Slot& slot, std::uint64_t& number) noexcept;
  /// Takes the oldest slot if it needs no work request.
  bool take_software(Slot& slot) noexcept;
  bool take_any(Slot& slot) noexcept;
  /// Releases the sinks. Call it when the queue pair is destroyed and the protection domain is not.
  void release_device() noexcept;

 private:
  static bool is_users(Slot::Kind kind) noexcept { return kind <= Slot::Kind::software; }
  void append_nothing(Slot::Kind kind);
  void push(Slot slot);
  Slot pop() noexcept;
  ibv_send_wr& chain_request(std::uint64_t number);

  Limits limits_;
  std::vector<Slot> ring_;
  std::uint64_t head_ = 0;  // number of the oldest outstanding operation
  std::uint64_t tail_ = 0;  // number of the next operation
  std::uint32_t used_ = 0;
  std::uint32_t prompt_ = 0;  // operations outstanding whose completion the user waits for
  std::uint32_t reads_ = 0;   // RDMA Reads outstanding
  std::uint64_t read_waits_ = 0;
  std::uint32_t unsignalled_run_ = 0;  // number of work requests since the last signalled one
  bool chain_has_bind_ = false;
  bool probing_ = false;

  // The requests that submit() will post. Has room for device_depth() of them, so that the pointer from append() stays
  // valid until submit().
  std::vector<ibv_send_wr> chain_;
  std::vector<ibv_sge> pieces_;
  std::uint32_t run_before_ = 0;  // the value of unsignalled_run_ before the latest append(); retract() restores it
};

}  // namespace rpcrdma::fabric::verbs

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
/// Every operation has a slot, numbered from 0; the number is the work request's id. A completion of number n also
/// completes the unsignalled operations before n; with Limits::overtaking, every work request is signalled.
///
/// Some operations need no work request: the invalidation of a window that the peer has invalidated, or that is not on
/// the device. They have slots as well, so that they complete in order of posting. The work request before such an
/// operation must be signalled.
///
/// used() counts the slot of an operation with a context until its callback runs: the CompletionDispatcher, which gets
/// used() from the caller of take_...(), subtracts the slot. All other slots are freed by take_...().
class SendSide {
 public:
  struct Limits {
    std::uint32_t depth = 0;  ///< the most outstanding operations of the user
    std::uint32_t max_gather = 1;
    std::uint32_t max_inline = 0;
    std::uint32_t signal_interval = 1;
    bool overtaking =
        false;  ///< operations complete in any order, each with a completion of its own; signal_interval is 1
  };
  struct Slot {
    enum class Kind : std::uint8_t {
      request,   ///< has a work request
      software,  ///< has no work request
      flush,     ///< a work request of the provider, posted for its completion alone
      probe,     ///< a work request of the provider that the peer's device must acknowledge
    };
    WorkContext* context = nullptr;
    std::uint32_t window = 0;  ///< serial of the window that this operation invalidates, or 0
    Kind kind = Kind::request;
    bool read = false;  ///< an RDMA Read
    bool done = false;  ///< set by note_done(): the device has completed the request, with `status`
    error_code status{};
    Registration sink{};  ///< the sink of an RDMA Read, until the Read has completed
  };

  explicit SendSide(const Limits& limits);

  /// The maximum number of work requests on the device: a flush and a probe may be added to the user's requests.
  static std::uint32_t device_depth(std::uint32_t depth) noexcept { return depth + 2; }

  void set_max_inline(std::uint32_t bytes) noexcept { limits_.max_inline = bytes; }

  bool full() const noexcept { return used_ == limits_.depth; }
  /// The user's slots in use.
  std::uint32_t* used() noexcept { return &used_; }
  bool empty() const noexcept { return head_ == tail_; }
  /// As QueuePair::read_waits().
  std::uint64_t read_waits() const noexcept { return read_waits_; }

  /// Appends a work request. The caller sets its opcode and the fields of this opcode. Do not call it when full().
  /// Buffers without a key must fit inline; submit() copies them.
  Result<ibv_send_wr*> append(std::span<const BufferRef> gather, bool may_inline, WorkContext* context,
                              std::uint32_t window = 0);
  /// Undoes the latest append.
  void retract() noexcept;
  /// To be called after the append of an RDMA Read: `sink` is its sink, and is released with its slot.
  void set_sink(Registration sink) noexcept;
  /// To be called after the append of an RDMA Read. Counts it in read_waits() if `depth` Reads are already in progress.
  void note_read(std::uint32_t depth) noexcept;
  /// A bind was appended: makes the chain's last request signal its completion, which tells whether the bind succeeded.
  void note_bind() noexcept { chain_has_bind_ = true; }
  /// Appends an operation that needs no work request. It completes in order of posting. Do not call it when full().
  void append_software(WorkContext* context, std::uint32_t window);
  /// Ensures that a completion follows the last work request.
  void require_signal();
  /// Appends an empty RDMA Write that signals its completion. Do not call it while an earlier probe is outstanding.
  void append_probe();
  bool probing() const noexcept { return probing_; }

  /// Posts the chain. If posting fails, the requests that were not posted stay outstanding until the end of the
  /// connection flushes them.
  error_code submit(ibv_qp* queue_pair);
  /// To be called when the peer has invalidated `key`. An invalidation of this key that is still in the chain becomes a
  /// request without effect.
  void disarm_invalidation(std::uint32_t key) noexcept;

  /// To be called when the device has completed a request. Requests that it overtook stay outstanding. Only with
  /// Limits::overtaking.
  void note_done(std::uint64_t number, error_code status) noexcept;
  /// Takes the oldest slot if its number is at most `last`; with Limits::overtaking, if it is done or needs no work
  /// request, whatever its number.
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
  std::uint32_t reads_ = 0;  // RDMA Reads outstanding
  std::uint64_t read_waits_ = 0;
  std::uint32_t unsignalled_run_ = 0;  // how many of the latest requests are unsignalled
  bool chain_has_bind_ = false;
  bool probing_ = false;

  std::vector<ibv_send_wr> chain_;  // room for device_depth: never reallocated
  std::vector<ibv_sge> pieces_;
  std::uint32_t run_before_ = 0;  // unsignalled_run_ before the latest append
};

}  // namespace rpcrdma::fabric::verbs

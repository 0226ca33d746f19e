// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <vector>

#include "blocking_call.hpp"
#include "device/async_events.hpp"
#include "device/completion_channel.hpp"
#include "device/device.hpp"
#include "device/event_channel.hpp"

namespace rpcrdma::fabric::verbs {

class VerbsQueuePair;

/// Capabilities::name of this provider.
inline constexpr std::string_view kName = "verbs";

/// The state that a fabric, its listeners and its queue pairs share, such as the device, its event channels and the
/// counters. When the device is lost, the Core ends the fabric and its queue pairs. Used on the fabric's thread only.
class Core final : public std::enable_shared_from_this<Core>, private CmHandler {
 public:
  /// `anchor` is an rdma_cm id that is bound to the device. It keeps the device open and reports its removal.
  static Result<std::shared_ptr<Core>> make(boost::asio::io_context& context, CmId anchor, const VerbsOptions& options,
                                            OpenDevices& devices, Log log);
  Core(boost::asio::io_context& context, const VerbsOptions& options, Log log);
  ~Core() { close(); }

  /// The device is lost: ends every queue pair with FabricError::device_lost. Runs no callback of the user.
  void lose(AsyncEvents::Loss loss);
  /// Returns the error to report when an rdma_cm operation has failed with `why`. If the kernel uses `why` to refuse
  /// work on a device that is being removed, this is FabricError::device_lost. Otherwise it is `why`.
  static error_code refused(error_code why) noexcept;
  bool lost() const noexcept { return lost_; }
  /// To be called when the fabric is destroyed. If the device is lost, only the objects of unfinished handshakes still
  /// use it after this call. The removal of the device waits until these handshakes have ended.
  void close() noexcept;

  void add(VerbsQueuePair& queue_pair) { queue_pairs_.push_back(&queue_pair); }
  void remove(VerbsQueuePair& queue_pair) noexcept { std::erase(queue_pairs_, &queue_pair); }

  boost::asio::io_context& context;
  const VerbsOptions options;
  const Log log;
  LogLimit connection_lines;  ///< limits the lines about failures that a peer can cause
  BlockingCalls& calls;
  Counters counters;
  std::shared_ptr<EventChannel> events;
  std::shared_ptr<CompletionChannel> completions;
  std::shared_ptr<AsyncEvents> async_events;
  std::shared_ptr<Device> device;
  UniqueFunction<void(error_code)> on_end;

 private:
  void on_cm_event(CmEvent event) noexcept override;

  void leave_device() noexcept;

  // The device, or null after leave_device(). OpenDevice::enter() has added this fabric to the list of the users of the
  // device. `user_` is the element of this fabric in that list.
  std::shared_ptr<OpenDevice> use_;
  OpenDevice::Users::iterator user_;
  std::vector<VerbsQueuePair*> queue_pairs_;
  bool lost_ = false;
};

}  // namespace rpcrdma::fabric::verbs

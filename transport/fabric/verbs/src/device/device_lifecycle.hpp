// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <boost/asio/steady_timer.hpp>
#include <memory>
#include <vector>

#include "device/async_events.hpp"
#include "device/completion_channel.hpp"
#include "device/device.hpp"
#include "device/event_channel.hpp"

namespace rpcrdma::fabric::verbs {

class VerbsQueuePair;
class VerbsListener;

/// A fabric's use of its device, which may be removed and come back: knows everything of the fabric that holds objects
/// of the device. Fabric's thread only.
class DeviceLifecycle final : public std::enable_shared_from_this<DeviceLifecycle>, private CmHandler {
 public:
  static Result<std::shared_ptr<DeviceLifecycle>> make(boost::asio::io_context& context, CmId anchor,
                                                       const VerbsOptions& options, Log log);
  DeviceLifecycle(boost::asio::io_context& context, std::shared_ptr<EventChannel> events,
                  std::shared_ptr<CompletionChannel> completions, std::shared_ptr<Device> device, Log log);
  ~DeviceLifecycle();

  const std::shared_ptr<Device>& device() const noexcept { return device_; }
  const std::shared_ptr<EventChannel>& events() const noexcept { return events_; }
  const std::shared_ptr<CompletionChannel>& completions() const noexcept { return completions_; }
  const std::shared_ptr<AsyncEvents>& async_events() const noexcept { return async_events_; }

  /// Success if the device is present, or present again: memory is then registered again. Else
  /// FabricError::device_lost. Without queue pairs and listeners no events were read for a while, and this reads them.
  error_code ensure();
  /// The device is lost: ends every connection with FabricError::device_lost, releases all objects of the device so
  /// that its removal can complete, and lets listeners listen again when it is back. Runs no callback of the user.
  void lose(SharedContext::Loss loss);
  /// Maps the error of binding an id, or of listening at the device's address: device_lost if there is no device. The
  /// kernel refuses before it sends the removal event, which nothing may be waiting for: this then polls for that event
  /// for a while, as the removal waits for this process and the user may not try again.
  error_code refused(error_code why);

  void add(VerbsQueuePair& queue_pair) { queue_pairs_.push_back(&queue_pair); }
  void remove(VerbsQueuePair& queue_pair) noexcept { std::erase(queue_pairs_, &queue_pair); }
  void add(VerbsListener& listener) { listeners_.push_back(&listener); }
  void remove(VerbsListener& listener) noexcept;

 private:
  void on_cm_event(CmEvent event) noexcept override;
  error_code attach(CmId anchor);
  bool look();
  void look_later();
  void let_go();
  void log_refused(error_code why);
  void log_lost();
  void end_queue_pairs();
  void listen_later();
  void listen_again();

  boost::asio::io_context& context_;
  std::shared_ptr<EventChannel> events_;
  std::shared_ptr<CompletionChannel> completions_;
  std::shared_ptr<Device> device_;
  std::shared_ptr<AsyncEvents> async_events_;
  Log log_;
  std::vector<VerbsQueuePair*> queue_pairs_;
  std::vector<VerbsListener*> listeners_;
  boost::asio::steady_timer timer_;
  std::chrono::milliseconds pause_{};
  boost::asio::steady_timer doubt_timer_;
  std::chrono::milliseconds doubt_pause_{};
  bool in_doubt_ = false;  // the doubt timer is running
  error_code refused_;     // why the device that is back cannot be used; logged once
  bool losing_ = false;
};

}  // namespace rpcrdma::fabric::verbs

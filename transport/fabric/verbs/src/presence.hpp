// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <boost/asio/steady_timer.hpp>
#include <memory>
#include <vector>

#include "async_events.hpp"
#include "completion_channel.hpp"
#include "device.hpp"
#include "event_channel.hpp"

namespace rpcrdma::fabric::verbs {

class VerbsQueuePair;
class VerbsListener;

/// A fabric's presence on its device, which may go and come back: everything of the fabric that the device has a part
/// in is known here. Fabric's thread only.
class Presence final : public std::enable_shared_from_this<Presence>, private CmHandler {
 public:
  static Result<std::shared_ptr<Presence>> make(boost::asio::io_context& context, CmId anchor,
                                                const VerbsOptions& options, Log log);
  Presence(boost::asio::io_context& context, std::shared_ptr<EventChannel> events,
           std::shared_ptr<CompletionChannel> completions, std::shared_ptr<Device> device, Log log);
  ~Presence();

  const std::shared_ptr<Device>& device() const noexcept { return device_; }
  const std::shared_ptr<EventChannel>& events() const noexcept { return events_; }
  const std::shared_ptr<CompletionChannel>& completions() const noexcept { return completions_; }
  const std::shared_ptr<AsyncEvents>& async_events() const noexcept { return async_events_; }

  /// Success if the device is there, or is there again: memory is registered anew then. Else FabricError::device_lost.
  /// Without queue pairs and listeners nothing has been heard of the device for a while, and this asks.
  error_code ensure();
  /// The device is gone: ends every connection with FabricError::device_lost, takes everything off the device so that
  /// its removal can complete, and lets listeners listen again when it is back. Runs callbacks of the user.
  void lose(ContextUse::Loss loss);
  /// What binding an id or listening at the device's address failed with, as the user is told: device_lost if there is
  /// no device. The kernel says so before it tells the device's users, of whom there may be none: this then looks for
  /// its word for a while, as the removal waits for us and the user may not ask again.
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
  bool in_doubt_ = false;  // the doubt timer runs
  error_code refused_;     // why the device that is back was not taken, if it was not
  bool losing_ = false;
};

}  // namespace rpcrdma::fabric::verbs

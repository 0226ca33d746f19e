// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <atomic>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>
#include <memory>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "rpcrdma/base/runner.hpp"
#include "rpcrdma/nfsd/program/fabric_worker.hpp"
#include "rpcrdma/nfsd/program/options.hpp"
#include "rpcrdma/nfsd/program/service_manager.hpp"
#include "rpcrdma/observe/metrics/statistics_server.hpp"
#include "rpcrdma/rpc/rpcbind.hpp"
#include "rpcrdma/rpc/tcp_server.hpp"

namespace rpcrdma::nfsd {

/// The number of open file descriptors of this process.
std::size_t open_descriptors();

/// The whole server. Call start(), and then run() on the same thread. run() serves until a signal ends it. The shutdown
/// has a time limit: if something hangs, usually a file system, the process exits with EXIT_FAILURE.
class Daemon {
 public:
  Daemon(Options options, Log log);
  ~Daemon();
  Daemon(const Daemon&) = delete;
  Daemon& operator=(const Daemon&) = delete;

  /// Enters the sandbox, opens the exports, listens and, if the options say so, registers with rpcbind. Returns a
  /// Refusal if one of these steps fails. A part of the sandbox that is not available counts as a failure only in mode
  /// `strict`. If SIGTERM or SIGINT arrives during the registration or later, run() completes the shutdown.
  Checked<void> start();
  /// The line that announces that the server is ready, without a line feed. Call it after start().
  std::string ready_line() const;
  /// Serves until SIGTERM or SIGINT, then waits for the calls in progress and returns the exit code. The destructor
  /// closes the file systems and releases what remains. The time limit of the shutdown begins with the signal and
  /// includes the destructor.
  int run();

 private:
  /// A set of RDMA listeners that use the same workers. There is one worker for each event loop. `key` is the name of
  /// the fabric and, for verbs, the address of the listeners. Listeners with the same key belong to the same group.
  struct Group {
    std::string key;
    std::vector<std::unique_ptr<FabricWorker>> workers;
    std::unique_ptr<transport::Server> server;
  };
  struct Loop {
    explicit Loop(Polling polling) : runner(context, polling) {}
    boost::asio::io_context context{1};
    Runner runner;
    std::unique_ptr<LoopThreads> threads;
    std::thread thread;
  };
  struct CountersReport;
  struct Gathering;

  Checked<void> confine();
  Checked<void> open_capture();
  void toggle_capture();
  Checked<void> open_exports();
  Checked<std::unique_ptr<fabric::Fabric>> open_fabric(Loop& loop, const ListenSpec& listen);
  Checked<Group*> group_for(const ListenSpec& listen);
  memory::PoolOptions pool_options(const fabric::Capabilities& capabilities) const;
  Checked<Group*> make_group(std::unique_ptr<fabric::Fabric> first, const ListenSpec& listen, std::string key);
  Checked<void> listen_rdma();
  Checked<void> listen_tcp();
  Checked<void> listen_metrics();
  std::vector<observe::Listener> listeners() const;
  observe::Report report_of(std::size_t loop) const;
  void gather(UniqueFunction<void(observe::Report)> handler);
  void end_metrics();
  void share_loops(bool on_verbs);
  void start_loops();
  void catch_signals();
  void await_signal();
  void await_tidying();
  void await_watchdog();
  void loop_answered();
  void reload();
  Checked<void> reread_exports();
  Checked<void> check_within_sandbox(std::span<const ExportSpec> specs) const;
  void shut_down();
  void closed();
  void end_by(std::chrono::steady_clock::time_point deadline);
  void report_counters();
  void tear_down();
  void end_loops();

  Options options_;
  Log log_;
  ServiceManager manager_;
  std::shared_ptr<capture::Capture> capture_;  // null without --capture
  // Members are destroyed in reverse order. Therefore the objects that serve calls follow the objects that calls use.
  boost::asio::io_context control_{1};  // for signals and timers; runs on control_thread_, which must not block
  boost::asio::io_context slow_{1};     // for work that may block, such as reload(); runs in run()
  boost::asio::io_context metrics_context_{1};
  std::vector<std::unique_ptr<Loop>> loops_;  // tear_down() destroys them before io_, which they use
  ExportTable exports_;
  MountTable mounts_;
  rpc::DuplicateCache duplicates_;
  HandleSecret secret_{};
  std::unique_ptr<IoPool> io_;
  std::unique_ptr<SharedServices> shared_;
  std::vector<std::unique_ptr<Group>> groups_;
  std::vector<std::unique_ptr<rpc::TcpServer>> tcp_servers_;

  std::unique_ptr<observe::StatisticsServer> metrics_;  // null without --metrics
  std::thread metrics_thread_;
  const std::chrono::steady_clock::time_point started_at_ = std::chrono::steady_clock::now();

  boost::asio::signal_set signals_{control_};
  boost::asio::steady_timer tidying_{control_};
  boost::asio::steady_timer grace_{control_};
  boost::asio::steady_timer watchdog_{control_};
  std::thread control_thread_;
  // The members from here to closed_ are used by the control thread.
  std::size_t open_servers_ = 0;
  bool late_ = false;             // the watchdog's interval has ended before all loops answered its last check
  std::size_t silent_loops_ = 0;  // loops that have not answered the watchdog's last check
  bool ending_ = false;
  // True once all servers are closed or tear_down() has begun. The control thread then no longer uses groups_ and
  // tcp_servers_, because tear_down() destroys them.
  bool closed_ = false;
  std::atomic<bool> tidying_now_{false};
  std::vector<boost::asio::ip::tcp::endpoint> rdma_bound_;
  std::vector<boost::asio::ip::tcp::endpoint> tcp_bound_;
  std::string fabric_text_;
  bool may_make_devices_ = false;  // the sandbox permits making device files
  rpc::RpcbindRegistration rpcbind_;
};

}  // namespace rpcrdma::nfsd

// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <atomic>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "rpcrdma/nfsd/program/lane.hpp"
#include "rpcrdma/nfsd/program/options.hpp"
#include "rpcrdma/rpc/rpcbind.hpp"
#include "rpcrdma/rpc/tcp_server.hpp"

namespace rpcrdma::nfsd {

/// The whole server. start(), then run() on the same thread until a signal ends it. The end takes a bounded time: if
/// anything hangs, in a file system above all, the program ends without it, with EXIT_FAILURE.
class Daemon {
 public:
  Daemon(Options options, Log log);
  ~Daemon();
  Daemon(const Daemon&) = delete;
  Daemon& operator=(const Daemon&) = delete;

  /// Opens the exports and listens; signals that come after that wait for run(). False, and one line in `why`, if
  /// anything asked for is not to be had.
  bool start(std::string& why);
  /// The line that tells that the server serves, without its end of line. After start().
  std::string ready_line() const;
  /// Serves until SIGTERM or SIGINT, then lets calls in progress end. The exit code. The destructor does the rest,
  /// within the same bound.
  int run();

 private:
  /// Listeners that share a fabric, and the lanes of that fabric, one a thread.
  struct Group {
    std::string key;
    std::vector<std::unique_ptr<Lane>> lanes;
    std::unique_ptr<transport::Server> server;
  };
  struct Loop {
    boost::asio::io_context context{1};
    std::thread thread;
  };
  struct CountersReport;

  bool open_exports(std::string& why);
  Group* group_for(const ListenSpec& listen, std::string& why);
  memory::PoolOptions pool_options(const fabric::Capabilities& capabilities) const;
  Group* make_group(std::unique_ptr<fabric::Fabric> first, const ListenSpec& listen, std::string key, std::string& why);
  bool listen_rdma(std::string& why);
  bool listen_tcp(std::string& why);
  void start_loops();
  void catch_signals();
  void await_signal();
  void await_tidying();
  void reload();
  void shut_down();
  void closed();
  void end_by(std::chrono::steady_clock::time_point deadline);
  void report_counters();
  void tear_down();
  void end_loops();

  Options options_;
  Log log_;
  // Destroyed from the last to the first: what serves calls goes before what they use.
  boost::asio::io_context control_{1};  // on a thread of its own, where nothing blocks: signals, and the end's bound
  boost::asio::io_context slow_{1};     // of run(): what may block
  std::vector<std::unique_ptr<Loop>> loops_;
  ExportTable exports_;
  MountTable mounts_;
  rpc::DuplicateCache duplicates_;
  HandleSecret secret_{};
  std::unique_ptr<IoPool> io_;
  std::unique_ptr<Shared> shared_;
  std::vector<std::unique_ptr<Group>> groups_;
  std::vector<std::unique_ptr<rpc::TcpServer>> tcp_servers_;

  boost::asio::signal_set signals_{control_};
  boost::asio::steady_timer tidying_{control_};
  boost::asio::steady_timer grace_{control_};
  std::thread control_thread_;
  // Of the control thread:
  std::size_t open_fronts_ = 0;
  bool ending_ = false;
  bool closed_ = false;  // all fronts: nobody may look at groups_ and tcp_servers_ any more
  std::atomic<bool> tidying_now_{false};
  std::vector<boost::asio::ip::tcp::endpoint> rdma_bound_;
  std::vector<boost::asio::ip::tcp::endpoint> tcp_bound_;
  std::string fabric_text_;
  rpc::RpcbindRegistration rpcbind_;
};

}  // namespace rpcrdma::nfsd

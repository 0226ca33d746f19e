// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <boost/asio/io_context.hpp>
#include <deque>
#include <memory>
#include <vector>

#include "call_client.hpp"
#include "file_client.hpp"
#include "run.hpp"
#include "server.hpp"
#include "stage.hpp"

namespace rpcrdma::sim {

/// One run: the clients, the server, and the script. A step is one handler of the event loop.
class World {
 public:
  World(const Plan& plan, const RunOptions& options, nfsd::IoPool& io);
  ~World();

  Outcome play();

 private:
  // Functions that carry out the steps of the run, check them, and end the run (world.cpp).
  bool step();
  /// Makes steps until done() returns true or an invariant is violated. Returns false after a violation. An
  /// invariant is also violated if no event is pending before done() returns true, or if the run takes too many steps
  /// or too much simulated time. The text of such a violation begins with `what`, which names what is awaited.
  template <class Done>
  bool run_until(Done done, std::string_view what);
  void note_frames();
  bool finished() const;
  void settle();
  void probe();
  void check_idle();
  void end_clients();
  void end_server();
  void end_network();

  // Functions that apply the faults of the script (world_faults.cpp).
  void apply(const Fault& fault);
  void stop_frames(fabric::LoopbackPause where, std::uint32_t ms);
  void start_server(std::uint32_t credits);
  void crash_server(std::uint32_t ms, std::uint32_t credits);
  /// Returns the handler of a close() or crash() of `life_`. The handler calls end_life(), and starts another server
  /// `ms` later.
  UniqueFunction<void()> replace_after(std::uint32_t ms, std::uint32_t credits);
  void end_life();
  void crash_client(std::uint32_t which);
  void lose_client(std::uint32_t which);
  fabric::LoopbackFabric* client_fabric(std::uint32_t which);
  /// Runs `action` after `ms` of simulated time, or earlier when the faults are over.
  void later(std::uint32_t ms, UniqueFunction<void()> action);
  /// Destroys the call clients and the servers that have ended and to which nothing refers any more. Ends each client
  /// in lost_clients_ whose operations have finished. Makes a new file client in its place, unless kMostClients clients
  /// have been made.
  void sweep();

  const Plan& plan_;
  Trace trace_;
  boost::asio::io_context context_{1};
  fabric::LoopbackNetwork network_;
  Stage stage_;
  nfsd::IoPool& io_;
  nfsd::HandleSecret secret_{std::byte{7}};
  nfsd::ExportTable exports_{std::size_t{8} << 20};
  std::vector<std::unique_ptr<ServerLife>> ended_lives_;
  std::vector<std::unique_ptr<CallClient>> ended_clients_;
  std::unique_ptr<ServerLife> life_;  // null while the server is down
  std::vector<std::unique_ptr<CallClient>> call_clients_;
  std::vector<std::unique_ptr<FileClient>> file_clients_;
  std::vector<std::unique_ptr<FileClient>> lost_clients_;  // their device is lost, and operations may be in progress
  std::vector<std::unique_ptr<FileClient>> retired_;       // their models are checked at the end
  struct Later {
    boost::asio::steady_timer timer;
    UniqueFunction<void()> action;
  };
  std::vector<std::unique_ptr<Later>> later_;
  std::uint32_t clients_made_ = 0;
  std::size_t next_fault_ = 0;
  std::uint64_t calls_ = 0;
  bool stalled_ = false;  // simulated time has reached its limit
};

}  // namespace rpcrdma::sim

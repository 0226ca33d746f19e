// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <boost/asio/awaitable.hpp>
#include <memory>
#include <vector>

#include "rpcrdma/nfs/client.hpp"
#include "rpcrdma/nfsd/fs/file_system.hpp"
#include "stage.hpp"

namespace rpcrdma::sim {

class FileWorker;

/// An NFS client of the simulation. It runs sequences of operations on files, and compares their outcomes with a model.
/// The stage must outlive the client. Destroy the client only when finished() returns true.
class FileClient {
 public:
  /// `number` is unique among all clients of a run.
  FileClient(Stage& stage, std::uint32_t number);
  ~FileClient();

  /// All operations are over.
  bool finished() const noexcept { return finished_; }
  /// Loses the device: operations in progress fail, and no more are started.
  void lose_device();
  bool lost() const noexcept { return lost_; }
  /// Destroys the object that makes the NFS calls. Requires finished().
  void end() noexcept { client_.reset(); }
  const std::shared_ptr<fabric::LoopbackFabric>& fabric() noexcept { return fabric_; }
  void check_idle();
  /// Compares the files on the server with the model.
  void check_files(nfsd::FileSystem& files);

 private:
  boost::asio::awaitable<void> run();
  boost::asio::awaitable<void> connect();

  Stage& stage_;
  const std::uint32_t number_;
  std::shared_ptr<fabric::LoopbackFabric> fabric_;
  std::vector<std::unique_ptr<FileWorker>> workers_;
  bool finished_ = false;
  bool lost_ = false;
  std::unique_ptr<nfs::Client> client_;
};

}  // namespace rpcrdma::sim

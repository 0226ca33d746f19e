// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <boost/asio/awaitable.hpp>
#include <map>
#include <set>
#include <string>

#include "random.hpp"
#include "rpcrdma/memory/pool.hpp"
#include "rpcrdma/nfs/client.hpp"
#include "rpcrdma/nfsd/fs/file_system.hpp"
#include "stage.hpp"

namespace rpcrdma::sim {

/// Runs one sequence of operations in a directory of its own, and keeps a model of that directory. If an operation ends
/// with a transport error, the server may have executed the operation, or may still execute it later. The names that
/// such an operation changes are then uncertain: the worker neither uses nor checks them any more.
class FileWorker {
 public:
  /// `directory` is the name of the worker's directory. No other worker of the run uses this name.
  FileWorker(Stage& stage, std::string directory, std::uint64_t seed, const fabric::LoopbackFabric& fabric)
      : stage_(stage), name_(std::move(directory)), random_(seed), fabric_(fabric) {}

  /// Makes the worker's directory in `root`, and then runs the operations in it one after another. Ends early if MKDIR
  /// reports an error, if the run of the simulation has failed, or if the caller sets `lost` because the client has
  /// lost its device.
  boost::asio::awaitable<void> run(nfs::Client& client, nfs::FileHandle root, const bool& lost);
  /// Checks that the directory in `files` has the names, file data and link targets that it must have after the
  /// operations of this worker. Ignores names for which the outcome of an operation is uncertain.
  void check(nfsd::FileSystem& files);

 private:
  struct File {
    nfs::FileHandle handle;
    std::string octets;
  };
  enum class Outcome : std::uint8_t {
    done,       ///< the operation has taken effect
    repeated,   ///< it has taken effect; the server ran it again after a restart, and reported an error
    nothing,    ///< the server has answered NFS3ERR_JUKEBOX, so the operation has no effect
    uncertain,  ///< it may have taken effect, or may yet do so
  };

  boost::asio::awaitable<void> operate();
  boost::asio::awaitable<void> create();
  boost::asio::awaitable<void> write(const std::string& name);
  boost::asio::awaitable<void> read(const std::string& name);
  boost::asio::awaitable<void> truncate(const std::string& name);
  boost::asio::awaitable<void> remove(const std::string& name);
  boost::asio::awaitable<void> rename(const std::string& name);
  boost::asio::awaitable<void> make_directory();
  boost::asio::awaitable<void> make_symlink();
  boost::asio::awaitable<void> read_link();
  boost::asio::awaitable<void> list();

  void begin(std::string_view what, std::string_view name);
  /// Judges the `status` of the operation that begin() has started. A restarted server may execute a resent operation a
  /// second time. `already` is the error of the second execution if the first one has succeeded. It is error_code() if
  /// the second execution succeeds as well.
  Outcome end(error_code status, error_code already);
  void check_memory(const memory::RegisteredBuffer& memory);
  void doubt(const std::string& name);
  const std::string* any_file();
  std::string new_name() { return fmt::format("n{}", ++names_); }
  void require_bytes(bool right, std::string_view what, std::string_view name);

  Stage& stage_;
  const std::string name_;
  Random random_;
  const fabric::LoopbackFabric& fabric_;
  nfs::Client* client_ = nullptr;
  const bool* lost_ = nullptr;
  nfs::FileHandle directory_;
  bool made_ = false;  // the directory exists
  std::uint32_t names_ = 0;
  // The value of Stage::server_lives when begin() started the operation. A different value in end() shows that the
  // server has been restarted during the operation.
  std::uint32_t lives_ = 0;
  std::string operation_;
  std::map<std::string, File> files_;
  std::map<std::string, std::string> links_;  // name and target
  std::set<std::string> directories_;
  std::set<std::string> uncertain_;
};

}  // namespace rpcrdma::sim

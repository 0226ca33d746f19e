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

/// One sequence of operations in a directory of its own, and the model of that directory. An operation that ends with
/// an error of the transport may still take effect at any later time. The names that it changes become uncertain, and
/// are neither used nor checked any more.
class FileWorker {
 public:
  /// `directory` is unique in a run.
  FileWorker(Stage& stage, std::string directory, std::uint64_t seed, const fabric::LoopbackFabric& fabric)
      : stage_(stage), name_(std::move(directory)), random_(seed), fabric_(fabric) {}

  /// Makes the directory below `root`, and runs the operations until all are done or `lost` becomes true.
  boost::asio::awaitable<void> run(nfs::Client& client, nfs::FileHandle root, const bool& lost);
  /// Compares the directory with the model.
  void check(nfsd::FileSystem& files);

 private:
  struct File {
    nfs::FileHandle handle;
    std::string octets;
  };
  enum class Outcome : std::uint8_t {
    done,       ///< the operation has taken effect
    repeated,   ///< the first run has taken effect; a restarted server has run it a second time
    nothing,    ///< the operation has no effect
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
  /// `already`: the error with which a resent operation fails if its first execution succeeded.
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
  std::uint32_t lives_ = 0;  // number of servers that had been started when the operation began
  std::string operation_;
  std::map<std::string, File> files_;
  std::map<std::string, std::string> links_;  // name and target
  std::set<std::string> directories_;
  std::set<std::string> uncertain_;
};

}  // namespace rpcrdma::sim

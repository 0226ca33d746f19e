// SPDX-License-Identifier: BSD-3-Clause
#pragma once
// A Case is a measurement; a Subject is a program to measure.
#include <chrono>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>

#include "usage.hpp"

namespace rpcrdma::bench {

enum class Operation : std::uint8_t {
  null,             ///< a call that does nothing
  read,             ///< bytes from the server
  write,            ///< bytes to the server
  attributes,       ///< NFSv3 GETATTR
  setup,            ///< connect, one NULL, disconnect
  idle_memory,      ///< growth of the server's resident memory for each idle connection
  posted_receives,  ///< memory registered for the receives of each idle connection
  connect_all,      ///< the time in which all idle connections were made, one after another
  notice_end,       ///< the time from the end of the idle connections until the server has noticed it
  lookup,           ///< NFSv3 LOOKUP of a name that exists
  create_remove,    ///< CREATE and REMOVE of a name: one operation
  read_directory,   ///< READDIRPLUS of a large directory; each entry is one operation
  tree_put,         ///< a tree of small files to the server; each file is one operation
  tree_get,         ///< a tree of small files from the server; each file is one operation
  mkdir,
  rmdir,
  set_mode,  ///< SETATTR of the mode of an object
  rename,
};

struct Case {
  std::string name;
  std::string unit;  ///< "us": the median duration; "ms": a time; "1/s", "MB/s": a rate; "KiB": memory
  Operation operation = Operation::null;
  std::uint32_t bytes = 0;        ///< bulk bytes in one operation
  std::uint32_t depth = 1;        ///< operations in flight, over all connections
  std::uint32_t connections = 1;  ///< the calls are spread over these
  std::uint32_t files = 0;        ///< the number of files in a tree
  int rounds = 0;                 ///< 0: the default number of rounds; otherwise this number, or one round with --quick
  std::chrono::milliseconds least{};  ///< the least time that a round takes, also with --quick
};

/// Thrown by the constructor of a subject that cannot run on this machine, or with these options.
struct Unavailable : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Bytes of a small request or reply: about the size of a NULL call with the headers of all layers.
constexpr std::size_t kSmallMessage = 128;

struct Outcome {
  double value = 0;              ///< the result, in the case's unit
  std::uint64_t operations = 0;  ///< completed in the run
};

/// A server and its clients, or a local directory without a server. The constructor starts the server, and the
/// destructor ends it. Clients connect at their first operation. Connections that are to stay idle are made by the
/// constructor.
class Subject {
 public:
  virtual ~Subject() = default;
  /// Measures the case `which`, and repeats its operation for about `budget`. A case that sets up connections, copies a
  /// tree or needs idle connections may take a longer or shorter time. Returns nullopt if this subject does not
  /// support the case. Throws std::runtime_error on failure.
  virtual std::optional<Outcome> run(const Case& which, std::chrono::milliseconds budget) = 0;
  /// Returns the totals of the client's process and of the server's process, if there is one. Each process counts from
  /// its own start. Getting the totals adds a little to them.
  virtual Usage usage() = 0;
};

}  // namespace rpcrdma::bench

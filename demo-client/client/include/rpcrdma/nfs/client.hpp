// SPDX-License-Identifier: BSD-3-Clause
#pragma once
// An NFSv3 client (RFC 1813) over RPC-over-RDMA: asynchronous operations for all procedures except ACCESS, MKNOD and
// PATHCONF.
//
// Every operation is a Task. It can be awaited in a coroutine, or be started by nfs::start() with any completion token.
// When the connection is lost, the client retransmits the calls without a reply, with the same XID, until the timeout.
// The client repeats a call that the server answers with NFS3ERR_JUKEBOX.
// Errors: nfs::Status from the server, nfs::ClientError, and the errors of the RPC layer and of the transport.
//
// Threads: everything here belongs to the thread of the io_context, which must outlive the Client. A Client must
// outlive its operations.
#include <boost/asio/io_context.hpp>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "rpcrdma/base/log.hpp"
#include "rpcrdma/connection/characteristics.hpp"
#include "rpcrdma/connection/options.hpp"
#include "rpcrdma/fabric/open/open.hpp"
#include "rpcrdma/memory/pool.hpp"
#include "rpcrdma/nfs/error.hpp"
#include "rpcrdma/nfs/node.hpp"
#include "rpcrdma/nfs/task.hpp"

namespace rpcrdma::nfs {

struct ClientOptions {
  fabric::OpenOptions fabric;
  transport::VersionChoice version = transport::VersionChoice::one;  ///< version of RPC-over-RDMA
  std::chrono::milliseconds timeout{60000};  ///< of each call, including its retries and reconnecting
  /// How long connect() and connect_over() try a server that cannot be reached; never longer than `timeout`.
  std::chrono::milliseconds first_connect{10000};
  /// The user id and the group id in the AUTH_SYS credential. If both are set, the credential has no supplementary
  /// groups. If neither is set, the credential has the effective ids and the groups of the process. If only one is set,
  /// connecting fails with EINVAL.
  std::optional<std::uint32_t> uid, gid;
  std::optional<std::uint16_t> mount_port;             ///< calls MOUNT over TCP at this port, not over RDMA
  std::size_t max_registered = std::size_t{96} << 20;  ///< bytes of memory that pool() may register
  /// The number of connections to the server. READs and WRITEs rotate through them; all other calls use the first one.
  /// If a further connection cannot be made, the client uses those made before it.
  std::size_t connections = 1;
  Log log;
};

class Client {
 public:
  /// Sends a NULL call to up to four addresses of the host at once, and connects to the first that answers. If none
  /// answers, the error is that of one of the addresses, such as "Connection refused".
  static Task<std::unique_ptr<Client>> connect(boost::asio::io_context& context, std::string host, std::uint16_t port,
                                               ClientOptions options);
  /// Connects to one address over a fabric that the caller has opened; options.fabric is ignored.
  static Task<std::unique_ptr<Client>> connect_over(std::unique_ptr<fabric::Fabric> fabric, fabric::Endpoint server,
                                                    ClientOptions options);
  /// Ends the connections without an orderly close. If the destructor runs in a handler of the io_context, the
  /// connections end only after this handler, so a completion of an operation may destroy the client. Otherwise the
  /// connections end before the destructor returns.
  ~Client();
  /// Closes the connections in an orderly way. Completes when they have ended, or after `limit`. May be called only if
  /// no operation of the client is in progress. No operation may be started after this call.
  boost::asio::awaitable<void> close(std::chrono::milliseconds limit = std::chrono::milliseconds(2000));
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  boost::asio::any_io_executor executor() const;
  /// The pool of the registered buffers for read(), write() and the connections.
  memory::Pool& pool() noexcept;
  const fabric::Endpoint& server() const noexcept;
  std::string_view fabric_name() const noexcept;
  /// The version of RPC-over-RDMA on the first connection, and the transport characteristics of both sides.
  transport::Characteristics characteristics() const noexcept;

  /// Asks MOUNT version 3 for the handle of the export `path`; caches the handle.
  Task<FileHandle> mount(std::string path);

  Task<void> null();
  Task<Attributes> getattr(FileHandle file);
  Task<void> setattr(FileHandle file, SetAttributes attributes);
  /// Calls GETATTR as well if the reply to LOOKUP lacks the attributes.
  Task<Node> lookup(FileHandle directory, std::string name);
  Task<std::string> readlink(FileHandle link);

  struct ReadResult {
    std::uint32_t count = 0;  ///< bytes read into `into`; may be fewer than requested
    bool eof = false;         ///< true if the file ends after these bytes
  };
  /// Reads up to into.size bytes directly into `into`, registered memory that must stay valid until completion.
  Task<ReadResult> read(FileHandle file, std::uint64_t offset, BufferRef into);

  struct WriteResult {
    std::uint32_t count = 0;  ///< bytes written; may be fewer than given
    Stable committed = Stable::unstable;
    Verifier verifier{};
  };
  /// Writes directly from `from`, registered memory that must stay valid until completion.
  Task<WriteResult> write(FileHandle file, std::uint64_t offset, BufferRef from, Stable stability);
  /// Commits the whole file.
  Task<Verifier> commit(FileHandle file);

  /// Calls CREATE. If `exclusive` is true, the mode is GUARDED, so the operation fails with Status::exist if the file
  /// exists. Otherwise the mode is UNCHECKED.
  Task<Node> create(FileHandle directory, std::string name, SetAttributes attributes, bool exclusive);
  Task<Node> mkdir(FileHandle directory, std::string name, std::uint32_t mode);
  Task<void> symlink(FileHandle directory, std::string name, std::string target);
  Task<void> link(FileHandle file, FileHandle directory, std::string name);
  Task<void> remove(FileHandle directory, std::string name);
  Task<void> rmdir(FileHandle directory, std::string name);
  Task<void> rename(FileHandle from, std::string from_name, FileHandle to, std::string to_name);

  /// A position in a directory; by default its beginning.
  struct Position {
    std::uint64_t cookie = 0;
    Verifier verifier{};
  };
  struct Page {
    std::vector<DirectoryEntry> entries;  ///< without "." and ".."; names as the server sent them
    Position next;
    bool end = false;
  };
  /// Reads one page: the part of the listing that begins at `from` and that the server returns in one reply. Uses
  /// READDIRPLUS if `attributes` is true and the server supports it, and READDIR otherwise. Fails with
  /// ClientError::malformed_reply if the cookie does not advance and the page is not the last. A DirectoryReader reads
  /// all pages.
  Task<Page> read_directory(FileHandle directory, Position from, bool attributes);

  /// Returns the sizes to use in READ and WRITE. They are the sizes that the server prefers, adjusted to the range from
  /// 512 bytes to 1 MiB. The client keeps the result of the first successful call, and returns it to later calls
  /// whatever their `root` is.
  Task<Limits> limits(FileHandle root);
  Task<Statistics> space(FileHandle root);

  /// How many connections the client has; at most ClientOptions::connections.
  std::size_t connections() const noexcept;
  /// The reason why a connection is down. If several connections are down, this is the reason of the one that was made
  /// first. Success if no connection is down.
  error_code connection_error() const noexcept;

  struct Impl;  // state that the operations share

 private:
  explicit Client(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace rpcrdma::nfs

// SPDX-License-Identifier: BSD-3-Clause
#include "rpcrdma/rpc/rpcbind.hpp"

#include <fmt/format.h>
#include <rpc/rpc.h>
#include <rpc/rpcb_prot.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "rpcrdma/base/fd.hpp"

namespace rpcrdma::rpc {
namespace {

/// The local socket of rpcbind. On a local socket, rpcbind learns the user id of this process. It records this user as
/// the owner of the entries, and permits the owner to remove them.
constexpr const char* kSocket = "/run/rpcbind.sock";

/// A connection to rpcbind.
class Session {
 public:
  explicit Session(std::chrono::seconds timeout) : timeout_{timeout.count(), 0} {}
  ~Session() {
    if (client_ != nullptr) {
      auth_destroy(client_->cl_auth);
      clnt_destroy(client_);
    }
  }
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  RpcbindResult open();
  /// `procedure`: RPCBPROC_SET or RPCBPROC_UNSET.
  RpcbindResult ask(rpcproc_t procedure, const RpcbindEntry& entry);

 private:
  timeval timeout_;
  Fd socket_;
  CLIENT* client_ = nullptr;
};

RpcbindResult Session::open() {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::strncpy(address.sun_path, kSocket, sizeof address.sun_path - 1);
  socket_ = Fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  // SO_SNDTIMEO also limits the time of connect().
  if (socket_) ::setsockopt(socket_.get(), SOL_SOCKET, SO_SNDTIMEO, &timeout_, sizeof timeout_);
  if (!socket_ || ::connect(socket_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0)
    return fmt::format("rpcbind does not answer at {}: {}", kSocket, std::strerror(errno));
  netbuf peer{sizeof address, sizeof address, &address};
  client_ = clnt_vc_create(socket_.get(), &peer, RPCBPROG, RPCBVERS, 0, 0);
  if (client_ == nullptr) return fmt::format("rpcbind at {}: {}", kSocket, clnt_sperrno(rpc_createerr.cf_stat));
  return {};
}

RpcbindResult Session::ask(rpcproc_t procedure, const RpcbindEntry& entry) {
  RpcbindEntry copy = entry;
  std::string owner = std::to_string(::geteuid());
  rpcb question{copy.program, copy.version, copy.netid.data(), copy.address.data(), owner.data()};
  bool_t done = FALSE;
  const clnt_stat status =
      clnt_call(client_, procedure, reinterpret_cast<xdrproc_t>(xdr_rpcb), reinterpret_cast<caddr_t>(&question),
                reinterpret_cast<xdrproc_t>(xdr_bool), reinterpret_cast<caddr_t>(&done), timeout_);
  if (status == RPC_SUCCESS && done) return {};
  const char* reason = status == RPC_SUCCESS ? "refused; is another server registered?" : clnt_sperrno(status);
  return fmt::format("rpcbind, program {} version {} on {} at {}: {}", entry.program, entry.version, entry.netid,
                     entry.address, reason);
}

using Endpoint = boost::asio::ip::tcp::endpoint;
using Programs = std::vector<std::pair<std::uint32_t, std::uint32_t>>;

void add_entries(const Programs& programs, const std::string& netid, const Endpoint& endpoint,
                 std::vector<RpcbindEntry>& out) {
  for (const auto& [program, version] : programs) out.push_back({program, version, netid, universal_address(endpoint)});
}

/// Adds entries for the first IPv4 listener and for the first IPv6 listener. `both` is true if a listener at :: counts
/// as one that also accepts IPv4 connections. If `both` is true and there is no IPv4 listener, the first listener at ::
/// gets an IPv4 entry as well.
void add_listeners(const Programs& programs, const std::string& netid, const std::vector<Endpoint>& listeners,
                   bool both, std::vector<RpcbindEntry>& out) {
  const auto first = [&](auto wanted) { return std::find_if(listeners.begin(), listeners.end(), wanted); };
  const auto v4 = first([](const Endpoint& e) { return e.address().is_v4(); });
  const auto v6 = first([](const Endpoint& e) { return e.address().is_v6(); });
  const auto every = first([](const Endpoint& e) { return e.address().is_v6() && e.address().is_unspecified(); });
  if (v4 != listeners.end())
    add_entries(programs, netid, *v4, out);
  else if (both && every != listeners.end())
    add_entries(programs, netid, {boost::asio::ip::address_v4::any(), every->port()}, out);
  if (v6 != listeners.end()) add_entries(programs, netid + "6", *v6, out);
}

}  // namespace

std::vector<RpcbindEntry> rpcbind_entries(const Programs& programs, const std::vector<Endpoint>& tcp,
                                          const std::vector<Endpoint>& rdma) {
  std::vector<RpcbindEntry> entries;
  add_listeners(programs, "tcp", tcp, true, entries);
  add_listeners(programs, "rdma", rdma, false, entries);  // [8166-9-a] rdma, rdma6
  return entries;
}

std::string universal_address(const boost::asio::ip::tcp::endpoint& endpoint) {
  return fmt::format("{}.{}.{}", endpoint.address().to_string(), endpoint.port() >> 8, endpoint.port() & 0xff);
}

RpcbindResult RpcbindRegistration::add(const std::vector<RpcbindEntry>& entries) { return set(entries, false); }
RpcbindResult RpcbindRegistration::replace(const std::vector<RpcbindEntry>& entries) { return set(entries, true); }

RpcbindResult RpcbindRegistration::set(const std::vector<RpcbindEntry>& entries, bool unset_first) {
  Session session(timeout_);
  if (RpcbindResult opened = session.open(); !opened) return opened;
  for (const RpcbindEntry& entry : entries) {
    if (unset_first) static_cast<void>(session.ask(RPCBPROC_UNSET, entry));  // may fail: there may be no such entry
    if (RpcbindResult added = session.ask(RPCBPROC_SET, entry); !added) {
      remove();
      return added;
    }
    entries_.push_back(entry);
  }
  return {};
}

void RpcbindRegistration::remove() noexcept {
  if (entries_.empty()) return;
  const std::vector<RpcbindEntry> entries = std::exchange(entries_, {});
  Session session(timeout_);
  if (!session.open()) return;
  for (const RpcbindEntry& entry : entries)
    if (!session.ask(RPCBPROC_UNSET, entry)) return;
}

}  // namespace rpcrdma::rpc

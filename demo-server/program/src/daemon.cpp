// SPDX-License-Identifier: BSD-3-Clause
// Operation: one event loop a thread, each with a lane for every fabric in use; a control loop for signals and
// housekeeping, which never blocks; I/O threads for files; the main thread for what else may block.
// Ownership: the Daemon owns everything, in the order in which it must go.
// Error handling: what fails at the start ends the start, with one line that says why.
#include "rpcrdma/nfsd/program/daemon.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <future>

#include "rpcbind_entries.hpp"
#include "rpcrdma/base/runner.hpp"
#include "rpcrdma/nfsd/posix/posix_file_system.hpp"
#include "rpcrdma/nfsd/service/signals.hpp"

namespace rpcrdma::nfsd {
namespace {

/// Memory exports may use half of the machine's memory.
std::size_t memory_budget() {
  const long pages = ::sysconf(_SC_PHYS_PAGES);
  const long size = ::sysconf(_SC_PAGESIZE);
  if (pages <= 0 || size <= 0) return std::size_t{1} << 30;
  return static_cast<std::size_t>(pages) * static_cast<std::size_t>(size) / 2;
}

unsigned io_threads() { return std::clamp(2 * std::thread::hardware_concurrency(), 4u, 64u); }
/// Beside those that hang.
constexpr unsigned kMostIoThreads = 256;

fabric::OpenOptions open_options(const Options& options, const ListenSpec& listen) {
  return {.provider = listen.provider, .crc = options.crc, .keepalive = std::chrono::seconds(options.keepalive)};
}

void append(std::string& list, std::string_view item) {
  if (!list.empty()) list += ',';
  list += item;
}

std::string texts_of(const std::vector<boost::asio::ip::tcp::endpoint>& endpoints) {
  std::string list;
  for (const auto& endpoint : endpoints) append(list, text_of(endpoint));
  return list;
}

}  // namespace

Daemon::Daemon(Options options, Log log)
    : options_(std::move(options)), log_(std::move(log)), exports_(memory_budget()) {}

Daemon::~Daemon() {
  tear_down();
  control_.stop();
  if (control_thread_.joinable()) control_thread_.join();
}

bool Daemon::start(std::string& why) {
  if (!open_exports(why)) return false;
  io_ = std::make_unique<IoPool>(io_threads(), kMostIoThreads, secret_);
  shared_ = std::make_unique<Shared>(Shared{exports_, *io_, mounts_, duplicates_, secret_});
  while (loops_.size() < options_.threads) loops_.push_back(std::make_unique<Loop>());
  if (!listen_rdma(why) || !listen_tcp(why)) return false;
  // Before there is anything to undo: a signal that comes while rpcbind is being told waits for run().
  catch_signals();
  // On this thread: whatever rpcbind does, the event loops serve already.
  if (!options_.rpcbind) return true;
  const rpc::RpcbindResult registered = rpcbind_.add(rpcbind_entries(tcp_bound_, rdma_bound_));
  if (!registered) why = registered.error();
  return registered.has_value();
}

bool Daemon::open_exports(std::string& why) {
  if (const error_code failed = make_state_dir(options_.state_dir)) {
    why = fmt::format("state folder {}: {}", options_.state_dir.string(), failed.message());
    return false;
  }
  const auto secret = load_handle_secret(options_.state_dir);
  if (!secret) {
    why = fmt::format("{}: {}", (options_.state_dir / "handle.key").string(), secret.error().message());
    return false;
  }
  secret_ = *secret;
  if (!exports_.replace(options_.exports, options_.state_dir, log_, why)) return false;
  const bool on_disk = std::ranges::any_of(options_.exports, [](const ExportSpec& spec) { return !spec.memory; });
  if (on_disk && !serves_as_callers())
    log_.warn("cannot take other users' identities: all files are served as user {}, group {}", ::geteuid(),
              ::getegid());
  return true;
}

/// A device has an address, so listeners on verbs share lanes only if they have the same one.
Daemon::Group* Daemon::group_for(const ListenSpec& listen, std::string& why) {
  auto opened = fabric::open(loops_.front()->context, listen.endpoint.address(), open_options(options_, listen), log_);
  if (!opened) {
    why = fmt::format("no fabric at {}: {}", text_of(listen.endpoint), opened.error().message());
    return nullptr;
  }
  std::string key((*opened)->capabilities().name);
  if (key == "verbs") key += " at " + listen.endpoint.address().to_string();
  for (const auto& group : groups_)
    if (group->key == key) return group.get();
  return make_group(std::move(*opened), listen, std::move(key), why);
}

Daemon::Group* Daemon::make_group(std::unique_ptr<fabric::Fabric> first, const ListenSpec& listen, std::string key,
                                  std::string& why) {
  auto group = std::make_unique<Group>();
  group->key = std::move(key);
  group->lanes.push_back(std::make_unique<Lane>(std::move(first), *shared_, log_));
  for (std::size_t i = 1; i < loops_.size(); ++i) {
    auto opened = fabric::open(loops_[i]->context, listen.endpoint.address(), open_options(options_, listen), log_);
    if (!opened) {
      why = fmt::format("no fabric at {}: {}", text_of(listen.endpoint), opened.error().message());
      return nullptr;
    }
    group->lanes.push_back(std::make_unique<Lane>(std::move(*opened), *shared_, log_));
  }
  transport::ServerOptions options;
  options.connection.credits = options_.credits;
  options.connection.send_size = options_.inline_threshold;
  options.connection.receive_size = options_.inline_threshold;
  options.max_connections = options_.max_connections;
  options.max_connections_per_peer = std::min(options.max_connections_per_peer, options_.max_connections);
  std::vector<transport::Worker> workers;
  for (const auto& lane : group->lanes) workers.push_back(lane->worker());
  group->server = transport::Server::make(workers, options, log_);
  groups_.push_back(std::move(group));
  return groups_.back().get();
}

bool Daemon::listen_rdma(std::string& why) {
  std::vector<Group*> chosen;
  for (const ListenSpec& listen : options_.listens) {
    chosen.push_back(group_for(listen, why));
    if (chosen.back() == nullptr) return false;
  }
  start_loops();
  for (std::size_t i = 0; i < chosen.size(); ++i) {
    const fabric::Endpoint& wanted = options_.listens[i].endpoint;
    std::promise<Result<fabric::Endpoint>> promise;
    chosen[i]->server->listen(wanted, [&](Result<fabric::Endpoint> bound) { promise.set_value(std::move(bound)); });
    const Result<fabric::Endpoint> bound = promise.get_future().get();
    if (!bound) {
      why = fmt::format("cannot listen at {}: {}", text_of(wanted), bound.error().message());
      return false;
    }
    rdma_bound_.push_back(*bound);
    append(fabric_text_, chosen[i]->lanes.front()->worker().fabric->capabilities().name);
  }
  return true;
}

bool Daemon::listen_tcp(std::string& why) {
  Lane& lane = *groups_.front()->lanes.front();
  std::vector<rpc::TcpWorker> workers;
  for (const auto& l : groups_.front()->lanes) workers.push_back({&l->context(), &l->pool(), &l->dispatcher()});
  for (const auto& wanted : options_.tcp_listens) {
    rpc::TcpServerOptions options;
    options.v6_only = std::ranges::any_of(options_.tcp_listens, [&wanted](const auto& other) {
      return wanted.port() != 0 && other.port() == wanted.port() && other.address().is_v4();
    });
    options.max_connections = options_.max_connections;
    options.max_connections_per_peer = std::min(options.max_connections_per_peer, options_.max_connections);
    std::promise<Result<boost::asio::ip::tcp::endpoint>> promise;
    boost::asio::post(lane.context(), [&] {
      tcp_servers_.push_back(rpc::TcpServer::make(workers, options, log_));
      promise.set_value(tcp_servers_.back()->listen(wanted));
    });
    const auto bound = promise.get_future().get();
    if (!bound) {
      why = fmt::format("cannot listen on TCP at {}: {}", text_of(wanted), bound.error().message());
      return false;
    }
    tcp_bound_.push_back(*bound);
  }
  return true;
}

std::string Daemon::ready_line() const {
  return fmt::format("ready rdma={} fabric={} tcp={}", texts_of(rdma_bound_), fabric_text_,
                     tcp_bound_.empty() ? "off" : texts_of(tcp_bound_));
}

void Daemon::start_loops() {
  for (const auto& loop : loops_) {
    loop->thread = std::thread([&context = loop->context] {
      leave_signals_to_others();
      const auto guard = boost::asio::make_work_guard(context);
      Runner(context).run();
    });
  }
}

/// After the I/O threads, whose last replies are still handled.
void Daemon::end_loops() {
  if (io_ != nullptr) io_->join();
  for (const auto& loop : loops_) boost::asio::post(loop->context, [&context = loop->context] { context.stop(); });
  for (const auto& loop : loops_)
    if (loop->thread.joinable()) loop->thread.join();
}

}  // namespace rpcrdma::nfsd

// SPDX-License-Identifier: BSD-3-Clause
// Operation: event loops, each on LoopThreads and with a FabricWorker for every fabric in use; a control loop for
// signals and housekeeping, which never blocks; I/O threads for files; with --metrics, a thread for statistics. The
// main thread does other work that may block.
// Ownership: the Daemon owns everything; its last member is destroyed first.
// Error handling: a failure ends start() with one line that gives the reason.
#include "rpcrdma/nfsd/program/daemon.hpp"

#include <fmt/format.h>
#include <sched.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <future>

#include "rpcbind_entries.hpp"
#include "rpcrdma/capture_option/capture_option.hpp"
#include "rpcrdma/nfsd/posix/posix_file_system.hpp"
#include "rpcrdma/nfsd/service/signals.hpp"

namespace rpcrdma::nfsd {
namespace {

/// The file data of memory exports may use half of the machine's memory.
std::size_t memory_budget() {
  const long pages = ::sysconf(_SC_PHYS_PAGES);
  const long size = ::sysconf(_SC_PAGESIZE);
  if (pages <= 0 || size <= 0) return std::size_t{1} << 30;
  return static_cast<std::size_t>(pages) * static_cast<std::size_t>(size) / 2;
}

/// The number of threads with which the IoPool starts. It exceeds the number of processors in most cases, because an
/// idle thread costs little. In addition, with more threads, more calls can wait for the synchronization of the same
/// file at the same time, and one fsync then serves several of them.
unsigned io_threads() { return std::clamp(2 * std::thread::hardware_concurrency(), 16u, 64u); }
/// The maximum number of threads in the IoPool. The pool has more than io_threads() threads only after jobs have waited
/// and no thread has started one for IoPool::kPatience, usually because a file system blocks the threads.
constexpr unsigned kMostIoThreads = 256;

/// The number of processors on which the calling thread may run.
std::size_t processors() {
  cpu_set_t set;
  if (::sched_getaffinity(0, sizeof set, &set) != 0) return std::thread::hardware_concurrency();
  return static_cast<std::size_t>(CPU_COUNT(&set));
}

/// The maximum number of jobs that wait for the thread of an event loop.
constexpr std::size_t kMostJobs = 64;

/// Descriptors for files, fabrics and threads, in addition to those of connections.
constexpr rlim_t kOtherDescriptors = 1024;

void warn_if_descriptors_are_few(const Options& options, const Log& log) {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  const rlim_t transports = options.tcp_listens.empty() ? 1 : 2;
  const rlim_t wanted = transports * options.max_connections + kOtherDescriptors;
  if (limit.rlim_cur >= wanted) return;
  log.warn(
      "the limit of open files is {}, but max-connections {} may need {}: at the limit, new connections wait; raise "
      "the limit (ulimit -Hn, LimitNOFILE of the unit) or lower max-connections",
      limit.rlim_cur, options.max_connections, wanted);
}

fabric::OpenOptions open_options(const Options& options, const ListenSpec& listen, std::shared_ptr<fabric::Tap> tap) {
  return {.provider = listen.provider,
          .crc = options.crc,
          .keepalive = std::chrono::seconds(options.keepalive),
          .tap = std::move(tap)};
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

Checked<void> Daemon::start() {
  warn_if_descriptors_are_few(options_, log_);
  if (auto entered = confine(); !entered) return entered;
  if (auto opened = open_capture(); !opened) return opened;
  if (auto opened = open_exports(); !opened) return opened;
  io_ = std::make_unique<IoPool>(io_threads(), kMostIoThreads, secret_, keep_identities);
  shared_ = std::make_unique<SharedServices>(SharedServices{exports_, *io_, mounts_, duplicates_, secret_});
  while (loops_.size() < options_.threads) loops_.push_back(std::make_unique<Loop>(options_.poll));
  if (auto listens = listen_rdma(); !listens) return listens;
  if (auto listens = listen_tcp(); !listens) return listens;
  if (auto listens = listen_metrics(); !listens) return listens;
  // Called before the registration with rpcbind. If SIGTERM or SIGINT arrives during the registration, the process does
  // not end at once, but run() removes the registration and returns.
  catch_signals();
  // The registration blocks only this thread: the event loops serve calls while rpcbind is slow to answer.
  if (!options_.rpcbind) return {};
  if (auto registered = rpcbind_.add(rpcbind_entries(tcp_bound_, rdma_bound_)); !registered)
    return Refusal{registered.error()};
  return {};
}

Checked<void> Daemon::open_capture() {
  auto opened = capture::open_capture(options_.capture, log_);
  if (!opened) return Refusal{std::move(opened.error().why)};
  capture_ = std::move(*opened);
  return {};
}

/// Enters the sandbox, which permits access to the directories and ports of the options. Makes the state directory
/// before that, because the sandbox can permit access only to a directory that exists.
Checked<void> Daemon::confine() {
  if (const error_code failed = make_state_dir(options_.state_dir))
    return Refusal{fmt::format("state directory {}: {}", options_.state_dir.string(), failed.message())};
  SandboxNeeds needs;
  for (const ListenSpec& listen : options_.listens) needs.tcp_ports.push_back(listen.endpoint.port());
  for (const auto& endpoint : options_.tcp_listens) needs.tcp_ports.push_back(endpoint.port());
  if (options_.metrics) needs.tcp_ports.push_back(options_.metrics->port());
  needs.writable.push_back(options_.state_dir);
  if (options_.capture) needs.writable.push_back(absolute(options_.capture->file).parent_path());
  for (const ExportSpec& spec : options_.exports) {
    if (spec.memory) continue;
    needs.devices = needs.devices || spec.devices;
    (spec.read_only ? needs.readable : needs.writable).emplace_back(spec.directory);
  }
  may_make_devices_ = needs.devices;
  return enter_sandbox(options_.sandbox, needs, log_);
}

Checked<void> Daemon::open_exports() {
  const auto secret = load_handle_secret(options_.state_dir);
  if (!secret)
    return Refusal{fmt::format("{}: {}", (options_.state_dir / "handle.key").string(), secret.error().message())};
  secret_ = *secret;
  if (auto opened = exports_.replace(options_.exports, options_.state_dir, log_); !opened) return opened;
  const bool on_disk = std::ranges::any_of(options_.exports, [](const ExportSpec& spec) { return !spec.memory; });
  if (on_disk && !serves_as_callers())
    log_.warn(
        "no privilege to act as other users: all files are accessed as user {}, group {}; run the server as root "
        "to change that",
        ::geteuid(), ::getegid());
  return {};
}

Checked<std::unique_ptr<fabric::Fabric>> Daemon::open_fabric(Loop& loop, const ListenSpec& listen) {
  auto opened = fabric::open(loop.context, listen.endpoint.address(), open_options(options_, listen, capture_), log_);
  if (!opened)
    return Refusal{fmt::format("cannot open a fabric at {}: {}", text_of(listen.endpoint), opened.error().message())};
  return std::move(*opened);
}

/// Returns the group to which the listener belongs, and makes the group if it does not exist. Listeners on verbs share
/// a group only if they have the same address, because the address determines the RDMA device.
Checked<Daemon::Group*> Daemon::group_for(const ListenSpec& listen) {
  auto opened = open_fabric(*loops_.front(), listen);
  if (!opened) return opened.error();
  std::string key((*opened)->capabilities().name);
  if (key == "verbs") key += " at " + listen.endpoint.address().to_string();
  for (const auto& group : groups_)
    if (group->key == key) return group.get();
  return make_group(std::move(*opened), listen, std::move(key));
}

/// The size below which the limit of locked memory does not reduce a pool. A worker's bulk budget is at most half of
/// its pool. The budget must hold the largest transfer or listing, because a call that can never fit would be answered
/// with NFS3ERR_JUKEBOX for ever.
constexpr std::size_t kLeastPool = 2 * std::size_t{kMaxTransfer};

/// A pool of the default size suffices for kUsualConnections connections. For each further connection that the options
/// permit, the pools of a group together become larger by kFirstReceives receive buffers. Before its first call, a
/// connection needs four receives for calls and two for replies to reverse calls; kFirstReceives is rounded up.
constexpr std::size_t kUsualConnections = 1024;
constexpr std::size_t kFirstReceives = 8;

/// Divides the limit of locked memory by the largest possible number of fabrics: one for each listener in each thread.
memory::PoolOptions Daemon::pool_options(const fabric::Capabilities& capabilities) const {
  memory::PoolOptions wanted;
  const std::size_t connections = std::max<std::size_t>(options_.max_connections, kUsualConnections);
  wanted.max_octets += (connections - kUsualConnections) * kFirstReceives * options_.inline_threshold / loops_.size();
  auto fitting = memory::within_limit(wanted, capabilities, loops_.size() * options_.listens.size());
  fitting.max_octets = std::max(fitting.max_octets, std::min(wanted.max_octets, kLeastPool));
  if (fitting.max_octets < wanted.max_octets)
    log_.warn(
        "locked memory is limited to {} KiB: each thread registers at most {} KiB of buffers for each listener instead "
        "of {} KiB, and calls that do not fit are answered with NFS3ERR_JUKEBOX; raise the limit (ulimit -l, "
        "LimitMEMLOCK=) or use fewer --threads",
        capabilities.lockable_memory >> 10, fitting.max_octets >> 10, wanted.max_octets >> 10);
  return fitting;
}

Checked<Daemon::Group*> Daemon::make_group(std::unique_ptr<fabric::Fabric> first, const ListenSpec& listen,
                                           std::string key) {
  auto group = std::make_unique<Group>();
  group->key = std::move(key);
  const memory::PoolOptions memory = pool_options(first->capabilities());
  group->workers.push_back(std::make_unique<FabricWorker>(std::move(first), *shared_, log_, memory));
  for (std::size_t i = 1; i < loops_.size(); ++i) {
    auto opened = open_fabric(*loops_[i], listen);
    if (!opened) return opened.error();
    group->workers.push_back(std::make_unique<FabricWorker>(std::move(*opened), *shared_, log_, memory));
  }
  transport::ServerOptions options;
  options.connection.credits = options_.credits;
  options.connection.send_size = options_.inline_threshold;
  options.connection.receive_size = options_.inline_threshold;
  options.connection.version = options_.version;
  options.max_connections = options_.max_connections;
  options.max_connections_per_peer = std::min(options.max_connections_per_peer, options_.max_connections);
  options.bulk_budget = std::min(options.bulk_budget, memory.max_octets / 2);
  std::vector<transport::Worker> workers;
  for (const auto& worker : group->workers) workers.push_back(worker->worker());
  group->server = transport::Server::make(workers, options, log_);
  groups_.push_back(std::move(group));
  return groups_.back().get();
}

Checked<void> Daemon::listen_rdma() {
  std::vector<Group*> chosen;
  for (const ListenSpec& listen : options_.listens) {
    const auto group = group_for(listen);
    if (!group) return group.error();
    chosen.push_back(*group);
  }
  start_loops();
  for (std::size_t i = 0; i < chosen.size(); ++i) {
    const fabric::Endpoint& wanted = options_.listens[i].endpoint;
    std::promise<Result<fabric::Endpoint>> promise;
    chosen[i]->server->listen(wanted, [&](Result<fabric::Endpoint> bound) { promise.set_value(std::move(bound)); });
    const Result<fabric::Endpoint> bound = promise.get_future().get();
    if (!bound) return Refusal{fmt::format("cannot listen at {}: {}", text_of(wanted), bound.error().message())};
    rdma_bound_.push_back(*bound);
    append(fabric_text_, chosen[i]->workers.front()->worker().fabric->capabilities().name);
  }
  return {};
}

Checked<void> Daemon::listen_tcp() {
  FabricWorker& first = *groups_.front()->workers.front();
  std::vector<rpc::TcpWorker> workers;
  for (const auto& w : groups_.front()->workers) workers.push_back({&w->context(), &w->pool(), &w->dispatcher()});
  for (const auto& wanted : options_.tcp_listens) {
    rpc::TcpServerOptions options;
    options.v6_only = std::ranges::any_of(options_.tcp_listens, [&wanted](const auto& other) {
      return wanted.port() != 0 && other.port() == wanted.port() && other.address().is_v4();
    });
    options.max_connections = options_.max_connections;
    options.max_connections_per_peer = std::min(options.max_connections_per_peer, options_.max_connections);
    std::promise<Result<boost::asio::ip::tcp::endpoint>> promise;
    boost::asio::post(first.context(), [&] {
      tcp_servers_.push_back(rpc::TcpServer::make(workers, options, log_));
      promise.set_value(tcp_servers_.back()->listen(wanted));
    });
    const auto bound = promise.get_future().get();
    if (!bound) return Refusal{fmt::format("cannot listen on TCP at {}: {}", text_of(wanted), bound.error().message())};
    tcp_bound_.push_back(*bound);
  }
  return {};
}

std::string Daemon::ready_line() const {
  return fmt::format("ready rdma={} fabric={} tcp={}{}", texts_of(rdma_bound_), fabric_text_,
                     tcp_bound_.empty() ? "off" : texts_of(tcp_bound_),
                     metrics_ ? " metrics=" + text_of(metrics_->local()) : "");
}

/// Lets the threads of the loops make short operations on names. If there are more processors than loops, only one job
/// may wait for the thread of a loop, because other processors can run the others. If `on_verbs` is true, a loop may
/// post work requests to a verbs device, so that its threads keep their credentials.
void Daemon::share_loops(bool on_verbs) {
  const std::size_t most = processors() > loops_.size() ? 1 : kMostJobs;
  for (std::size_t i = 0; i < loops_.size(); ++i) {
    Loop& loop = *loops_[i];
    loop.threads = std::make_unique<LoopThreads>(loop.context, loop.runner, *io_, secret_, most,
                                                 on_verbs ? keep_servers_identity : nullptr);
    for (const auto& group : groups_) group->workers[i]->use(*loop.threads);
  }
}

void Daemon::start_loops() {
  share_loops(std::ranges::any_of(groups_, [](const auto& group) { return group->key.starts_with("verbs"); }));
  const ExternalSignalsBlocked inherited;
  for (const auto& loop : loops_) {
    loop->thread = std::thread([&loop = *loop] {
      const auto guard = boost::asio::make_work_guard(loop.context);
      loop.threads->run();
    });
  }
}

/// Ends the I/O threads and then the event loops. The I/O threads end first, because the loops must still send the
/// replies of the last I/O jobs.
void Daemon::end_loops() {
  if (io_ != nullptr) io_->join();
  for (const auto& loop : loops_) boost::asio::post(loop->context, [&context = loop->context] { context.stop(); });
  for (const auto& loop : loops_)
    if (loop->thread.joinable()) loop->thread.join();
}

}  // namespace rpcrdma::nfsd

// SPDX-License-Identifier: BSD-3-Clause
#include "core.hpp"

#include <pthread.h>

#include <algorithm>
#include <chrono>
#include <csignal>

namespace rpcrdma::capture {
namespace {

/// The bounds of the interval at which the thread of the capture looks for records. The thread also looks at once when
/// a ring is half full. If it finds many records, it shortens the interval, so that it writes fewer records at a time.
/// A long run of writes could keep a thread of the data path from the processor for WaitPolicy::kDisplaced, and that
/// thread would then stop polling.
constexpr std::chrono::microseconds kLongestInterval{20'000};
constexpr std::chrono::microseconds kShortestInterval{500};
constexpr std::uint64_t kAtOnce = 64 << 10;  // bytes
constexpr unsigned kBetweenYields = 16;      // records
/// How long close() waits for the disk and, after it has given up the disk, for the end of the thread.
constexpr std::chrono::seconds kPatience{2};

/// Blocks all signals in the calling thread while the object exists. A thread that the calling thread creates in this
/// time inherits the signal mask. Signals to the process are therefore handled by the program's own threads.
class SignalsBlocked {
 public:
  SignalsBlocked() noexcept {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~SignalsBlocked() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  SignalsBlocked(const SignalsBlocked&) = delete;
  SignalsBlocked& operator=(const SignalsBlocked&) = delete;

 private:
  sigset_t before_{};
};

}  // namespace

Capture::Core::Core(CaptureOptions options, Log log)
    : options_(std::move(options)), log_(std::move(log)), file_(options_, given_up_) {}

error_code Capture::Core::open() { return file_.open(); }

void Capture::Core::start_thread() {
  set_active(!options_.stopped);
  running_ = true;
  const SignalsBlocked blocked;
  thread_ = std::thread([self = shared_from_this()] { self->run(); });
}

void Capture::Core::close() noexcept {
  active_.store(false, std::memory_order_relaxed);
  std::unique_lock lock(mutex_);
  if (!thread_.joinable()) return;
  closing_.store(true);
  condition_.notify_all();
  const auto ended = [this] { return !running_; };
  bool done = condition_.wait_for(lock, kPatience, ended);
  if (!done) {
    given_up_.store(true);
    done = condition_.wait_for(lock, kPatience, ended);
  }
  std::thread thread = std::move(thread_);
  lock.unlock();
  if (!thread.joinable()) return;  // another thread called close() too
  // The thread has not ended in time, so close() does not wait for it. The thread holds a shared_ptr to this object,
  // and so may use it until it ends.
  if (!done) return thread.detach();
  thread.join();
}

std::shared_ptr<Channel> Capture::Core::make_channel() {
  auto channel = std::make_shared<Channel>(options_.buffer);
  const std::lock_guard lock(mutex_);
  channels_.push_back(channel);
  return channel;
}

std::shared_ptr<Connection> Capture::Core::add(std::shared_ptr<Connection> connection) {
  const std::lock_guard lock(mutex_);
  if (!running_) return connection;  // not added: after close(), no thread would remove it
  if (ended_.load(std::memory_order_relaxed) >= kMostEnded) {
    if (active()) ++dropped_before_;
    return nullptr;
  }
  connections_.push_back(connection);
  return connection;
}

void Capture::Core::end(Connection& connection) noexcept {
  // Counts the connection before `ended` is set. Once `ended` is set, the thread of the capture may remove the
  // connection and subtract it from ended_.
  ended_.fetch_add(1, std::memory_order_relaxed);
  connection.ended.store(true, std::memory_order_release);
}

// Notifies the thread of the capture at each call, even if hurried_ is set already. This function does not lock mutex_,
// so a notification is lost if the thread has just read hurried_ and does not wait yet. The next call then wakes it.
void Capture::Core::hurry() noexcept {
  hurried_.store(true);
  condition_.notify_one();
}

void Capture::Core::set_active(bool active) noexcept {
  if (active && closing_.load()) return;
  if (active_.exchange(active) != active && active) runs_.fetch_add(1);
}

void Capture::Core::toggle() noexcept { set_active(!active()); }

std::uint64_t Capture::Core::dropped() const noexcept {
  std::uint64_t sum = dropped_before_;
  for (const auto& channel : channels_) sum += channel->dropped.load(std::memory_order_relaxed);
  return sum;
}

CaptureCounts Capture::Core::counts() const noexcept {
  CaptureCounts counts = file_.counts();
  const std::lock_guard lock(mutex_);
  counts.dropped += dropped();
  return counts;
}

void Capture::Core::run() {
  interval_ = kLongestInterval;
  while (wait()) {
    const bool paused = !active();
    file_.set_dropped(counts().dropped);
    const std::uint64_t written = std::max<std::uint64_t>(drain(), 1);
    interval_ = std::clamp(std::chrono::microseconds(interval_.count() * kAtOnce / written), kShortestInterval,
                           std::min(2 * interval_, kLongestInterval));
    if (paused) file_.pause(counts().dropped);
  }
  drain();
  file_.close(counts().dropped);
  const std::lock_guard lock(mutex_);
  dropped_before_ = dropped();
  connections_.clear();
  channels_.clear();
  running_ = false;
  condition_.notify_all();
}

/// Waits for interval_, or until it is woken. Returns false if the capture is closing.
bool Capture::Core::wait() {
  std::unique_lock lock(mutex_);
  condition_.wait_for(lock, interval_, [this] { return closing_.load() || hurried_.load(); });
  hurried_.store(false);
  return !closing_.load();
}

/// Writes to the file the records that the rings of the channels hold when drain() begins, oldest first. Then frees the
/// channels and connections that had ended when drain() began. Returns the size of these records in bytes.
std::uint64_t Capture::Core::drain() {
  std::uint64_t written = 0;
  unsigned count = 0;
  struct Source {
    std::shared_ptr<Channel> channel;
    bool ended;
    std::uint64_t end;
  };
  std::vector<Source> sources;
  std::vector<Connection*> ended;
  {
    const std::lock_guard lock(mutex_);
    for (const auto& connection : connections_)
      if (connection->ended.load(std::memory_order_acquire)) ended.push_back(connection.get());
    for (const auto& channel : channels_) {
      const bool over = channel->ended.load(std::memory_order_acquire);
      sources.push_back({channel, over, channel->ring.end()});
    }
  }
  const std::uint64_t run = runs_.load();
  for (;;) {
    Source* oldest = nullptr;
    const Record* first = nullptr;
    for (Source& source : sources) {
      const Record* const record = source.channel->ring.front(source.end);
      if (record == nullptr || (first != nullptr && first->when <= record->when)) continue;
      first = record;
      oldest = &source;
    }
    if (first == nullptr) break;
    file_.write(*first, run);
    written += first->start.size;
    if (++count % kBetweenYields == 0) std::this_thread::yield();
    oldest->channel->ring.pop(*first);
  }
  if (const error_code failed = file_.flush()) {
    active_.store(false);
    log_.error("capture: {}: {}: the capture has stopped", options_.file.string(), failed.message());
  }
  forget_ended(std::move(ended));
  const std::lock_guard lock(mutex_);
  for (const Source& source : sources) {
    if (!source.ended) continue;
    dropped_before_ += source.channel->dropped.load();
    std::erase(channels_, source.channel);
  }
  return written;
}

void Capture::Core::forget_ended(std::vector<Connection*> ended) {
  if (ended.empty()) return;
  std::ranges::sort(ended);
  ended_.fetch_sub(ended.size(), std::memory_order_relaxed);
  const std::lock_guard lock(mutex_);
  std::erase_if(connections_, [&ended](const auto& one) { return std::ranges::binary_search(ended, one.get()); });
}

}  // namespace rpcrdma::capture

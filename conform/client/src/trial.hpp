// SPDX-License-Identifier: BSD-3-Clause
#pragma once
// One run of the tested client's command against a server that misbehaves in one way. In the baseline run the server
// does not misbehave.
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>
#include <deque>

#include "link.hpp"
#include "mount_listener.hpp"
#include "rpcrdma/conform/client/tester.hpp"
#include "verdict.hpp"
#include "workplace.hpp"

namespace rpcrdma::conform::client {

class Trial;

/// What the baseline run and the runs with a fault have in common: the server side that the tested command connects to,
/// and the results of the baseline run.
struct Stage {
  ClientOptions options;
  boost::asio::io_context context;
  std::unique_ptr<fabric::Fabric> fabric;
  std::unique_ptr<fabric::Listener> listener;
  std::unique_ptr<MountListener> mount_listener;
  Watch watch;
  Trial* trial = nullptr;  ///< the trial that runs now
  std::unique_ptr<boost::asio::signal_set> interrupts;
  int interrupted = 0;  ///< the signal that has arrived; 0: none
  /// The results of the run without a fault.
  struct Baseline {
    Tree local, exported;
    std::vector<Call> calls;
    Hooks hooks;
    std::uint64_t memory = 0;
  } baseline;

  /// From now on, SIGINT and SIGTERM end wait().
  void watch_interrupts();
  /// Runs the io_context until `done` or the end of `limit`. Throws ClientInterrupted at a signal.
  void wait(const std::function<bool()>& done, std::chrono::milliseconds limit);
};

/// A condition that selects the calls for which it returns true.
using When = std::function<bool(const Call&)>;
/// Selects call `number` of the run and all later calls. The first call has number 1.
When from(std::size_t number);
/// Selects the calls of an NFS procedure.
When of(std::uint32_t procedure);
/// The next four functions select calls by the chunks that they offer. without_chunks() does not select the first call
/// of the run.
When with_write_chunk();
When with_reply_chunk();
When with_read_chunk();
When without_chunks();

constexpr std::size_t kAlways = ~std::size_t{0};

class Trial final : public LinkEvents {
 public:
  Trial(Stage& stage, Record& record, std::string id);
  ~Trial();
  Trial(const Trial&) = delete;
  Trial& operator=(const Trial&) = delete;

  // Functions that define the misbehaviour. If the misbehaviour never takes place, the case fails or is skipped, but
  // does not pass.
  using Change = std::function<void(Reply&, const Call&, Link&)>;
  using TakeOver = std::function<void(Link&, const Call&)>;
  using Answering = std::function<void(std::unique_ptr<fabric::ConnectionRequest>)>;
  Hooks& hooks() noexcept { return service_.hooks(); }
  Setup& setup() noexcept { return setup_; }
  /// Runs `change` for the reply to each call that `when` chooses, until it has changed `times` replies. A reply for
  /// which `change` sets Reply::unchanged does not count.
  void on_reply(When when, Change change, std::size_t times = 1);
  /// Runs `action` for each of the first `times` calls that `when` selects. `action` may answer the call. Apart from
  /// what `action` does, the call is not executed, and its Read chunks are not read.
  void on_call(When when, TakeOver action, std::size_t times = 1);
  /// Passes each call to `action` before the call is executed.
  void observe(TakeOver action) { observer_ = std::move(action); }
  /// Answers connection requests with `action` instead of accepting them.
  void on_request(Answering action) { answering_ = std::move(action); }
  void accept(std::unique_ptr<fabric::ConnectionRequest> request);
  void reject(std::unique_ptr<fabric::ConnectionRequest> request, const Bytes& private_data);
  /// Keeps the request without an answer.
  void hold(std::unique_ptr<fabric::ConnectionRequest> request) { held_.push_back(std::move(request)); }
  /// Executes the call after `delay`, unless its connection has ended by then.
  void complete_later(Link& link, const Call& call, std::chrono::milliseconds delay);
  /// Fails the case if a message of this run breaks the rule.
  void requires_rule(Always rule) { required_ = rule; }
  std::size_t connections() const noexcept { return links_.size() + held_.size() + rejected_; }
  std::size_t calls() const noexcept { return calls_; }
  /// Records that the misbehaviour took place. A case need not call this function for misbehaviour that it defines by
  /// on_reply(), on_call(), on_request() or the hooks.
  void happened() noexcept { happened_ = true; }
  /// Records that the client has broken a rule, which makes the case fail. If the function is called again, only the
  /// first `how` is reported.
  void broken(const std::string& how) {
    if (broken_.empty()) broken_ = how;
  }
  /// The path of a file outside of {dir} that the command must not make or change.
  std::string forbidden_path(const std::string& name) const { return workplace_.outside() / name; }

  // Functions that run the command and judge it. Each may throw CaseFailed or CaseSkipped.
  void succeeds() { run(Expect::success); }
  void stays_intact() { run(Expect::intact); }
  void fails() { run(Expect::failure); }
  void ends() { run(Expect::any); }
  /// As ends(), but the command need not end by itself. Use it for a case in which the server's listing of a directory
  /// has no end.
  void survives() { run(Expect::endless); }
  /// Runs the command without a fault. Returns an error message, or an empty string.
  std::string run_baseline();

  /// Handles a connection request of the client.
  void requested(std::unique_ptr<fabric::ConnectionRequest> request);
  /// Returns the RPC reply to `message`, an RPC call that the MountListener has received over TCP. The result is empty
  /// if `message` cannot be decoded.
  Bytes mount_reply(View message);

 private:
  struct Rule {
    When when;
    Change change;
    TakeOver action;
    std::size_t times = 1;
  };

  void on_call(Link& link, Call call) override;
  void on_whole_call(Link& link, Call& call) override;

  Outcome execute();
  bool is_out_of_reach() const;
  void run(Expect expect);
  bool retries_without_end() const noexcept;

  Stage& stage_;
  Record& record_;
  std::string id_;
  Workplace workplace_;
  Service service_;
  Setup setup_;
  std::deque<Rule> rules_;
  TakeOver observer_;
  Answering answering_;
  std::list<Link> links_;
  std::vector<std::unique_ptr<fabric::ConnectionRequest>> held_;
  std::size_t rejected_ = 0, calls_ = 0;
  std::chrono::steady_clock::time_point last_call_{};
  bool happened_ = false;
  std::string broken_;
  std::optional<Always> required_;
  std::list<boost::asio::steady_timer> timers_;
  // The handlers of timers_ hold weak_ptrs to this flag, and do nothing after this object is destroyed.
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace rpcrdma::conform::client

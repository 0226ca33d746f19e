// SPDX-License-Identifier: BSD-3-Clause
#pragma once
// A case of a conformance tester: the messages that it sends, the requirement of a rule, and the peer's behaviour.
#include <functional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace rpcrdma::conform {

/// The meaning of a failed case.
enum class Level {
  must,        ///< the peer breaks a rule of a specification
  should,      ///< the peer departs from a recommendation
  robustness,  ///< no rule covers the situation, or a rule leaves it open; a good implementation copes with it
};

/// "MUST", "SHOULD", "ROBUSTNESS".
std::string_view name_of(Level level) noexcept;

/// The constant part of a case.
struct CaseInfo {
  std::string id;  ///< "family/name"; lower case, digits and hyphens; unique within a tester
  Level level = Level::must;
  std::string rules;     ///< ids of docs/requirements.tsv, separated by spaces; may be empty at Level::robustness
  std::string sends;     ///< the action of the tester, in one line
  std::string required;  ///< the required behaviour of the peer, in one line

  /// The part of the id before the first slash.
  std::string_view family() const noexcept { return std::string_view(id).substr(0, id.find('/')); }
};

/// The exception that ends a case because the peer has not behaved as required. what() describes what the peer did.
struct CaseFailed : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Ends a case that does not apply to this peer. what() gives the reason.
struct CaseSkipped : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// The notes of a case while it runs. The report shows them beside CaseInfo.
class Record {
 public:
  /// Adds a line to the list of messages sent. The report shows CaseInfo::sends before this list.
  void sent(std::string line) { sent_.push_back(std::move(line)); }
  /// Adds a line to the list of messages received.
  void received(std::string line) { received_.push_back(std::move(line)); }

  /// Throws CaseFailed.
  [[noreturn]] static void fail(const std::string& what) { throw CaseFailed(what); }
  /// Throws CaseSkipped.
  [[noreturn]] static void skip(const std::string& why) { throw CaseSkipped(why); }
  /// If `good` is false, throws CaseFailed with the text `otherwise`, which describes what the peer did.
  static void expect(bool good, const std::string& otherwise) {
    if (!good) fail(otherwise);
  }

  const std::vector<std::string>& sent() const noexcept { return sent_; }          ///< lines in order
  const std::vector<std::string>& received() const noexcept { return received_; }  ///< lines in order

 private:
  std::vector<std::string> sent_, received_;
};

/// A case. `run` returns if the peer passes; it throws CaseFailed or CaseSkipped otherwise. Any other std::exception
/// counts as a failure.
struct Case {
  CaseInfo info;
  std::function<void(Record&)> run;
};

/// The cases of a tester in order.
class Suite {
 public:
  /// Throws std::invalid_argument if the id is malformed or already taken, or if a MUST or SHOULD names no rule.
  void add(Case added);
  const std::vector<Case>& cases() const noexcept { return cases_; }

 private:
  std::vector<Case> cases_;
};

/// Adds the cases of one family to a Suite. The code of a case takes a `Target`: the connection, session or socket that
/// the tester makes for that case. An example of a case:
///
///   family.must("version-0", "8166-4.5.1-a", "a call with rdma_vers 0", "ERR_VERS with the supported range",
///               [](Target& peer) { ... });
template <class Target>
class Family {
 public:
  using Body = std::function<void(Target&)>;  ///< the code of a case
  /// Makes a Target and calls the body with it.
  using Enter = std::function<void(Record&, const Body&)>;

  Family(Suite& suite, std::string name, Enter enter)
      : suite_(&suite), name_(std::move(name)), enter_(std::move(enter)) {}

  void must(std::string name, std::string rules, std::string sends, std::string required, Body body) {
    add(Level::must, std::move(name), std::move(rules), std::move(sends), std::move(required), std::move(body));
  }
  void should(std::string name, std::string rules, std::string sends, std::string required, Body body) {
    add(Level::should, std::move(name), std::move(rules), std::move(sends), std::move(required), std::move(body));
  }
  void robust(std::string name, std::string rules, std::string sends, std::string required, Body body) {
    add(Level::robustness, std::move(name), std::move(rules), std::move(sends), std::move(required), std::move(body));
  }
  void add(Level level, std::string name, std::string rules, std::string sends, std::string required, Body body) {
    suite_->add({{name_ + "/" + name, level, std::move(rules), std::move(sends), std::move(required)},
                 [enter = enter_, body = std::move(body)](Record& record) { enter(record, body); }});
  }

 private:
  Suite* suite_;
  std::string name_;
  Enter enter_;
};

}  // namespace rpcrdma::conform

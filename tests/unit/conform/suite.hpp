// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <string>
#include <vector>

#include "rpcrdma/conform/framework/runner.hpp"

namespace rpcrdma::conform {

/// Cases of all levels: one passes, three fail, one is skipped, and one throws.
inline Suite sample_suite() {
  Suite suite;
  const auto passing = [](Record&) {};
  const auto failing = [](Record& record) {
    record.sent("with <odd> \"words\" & signs");
    record.received("first answer");
    Record::fail("second\nanswer \x1b[31m # \\ ]]>");
  };
  suite.add({{"one/passes", Level::must, "rule-a", "a message", "an answer"}, passing});
  suite.add({{"one/must-fails", Level::must, "rule-b rule-d", "a bad message", "an error"}, failing});
  suite.add({{"one/should-fails", Level::should, "rule-e", "a bad message", "an error"}, failing});
  suite.add({{"two/robust-fails", Level::robustness, "", "a bad message", "an error"}, failing});
  suite.add(
      {{"two/skips", Level::must, "rule-b", "a message", "an answer"}, [](Record&) { Record::skip("no # files"); }});
  suite.add({{"two/throws", Level::must, "rule-b", "a message", "an answer"},
             [](Record&) { throw std::out_of_range("beyond"); }});
  return suite;
}

/// A health check that passes.
inline std::string healthy() { return {}; }

/// Appends a line to `lines` for each call of a reporter's function.
class NotingReporter final : public Reporter {
 public:
  explicit NotingReporter(std::vector<std::string>& lines) : lines_(lines) {}
  void begin(const Subject&, std::size_t selected) override { lines_.push_back("begin " + std::to_string(selected)); }
  void done(const CaseResult& result) override {
    lines_.push_back(result.info->id + " " + std::string(name_of(result.verdict)));
  }
  void end(const Summary& summary) override { lines_.push_back("end " + std::to_string(summary.exit_status())); }

 private:
  std::vector<std::string>& lines_;
};

}  // namespace rpcrdma::conform

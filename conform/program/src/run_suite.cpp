// SPDX-License-Identifier: BSD-3-Clause
#include <fmt/chrono.h>
#include <fmt/core.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <fstream>
#include <iterator>
#include <system_error>

#include "command.hpp"
#include "rpcrdma/base/print_error.hpp"
#include "rpcrdma/conform/framework/reports.hpp"

namespace rpcrdma::conform {
namespace {

struct CloseFile {
  void operator()(std::FILE* file) const noexcept { std::fclose(file); }
};
using File = std::unique_ptr<std::FILE, CloseFile>;

/// Owns the reporters that the command line requests, and the files to which they write. If none of them writes to the
/// standard output (path "-"), a reporter for the terminal is added.
class Reports {
 public:
  explicit Reports(const RunWords& words) {
    add(words.tap, make_tap_report);
    add(words.junit, make_junit_report);
    add(words.html, make_html_report);
    if (!stdout_taken_) reporters_.push_back(make_terminal_report(stdout, isatty(STDOUT_FILENO) != 0));
  }
  const std::vector<std::unique_ptr<Reporter>>& all() const noexcept { return reporters_; }
  /// False if a report could not be written, for example because the disk is full.
  bool written() const {
    const auto good = [](std::FILE* file) { return std::fflush(file) == 0 && std::ferror(file) == 0; };
    return good(stdout) && std::ranges::all_of(files_, [&](const File& each) { return good(each.get()); });
  }

 private:
  void add(const std::string& path, std::unique_ptr<Reporter> (*make)(std::FILE*)) {
    if (path.empty()) return;
    if (path == "-") {
      if (stdout_taken_) throw UsageError("two reports to standard output");
      stdout_taken_ = true;
      reporters_.push_back(make(stdout));
      return;
    }
    files_.emplace_back(std::fopen(path.c_str(), "w"));
    if (!files_.back()) throw UsageError(path + ": " + std::strerror(errno));
    reporters_.push_back(make(files_.back().get()));
  }

  std::vector<File> files_;
  std::vector<std::unique_ptr<Reporter>> reporters_;
  bool stdout_taken_ = false;
};

Known read_known(const std::string& path) {
  Known known;
  if (path.empty()) return known;
  std::ifstream file(path);
  std::string text;
  // A folder can be opened, but not read: the iterator would throw.
  if (file.peek(); !file.bad()) text.assign(std::istreambuf_iterator<char>(file), {});
  if (!file.is_open() || file.bad()) throw UsageError("--known: cannot read " + path);
  if (const auto wrong = known.parse(text)) throw UsageError("--known: " + path + ": " + *wrong);
  return known;
}

}  // namespace

void add_run_options(CLI::App& command, RunWords& words) {
  command.add_flag("--list", words.list, "List the cases with levels and rules, and exit");
  command
      .add_option("--only", words.only,
                  "Run the cases whose ids match: a glob of whole ids (header/*) or a regular expression")
      ->type_name("PATTERN")
      ->allow_extra_args(false);
  command.add_option("--known", words.known, "Accepted divergences: lines of an id or glob and a reason")
      ->type_name("FILE");
  command.add_option("--tap", words.tap, "Write TAP to a file; -: to standard output")->type_name("FILE");
  command.add_option("--junit", words.junit, "Write JUnit XML to a file; -: to standard output")->type_name("FILE");
  command.add_option("--html", words.html, "Write an HTML page to a file; -: to standard output")->type_name("FILE");
}

int run_suite(const Suite& suite, Subject subject, const RunWords& words, const HealthCheck& reach,
              const HealthCheck& healthy) {
  RunOptions options;
  for (const std::string& pattern : words.only)
    if (const auto wrong = options.only.add(pattern)) throw UsageError("--only: " + *wrong);
  options.known = read_known(words.known);
  const std::string listed = list_of_cases(suite, options.only);
  if (listed.empty()) throw UsageError("--only: no case matches");
  if (words.list) {
    fmt::print("{}", listed);
    return EXIT_SUCCESS;
  }
  subject.date = fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::time(nullptr)));
  options.subject = std::move(subject);
  const Reports reports(words);
  if (const std::string wrong = reach(); !wrong.empty()) {
    print_error("{}: {}: {}\n", kProgram, options.subject.peer, wrong);
    return kUnreachable;
  }
  try {
    const int status = run(suite, options, healthy, reports.all()).exit_status();
    if (reports.written()) return status;
  } catch (const std::system_error&) {
    // fmt::print() has thrown: run() catches the exceptions of the cases.
  }
  print_error("{}: a report could not be written\n", kProgram);
  return kUsageError;
}

}  // namespace rpcrdma::conform

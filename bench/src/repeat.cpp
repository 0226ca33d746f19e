// SPDX-License-Identifier: BSD-3-Clause
#include "repeat.hpp"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdio>
#include <exception>
#include <memory>
#include <sstream>
#include <stdexcept>
#include <string>

#include "timing.hpp"

namespace rpcrdma::bench {
namespace {

struct Close {
  void operator()(std::FILE* file) const noexcept { std::fclose(file); }
};
using File = std::unique_ptr<std::FILE, Close>;

/// Each row is one line: three texts, each with a tab after it, and three numbers with spaces between them.
void send(std::FILE* to, const std::vector<Row>& rows) {
  for (const Row& row : rows)
    fmt::print(to, "{}\t{}\t{}\t{:.17g} {:.17g} {:.17g}\n", row.name, row.unit, row.peer, row.ours, row.peer_value,
               row.spread);
}

std::vector<Row> receive(std::FILE* from) {
  std::string text;
  std::array<char, 4096> part{};
  for (std::size_t n = 0; (n = std::fread(part.data(), 1, part.size(), from)) != 0;) text.append(part.data(), n);
  std::istringstream lines(text);
  std::vector<Row> rows;
  Row row;
  while (std::getline(lines, row.name, '\t') && std::getline(lines, row.unit, '\t') &&
         std::getline(lines, row.peer, '\t') && lines >> row.ours >> row.peer_value >> row.spread >> std::ws) {
    rows.push_back(row);
  }
  return rows;
}

/// The least value, the median and the greatest one.
struct Range {
  double least;
  double middle;
  double greatest;
};

template <class Value>
Range range_of(const std::vector<std::vector<Row>>& runs, const Row& like, Value&& value) {
  std::vector<double> values;
  for (const auto& rows : runs)
    for (const Row& row : rows)
      if (row.name == like.name && row.peer == like.peer) values.push_back(value(row));
  const auto [least, greatest] = std::ranges::minmax(values);
  return {least, median(values), greatest};
}

std::string json_of(const Range& range, int digits) {
  return fmt::format("{{\"min\":{:.{}f},\"median\":{:.{}f},\"max\":{:.{}f}}}", range.least, digits, range.middle,
                     digits, range.greatest, digits);
}

}  // namespace

std::vector<Row> run_apart(const std::function<std::vector<Row>()>& measure) {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) throw std::runtime_error("pipe failed");
  const File from(::fdopen(ends[0], "r"));
  File to(::fdopen(ends[1], "w"));
  std::fflush(stdout);
  const pid_t parent = ::getpid();
  const pid_t run = ::fork();
  if (run < 0) throw std::runtime_error("fork failed");
  if (run == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != parent) ::_exit(1);
    try {
      send(to.get(), measure());
      const bool sent = std::fflush(to.get()) == 0 && std::fflush(stdout) == 0;
      ::_exit(sent ? 0 : 1);
    } catch (const std::exception& error) {
      fmt::print(stderr, "rpcrdma-bench: {}\n", error.what());
      ::_exit(1);
    }
  }
  to.reset();
  std::vector<Row> rows = receive(from.get());
  int status = 0;
  ::waitpid(run, &status, 0);
  if (status != 0) throw std::runtime_error("one of the runs failed");
  return rows;
}

void print_summary(const std::vector<std::vector<Row>>& runs, bool json) {
  if (!json) {
    fmt::print("{} runs: least value, median, greatest value\n{:<26} {:>5}  {:<15} {:^35}  {:^23}\n", runs.size(),
               "case", "unit", "peer", "ours", "ratio");
  }
  for (const Row& row : runs.front()) {
    const Range ours = range_of(runs, row, [](const Row& one) { return one.ours; });
    const Range peer = range_of(runs, row, [](const Row& one) { return one.peer_value; });
    const Range ratio = range_of(runs, row, [](const Row& one) { return one.ours / one.peer_value; });
    if (json) {
      fmt::print(
          "{{\"case\":\"{}\",\"unit\":\"{}\",\"peer\":\"{}\",\"runs\":{},\"ours\":{},\"peer_value\":{},\"ratio\":{}}}"
          "\n",
          row.name, row.unit, row.peer, runs.size(), json_of(ours, 3), json_of(peer, 3), json_of(ratio, 4));
    } else {
      fmt::print("{:<26} {:>5}  {:<15} {:>11.1f} {:>11.1f} {:>11.1f}  {:>7.2f} {:>7.2f} {:>7.2f}\n", row.name, row.unit,
                 row.peer, ours.least, ours.middle, ours.greatest, ratio.least, ratio.middle, ratio.greatest);
    }
  }
}

}  // namespace rpcrdma::bench

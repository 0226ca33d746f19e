// SPDX-License-Identifier: BSD-3-Clause
#include "interop/fabric/held.hpp"

#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <memory>
#include <stdexcept>
#include <string>

namespace rpcrdma::test {
namespace {

struct Close {
  int* status;
  void operator()(FILE* pipe) const { *status = pclose(pipe); }
};

/// The number of resources of type `kind` that this process holds.
std::size_t count(const std::string& kind) {
  const std::string mine = " pid " + std::to_string(getpid()) + " ";
  int status = -1;
  std::size_t found = 0;
  {
    const std::unique_ptr<FILE, Close> pipe(popen(("rdma resource show " + kind).c_str(), "r"), Close{&status});
    std::string line;
    for (int c = std::fgetc(pipe.get()); c != EOF; c = std::fgetc(pipe.get())) {
      line += static_cast<char>(c);
      if (c != '\n') continue;
      found += line.find(mine) != std::string::npos ? 1 : 0;
      line.clear();
    }
  }
  if (status != 0) throw std::runtime_error("rdma resource show " + kind + " failed");
  return found;
}

}  // namespace

Held held() {
  Held out;
  for (std::size_t i = 0; i < out.resources.size(); ++i) out.resources[i] = count(Held::kKinds[i]);
  const std::filesystem::directory_iterator folder("/proc/self/fd");
  out.descriptors = static_cast<std::size_t>(std::distance(begin(folder), end(folder)));
  return out;
}

std::ostream& operator<<(std::ostream& out, const Held& held) {
  for (std::size_t i = 0; i < held.resources.size(); ++i) out << Held::kKinds[i] << ' ' << held.resources[i] << ", ";
  return out << held.descriptors << " descriptors";
}

}  // namespace rpcrdma::test

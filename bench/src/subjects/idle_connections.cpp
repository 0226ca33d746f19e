// SPDX-License-Identifier: BSD-3-Clause
#include "idle_connections.hpp"

#include <vector>

#include "link.hpp"
#include "service.hpp"

namespace rpcrdma::bench {

std::unique_ptr<Child> hold_connections(const Setting& setting, std::uint16_t port, std::uint32_t count) {
  return std::make_unique<Child>([&](Board&, const Child::Ready& ready) {
    Loop loop(setting);
    std::vector<std::unique_ptr<Link>> links;
    for (std::uint32_t i = 0; i < count; ++i) {
      links.push_back(std::make_unique<Link>(loop, port));
      call<service::Null>(loop, *links.back());
    }
    ready(port);
    loop.context.run();
  });
}

}  // namespace rpcrdma::bench

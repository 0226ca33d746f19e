// SPDX-License-Identifier: BSD-3-Clause
#include "rpcrdma/ipoib/link/link.hpp"

#include "link_state.hpp"

namespace rpcrdma::ipoib {

Link::Link(std::unique_ptr<LinkState> state) noexcept : state_(std::move(state)) {}
Link::~Link() = default;

Result<std::unique_ptr<Link>> Link::make(fabric::Fabric& fabric, PacketDevice& device, LinkOptions options, Log log) {
  auto state = std::make_unique<LinkState>(fabric, device, std::move(options), std::move(log));
  if (const error_code failed = state->allocate()) return failed;
  return std::unique_ptr<Link>(new Link(std::move(state)));
}

Result<fabric::Endpoint> Link::listen(const fabric::Endpoint& local) { return state_->listen(local); }
void Link::add_neighbour(const IpPrefix& addresses, const fabric::Endpoint& peer) {
  state_->add_neighbour(addresses, peer);
}
void Link::start(UniqueFunction<void(error_code)> failed) { state_->start(std::move(failed)); }
void Link::close(UniqueFunction<void()> done) { state_->close(std::move(done)); }
const Statistics& Link::statistics() const noexcept { return state_->statistics(); }
std::size_t Link::connections() const noexcept { return state_->connections(); }
std::size_t Link::registered_bytes() const noexcept { return state_->registered_bytes(); }

}  // namespace rpcrdma::ipoib

// SPDX-License-Identifier: BSD-3-Clause
// Asio waits in epoll, whose descriptor can itself be polled, but does not hand it out. An explicit instantiation may
// name a private member, so that this fails to compile, and never misbehaves, with an Asio that is built differently.
#include "descriptor.hpp"

#include <boost/asio/detail/epoll_reactor.hpp>

namespace rpcrdma::tirpc {
namespace {

using Reactor = boost::asio::detail::epoll_reactor;

template <int Reactor::*Member>
struct Opened {
  friend int epoll_descriptor(Reactor& reactor) noexcept { return reactor.*Member; }
};
int epoll_descriptor(Reactor& reactor) noexcept;
template struct Opened<&Reactor::epoll_fd_>;

}  // namespace

int descriptor_of(boost::asio::io_context& context) noexcept {
  return epoll_descriptor(boost::asio::use_service<Reactor>(context));
}

}  // namespace rpcrdma::tirpc

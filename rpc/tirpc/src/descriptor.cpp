// SPDX-License-Identifier: BSD-3-Clause
// Asio waits in epoll but does not expose the epoll descriptor, which can itself be polled. This code reads it from a
// private member, which an explicit instantiation may name. If Asio is built differently, this code fails at compile
// time, not at run time.
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

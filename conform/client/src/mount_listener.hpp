// SPDX-License-Identifier: BSD-3-Clause
#pragma once
// MOUNT over TCP, for clients that do not call it over RDMA, such as Linux's.
#include <boost/asio/ip/tcp.hpp>
#include <functional>
#include <memory>

#include "rpcrdma/conform/codec/words.hpp"

namespace rpcrdma::conform::client {

class MountListener {
 public:
  /// A function that returns the RPC reply to the RPC call `call`. An empty result ends the connection.
  using Answer = std::function<Bytes(View call)>;
  /// Throws boost::system::system_error if it cannot listen. Port 0 is any free port.
  MountListener(boost::asio::io_context& context, const boost::asio::ip::tcp::endpoint& local, Answer answer);
  std::uint16_t port() const { return acceptor_.local_endpoint().port(); }

 private:
  void accept();

  boost::asio::ip::tcp::acceptor acceptor_;
  std::shared_ptr<const Answer> answer_;
};

}  // namespace rpcrdma::conform::client

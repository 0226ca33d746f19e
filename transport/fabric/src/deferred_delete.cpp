// SPDX-License-Identifier: BSD-3-Clause
#include "rpcrdma/fabric/deferred_delete.hpp"

#include <boost/asio/post.hpp>

namespace rpcrdma::fabric {

void delete_later(boost::asio::io_context& context, std::unique_ptr<QueuePair> queue_pair) {
  if (queue_pair == nullptr) return;
  queue_pair->quiesce();
  boost::asio::post(context, [queue_pair = std::move(queue_pair)] {});
}

}  // namespace rpcrdma::fabric

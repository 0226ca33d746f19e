// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <memory>

namespace rpcrdma::fabric::verbs {

/// Runs work(object) from the io_context, unless the object is gone by then: `self` points to it as long as
/// it lives, and to null afterwards.
template <class T, class Work>
void defer_to(boost::asio::io_context& context, const std::shared_ptr<T*>& self, Work work) {
  boost::asio::post(context, [self, work = std::move(work)]() mutable {
    if (T* object = *self; object != nullptr) work(*object);
  });
}

}  // namespace rpcrdma::fabric::verbs

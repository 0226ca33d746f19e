// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "rpcrdma/nfs/task.hpp"

namespace rpcrdma::nfs {

/// Runs `work`, which may block, on a thread of `threads`, and returns its result.
template <class Work>
boost::asio::awaitable<std::invoke_result_t<Work&>> offload(boost::asio::thread_pool& threads, Work work) {
  co_return co_await boost::asio::co_spawn(
      threads.get_executor(), [&work]() -> boost::asio::awaitable<std::invoke_result_t<Work&>> { co_return work(); },
      boost::asio::use_awaitable);
}

/// The least number of bytes for which file I/O is passed to offload(). I/O of fewer bytes runs on the calling thread,
/// because a copy from or to the page cache is then faster than a switch to another thread.
inline constexpr std::size_t kOffloadFrom = std::size_t{64} << 10;

}  // namespace rpcrdma::nfs

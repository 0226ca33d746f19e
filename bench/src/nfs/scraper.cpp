// SPDX-License-Identifier: BSD-3-Clause
#include "scraper.hpp"

#include <boost/asio/connect.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/write.hpp>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <stdexcept>
#include <string>
#include <string_view>

namespace rpcrdma::bench {
namespace {

void scrape(std::uint16_t port) {
  boost::asio::io_context context;
  boost::asio::ip::tcp::socket socket(context);
  socket.connect({boost::asio::ip::make_address("127.0.0.1"), port});
  constexpr std::string_view kRequest = "GET /metrics HTTP/1.0\r\n\r\n";
  boost::asio::write(socket, boost::asio::buffer(kRequest));
  std::string answer;
  boost::system::error_code end;
  boost::asio::read(socket, boost::asio::dynamic_buffer(answer), end);
  if (answer.find(" 200 OK\r\n") > 10 || answer.find("rpcrdma_calls_total") == std::string::npos)
    throw std::runtime_error("the statistics of a benchmark server cannot be read");
}

}  // namespace

Scraper::Scraper(std::uint16_t port)
    : thread_([this, port](const std::stop_token& stop) {
        try {
          std::mutex mutex;
          std::condition_variable_any due;
          std::unique_lock lock(mutex);
          do scrape(port);
          while (!due.wait_for(lock, stop, std::chrono::seconds(1), [&stop] { return stop.stop_requested(); }));
        } catch (...) {
          failed_ = std::current_exception();
        }
      }) {}

void Scraper::check() {
  thread_.request_stop();
  thread_.join();
  if (failed_) std::rethrow_exception(failed_);
}

}  // namespace rpcrdma::bench

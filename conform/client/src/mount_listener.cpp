// SPDX-License-Identifier: BSD-3-Clause
// Operation. Each connection reads a record (RFC 5531 section 11), writes the reply, and begins again.
// Ownership. A connection lives until its last operation completes.
// Errors. Any error, and a record that is not one short fragment, ends the connection.
#include "mount_listener.hpp"

#include <array>
#include <boost/asio/io_context.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/write.hpp>

namespace rpcrdma::conform::client {
namespace {

using boost::asio::ip::tcp;
using boost::system::error_code;

constexpr std::uint32_t kLastFragmentBit = 0x80000000, kLongestRecord = 65536;

class MountConnection : public std::enable_shared_from_this<MountConnection> {
 public:
  MountConnection(tcp::socket socket, std::shared_ptr<const MountListener::Answer> answer)
      : socket_(std::move(socket)), answer_(std::move(answer)) {}

  void read_mark() {
    boost::asio::async_read(socket_, boost::asio::buffer(mark_),
                            [self = shared_from_this()](error_code failed, std::size_t) {
                              if (!failed) self->read_record(In(self->mark_).u32());
                            });
  }

 private:
  void read_record(std::uint32_t mark) {
    const std::uint32_t size = mark & ~kLastFragmentBit;
    if ((mark & kLastFragmentBit) == 0 || size > kLongestRecord) return;
    record_.resize(size);
    boost::asio::async_read(socket_, boost::asio::buffer(record_),
                            [self = shared_from_this()](error_code failed, std::size_t) {
                              if (!failed) self->write_reply();
                            });
  }

  void write_reply() {
    const Bytes reply = (*answer_)(record_);
    if (reply.empty()) return;
    record_ = Out().u32(kLastFragmentBit | static_cast<std::uint32_t>(reply.size())).raw(reply).bytes();
    boost::asio::async_write(socket_, boost::asio::buffer(record_),
                             [self = shared_from_this()](error_code failed, std::size_t) {
                               if (!failed) self->read_mark();
                             });
  }

  tcp::socket socket_;
  std::shared_ptr<const MountListener::Answer> answer_;
  std::array<std::byte, 4> mark_{};
  Bytes record_;
};

}  // namespace

MountListener::MountListener(boost::asio::io_context& context, const tcp::endpoint& local, Answer answer)
    : acceptor_(context, local), answer_(std::make_shared<const Answer>(std::move(answer))) {
  accept();
}

void MountListener::accept() {
  acceptor_.async_accept([this](error_code failed, tcp::socket socket) {
    if (failed == boost::asio::error::operation_aborted) return;
    if (!failed) std::make_shared<MountConnection>(std::move(socket), answer_)->read_mark();
    accept();
  });
}

}  // namespace rpcrdma::conform::client

// SPDX-License-Identifier: BSD-3-Clause
#include "raw_peer.hpp"

#include <gtest/gtest.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include "wire/crc32c.hpp"
#include "wire/fpdu.hpp"

namespace rpcrdma::test {

using iwarp::DdpHeader;
using iwarp::Opcode;

Bytes operator+(Bytes left, const Bytes& right) {
  left.insert(left.end(), right.begin(), right.end());
  return left;
}

Bytes startup(std::string_view kind, std::uint8_t flags, std::uint8_t revision, const Bytes& data) {
  const std::string key = "MPA ID " + std::string(kind) + " Frame";
  Bytes out(20);
  Writer writer(out);
  writer.octets(std::as_bytes(std::span(key)));
  writer.u8(flags);
  writer.u8(revision);
  writer.u16(static_cast<std::uint16_t>(data.size()));
  return out + data;
}

Bytes fpdu(const Bytes& ulpdu) {
  Bytes out(iwarp::fpdu_size(ulpdu.size()));
  Writer writer(out);
  writer.u16(static_cast<std::uint16_t>(ulpdu.size()));
  writer.octets(ulpdu);
  iwarp::Crc32c crc;
  crc.add(Octets(out).first(out.size() - 4));
  iwarp::encode_crc(crc.value(), out.data() + out.size() - 4);
  return out;
}

Bytes ddp(const DdpHeader& header, const Bytes& payload) {
  Bytes out(header.size());
  Writer writer(out);
  encode(header, writer);
  return out + payload;
}

DdpHeader untagged(Opcode opcode, std::uint32_t queue, std::uint32_t msn, std::uint64_t offset, bool last) {
  DdpHeader out;
  out.opcode = static_cast<std::uint8_t>(opcode);
  out.queue = queue;
  out.msn = msn;
  out.offset = offset;
  out.last = last;
  return out;
}

DdpHeader tagged(Opcode opcode, std::uint32_t stag, std::uint64_t offset, bool last) {
  DdpHeader out;
  out.tagged = true;
  out.opcode = static_cast<std::uint8_t>(opcode);
  out.stag = stag;
  out.offset = offset;
  out.last = last;
  return out;
}

Bytes send(std::uint32_t msn, const Bytes& payload) { return fpdu(ddp(untagged(Opcode::send, 0, msn), payload)); }

Bytes write(std::uint32_t stag, std::uint64_t offset, const Bytes& payload, bool last) {
  return fpdu(ddp(tagged(Opcode::write, stag, offset, last), payload));
}

Bytes response(std::uint32_t stag, std::uint64_t offset, const Bytes& payload, bool last) {
  return fpdu(ddp(tagged(Opcode::read_response, stag, offset, last), payload));
}

Bytes read_request(std::uint32_t msn, const iwarp::ReadRequest& request) {
  Bytes payload(iwarp::ReadRequest::kSize);
  Writer writer(payload);
  encode(request, writer);
  return fpdu(ddp(untagged(Opcode::read_request, 1, msn), payload));
}

Bytes filled(std::size_t size, std::uint8_t value) { return Bytes(size, static_cast<std::byte>(value)); }

void RawPeer::connect(const boost::asio::ip::tcp::endpoint& to) {
  socket_.open(to.protocol());
  if (segment_limit_ != 0) {
    ASSERT_EQ(::setsockopt(socket_.native_handle(), IPPROTO_TCP, TCP_MAXSEG, &segment_limit_, sizeof segment_limit_),
              0);
  }
  socket_.connect(to);
  socket_.set_option(boost::asio::ip::tcp::no_delay(true));
  socket_.non_blocking(true);
}

boost::asio::ip::tcp::endpoint RawPeer::listen(int backlog) {
  acceptor_.open(boost::asio::ip::tcp::v4());
  acceptor_.bind({boost::asio::ip::address_v4::loopback(), 0});
  acceptor_.listen(backlog);
  return acceptor_.local_endpoint();
}

void RawPeer::accept() {
  bool done = false;
  socket_ = boost::asio::ip::tcp::socket(context_);
  received_.clear();
  error_ = {};
  acceptor_.async_accept(socket_, [&done](error_code error) { done = !error; });
  ASSERT_TRUE(run_until(context_, [&] { return done; }));
  socket_.set_option(boost::asio::ip::tcp::no_delay(true));
  socket_.non_blocking(true);
}

void RawPeer::send(const Bytes& octets) {
  bool done = false;
  error_code error;
  boost::asio::const_buffer rest = boost::asio::buffer(octets);
  while (rest.size() != 0) {
    rest += socket_.write_some(rest, error);
    if (error && error != boost::asio::error::would_block) return;  // receive() reports the error
    if (!error) continue;
    done = false;
    socket_.async_wait(boost::asio::ip::tcp::socket::wait_write, [&done](error_code) { done = true; });
    ASSERT_TRUE(run_until(context_, [&] { return done; }));
  }
}

bool RawPeer::fill(std::size_t count) {
  std::array<std::byte, 65536> buffer;
  while (received_.size() < count && !error_) {
    bool done = false;
    socket_.async_read_some(boost::asio::buffer(buffer), [&](error_code error, std::size_t n) {
      received_.insert(received_.end(), buffer.begin(), buffer.begin() + static_cast<std::ptrdiff_t>(n));
      error_ = error;
      done = true;
    });
    if (!run_until(context_, [&] { return done; })) {
      ADD_FAILURE() << "nothing arrived in time";
      error_ = boost::asio::error::timed_out;
      socket_.close();
    }
  }
  return received_.size() >= count;
}

Bytes RawPeer::receive(std::size_t count) {
  fill(count);
  count = std::min(count, received_.size());
  Bytes out(received_.begin(), received_.begin() + static_cast<std::ptrdiff_t>(count));
  received_.erase(received_.begin(), received_.begin() + static_cast<std::ptrdiff_t>(count));
  return out;
}

Heard RawPeer::segment() {
  Heard out;
  const Bytes length = receive(2);
  if (length.size() < 2) {
    ADD_FAILURE() << "the connection ended: " << error_.message();
    return out;
  }
  const std::size_t size = Reader(length).u16();
  const Bytes frame = length + receive(iwarp::fpdu_size(size) - 2);
  if (frame.size() < iwarp::fpdu_size(size)) {
    ADD_FAILURE() << "the connection ended in an FPDU";
    return out;
  }
  iwarp::Crc32c crc;
  crc.add(Octets(frame).first(frame.size() - 4));
  out.crc_good = iwarp::decode_crc(frame.data() + frame.size() - 4) == crc.value();
  out.ulpdu.assign(frame.begin() + 2, frame.begin() + 2 + static_cast<std::ptrdiff_t>(size));
  Reader in(out.ulpdu);
  out.header = iwarp::decode_ddp(in);
  out.payload.assign(in.rest().begin(), in.rest().end());
  return out;
}

Heard RawPeer::next_segment() {
  for (;;) {
    Heard out = segment();
    if (out.opcode() != Opcode::write || !out.payload.empty() || testing::Test::HasFailure()) return out;
  }
}

bool RawPeer::ends() {
  fill(received_.size() + 1);
  return received_.empty();
}

std::size_t RawPeer::available() {
  error_code ignored;
  return received_.size() + socket_.available(ignored);
}

void RawPeer::close() {
  error_code ignored;
  socket_.close(ignored);
}

void RawPeer::shut_down() {
  error_code ignored;
  socket_.shutdown(boost::asio::ip::tcp::socket::shutdown_send, ignored);
}

void RawPeer::reset() {
  error_code ignored;
  socket_.set_option(boost::asio::socket_base::linger(true, 0), ignored);
  socket_.close(ignored);
}

}  // namespace rpcrdma::test

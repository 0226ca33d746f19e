// SPDX-License-Identifier: BSD-3-Clause
// Operation: the event loop of libnfs is poll() on its socket. The number of calls in flight is `depth`; each reply
// starts the next call.
// Ownership: libnfs encodes a call when it is started, and frees its result after the callback.
// Error handling: the first call that fails ends the sequence with an exception.
#include "libnfs_connection.hpp"

#include <poll.h>

#include <stdexcept>

namespace rpcrdma::bench {
namespace {

constexpr int kPatienceMs = 60'000;

struct Reply {
  bool over = false;
  int status = RPC_STATUS_ERROR;
  const std::function<void(const void*)>* take = nullptr;
};

void replied(rpc_context*, int status, void* data, void* reply_of_call) {
  Reply& reply = *static_cast<Reply*>(reply_of_call);
  reply.over = true;
  reply.status = status;
  if (status == RPC_STATUS_SUCCESS && reply.take != nullptr) (*reply.take)(data);
}

}  // namespace

struct LibnfsConnection::State {
  const Sequence& sequence;
  std::uint64_t started = 0;
  std::uint64_t done = 0;
  std::uint32_t active = 0;
  std::string failure{};
};

struct LibnfsConnection::Flight {
  State& state;
  Clock::time_point start{};
};

LibnfsConnection::LibnfsConnection(std::uint16_t port, int program, int version) : context_(rpc_init_context()) {
  if (context_ == nullptr) throw std::runtime_error("libnfs: rpc_init_context failed");
  call([&](rpc_cb done,
           void* data) { return rpc_connect_port_async(context(), "127.0.0.1", port, program, version, done, data); },
       [](const void*) {});
}

void LibnfsConnection::fail(const std::string& what) {
  const char* why = rpc_get_error(context());
  const std::string text = "libnfs: " + what + (why != nullptr ? std::string(": ") + why : std::string());
  context_.reset();  // ends the calls in flight before the exception destroys the caller's state, which they use
  throw std::runtime_error(text);
}

void LibnfsConnection::serve_until(const std::function<bool()>& over) {
  while (!over()) {
    pollfd socket{rpc_get_fd(context()), static_cast<short>(rpc_which_events(context())), 0};
    if (::poll(&socket, 1, kPatienceMs) <= 0) fail("the server has not replied in time");
    if (rpc_service(context(), socket.revents) < 0) fail("the connection has ended");
  }
}

void LibnfsConnection::call(const Submit& submit, const std::function<void(const void*)>& take) {
  Reply reply{.take = &take};
  if (submit(replied, &reply) != 0) fail("cannot start a call");
  serve_until([&] { return reply.over; });
  if (reply.status != RPC_STATUS_SUCCESS) fail("a call failed");
}

void LibnfsConnection::begin(Flight& flight) {
  State& state = flight.state;
  flight.start = Clock::now();
  ++state.active;
  if (state.sequence.submit(state.started++, landed, &flight) != 0) {
    state.failure = "cannot start a call";
    --state.active;
  }
}

void LibnfsConnection::landed(rpc_context*, int status, void* data, void* of_call) {
  Flight& flight = *static_cast<Flight*>(of_call);
  State& state = flight.state;
  const auto now = Clock::now();
  --state.active;
  ++state.done;
  if (status != RPC_STATUS_SUCCESS) {
    state.failure = "a call failed";
  } else if (const nfsstat3 answer = *static_cast<const nfsstat3*>(data); answer != NFS3_OK) {
    state.failure = std::string("the server answers ") + nfsstat3_to_str(answer);
  }
  if (state.sequence.samples != nullptr) state.sequence.samples->push_back(microseconds(now - flight.start));
  if (state.failure.empty() && state.started < state.sequence.limit && now < state.sequence.end) begin(flight);
}

std::uint64_t LibnfsConnection::run(const Sequence& sequence) {
  State state{.sequence = sequence};
  std::vector<Flight> flights;
  flights.reserve(sequence.depth);
  for (std::uint32_t i = 0; i < sequence.depth && state.started < sequence.limit; ++i)
    begin(flights.emplace_back(Flight{.state = state}));
  serve_until([&] { return state.active == 0; });
  if (!state.failure.empty()) fail(state.failure);
  return state.done;
}

std::string libnfs_mount(std::uint16_t port, std::string path) {
  LibnfsConnection connection(port, MOUNT_PROGRAM, MOUNT_V3);
  std::string handle;
  connection.call(
      [&](rpc_cb done, void* data) { return rpc_mount3_mnt_async(connection.context(), done, path.data(), data); },
      [&](const void* data) {
        const auto& result = *static_cast<const mountres3*>(data);
        if (result.fhs_status != MNT3_OK) return;
        const auto& found = result.mountres3_u.mountinfo.fhandle;
        handle.assign(found.fhandle3_val, found.fhandle3_len);
      });
  if (handle.empty()) throw std::runtime_error("libnfs: the server refuses to mount " + path);
  return handle;
}

}  // namespace rpcrdma::bench

// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <fmt/format.h>

#include <array>
#include <span>

#include "core.hpp"

namespace rpcrdma::capture {

/// The opcodes of RDMAP messages (RFC 5040 section 4.1).
enum class Opcode : std::uint8_t {
  write = 0,
  read_request = 1,
  read_response = 2,
  send = 3,
  send_invalidate = 4,
  send_solicited = 5,
  send_solicited_invalidate = 6,
};

/// The two directions of a connection.
enum Direction : std::uint32_t { kInbound = 0, kOutbound = 1 };

/// What a Recorder stores about a connection to make the frames that show it. Used only on the thread of the Recorder.
struct Track {
  /// Null before Recorder::open() and after Recorder::close(), and if the capture does not record this connection.
  std::shared_ptr<Connection> connection;
  bool opened = false;                      ///< Recorder::open() has been called
  std::array<std::uint32_t, 2> position{};  ///< bytes of each direction's stream so far
  std::array<std::uint32_t, 2> sends{};     ///< Sends of each direction so far
  std::array<std::uint32_t, 2> reads{};     ///< Read Requests of each direction so far
  std::uint32_t lost = 0;                   ///< records dropped since the last one that was recorded
};

/// Turns the messages of the queue pairs of one fabric into records. Used by one thread.
class Recorder {
 public:
  explicit Recorder(std::shared_ptr<Capture::Core> core) : core_(std::move(core)), channel_(core_->make_channel()) {}
  ~Recorder() { channel_->ended.store(true, std::memory_order_release); }
  Recorder(const Recorder&) = delete;
  Recorder& operator=(const Recorder&) = delete;

  Capture::Core& core() noexcept { return *core_; }
  /// Whether the capture runs. If not, the functions below record nothing.
  bool active() const noexcept { return core_->active(); }

  /// Records that the connection is established, was refused or has failed. The caller must not change `connection`
  /// afterwards.
  void open(Track& track, std::shared_ptr<Connection> connection);
  /// Records a Send. `invalidated`: the handle of a Send with Invalidate.
  void send(Track& track, Direction direction, Opcode opcode, std::uint32_t invalidated,
            std::span<const BufferRef> gather) noexcept;
  /// Records an RDMA Write.
  void write(Track& track, Direction direction, std::uint32_t handle, std::uint64_t offset,
             std::span<const BufferRef> gather) noexcept;
  /// Records a Read Request for `size` bytes that is sent in `direction`. Returns the value that the caller passes to
  /// read_response() as `sink`: the STag that the Request names as its sink, or 0 while the connection is not captured.
  std::uint32_t read_request(Track& track, Direction direction, std::uint32_t handle, std::uint64_t offset,
                             std::uint32_t size) noexcept;
  /// Records a Read Response that is sent in `direction`.
  void read_response(Track& track, Direction direction, std::uint32_t sink, BufferRef data) noexcept;
  /// Records an event that has no frame: its text becomes the comment of an empty segment.
  template <class... Args>
  void event(Track& track, fmt::format_string<Args...> format, Args&&... args) noexcept {
    if (!active() || track.connection == nullptr) return;
    std::array<char, 256> text;
    const auto end = fmt::format_to_n(text.data(), text.size(), format, std::forward<Args>(args)...);
    note(track, RecordKind::event, {text.data(), static_cast<std::size_t>(end.out - text.data())});
  }
  /// Records the end of the connection. `why` is the reason that the capture shows; empty: none.
  void close(Track& track, std::string_view why) noexcept;

 private:
  struct Gather;
  /// The fields of a DDP segment's header.
  struct Segment {
    Opcode opcode;
    bool tagged;
    bool last;
    std::uint32_t stag;
    std::uint32_t queue;
    std::uint32_t msn;
    std::uint64_t offset;
  };
  void message(Track& track, Direction direction, Segment first, Gather data) noexcept;
  void frame(Track& track, Direction direction, const Segment& segment, Gather& data, std::uint32_t count,
             std::uint32_t whole) noexcept;
  void note(Track& track, RecordKind kind, std::string_view text) noexcept;
  Record* begin(Track& track, RecordKind kind, Direction direction, std::uint32_t kept) noexcept;
  void end(const Record& record) noexcept;

  std::shared_ptr<Capture::Core> core_;
  std::shared_ptr<Channel> channel_;
};

}  // namespace rpcrdma::capture

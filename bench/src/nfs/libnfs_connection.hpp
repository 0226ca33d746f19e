// SPDX-License-Identifier: BSD-3-Clause
#pragma once
// libnfs declares the types of XDR by macros: include this only in files that use no other implementation of XDR.
#include <nfsc/libnfs-raw-mount.h>
#include <nfsc/libnfs-raw-nfs.h>
#include <nfsc/libnfs.h>
// libnfs-raw.h needs libnfs.h before it.
#include <nfsc/libnfs-raw.h>

#include <functional>
#include <memory>
#include <string>

#include "timing.hpp"

namespace rpcrdma::bench {

/// A connection of libnfs over TCP to one program on 127.0.0.1. Throws std::runtime_error on failure.
class LibnfsConnection {
 public:
  LibnfsConnection(std::uint16_t port, int program, int version);

  rpc_context* context() const noexcept { return context_.get(); }
  /// Ends the connection and throws.
  [[noreturn]] void fail(const std::string& what);

  /// Starts a call. When the call ends, libnfs passes the void* to the rpc_cb. Returns 0 on success, as libnfs does.
  using Submit = std::function<int(rpc_cb, void*)>;
  /// Makes one call and waits for the reply. `take` gets the result, which is valid only until `take` returns.
  void call(const Submit& submit, const std::function<void(const void*)>& take);

  /// The parameters of run(), which keeps `depth` calls in flight. It starts no further call after it has started
  /// `limit` calls, or after the time `end`. `submit` starts one call.
  struct Sequence {
    std::function<int(std::uint64_t number, rpc_cb, void*)> submit;
    std::uint32_t depth = 1;
    std::uint64_t limit = UINT64_MAX;
    Clock::time_point end = Clock::time_point::max();
    std::vector<double>* samples = nullptr;  ///< durations in microseconds; null if not needed
  };
  /// Makes the calls and returns their number. A reply whose status is not NFS3_OK is a failure.
  std::uint64_t run(const Sequence& sequence);

 private:
  struct Destroy {
    void operator()(rpc_context* context) const noexcept { rpc_destroy_context(context); }
  };
  struct Flight;
  struct State;

  static void landed(rpc_context* context, int status, void* data, void* flight);
  static void begin(Flight& flight);
  void serve_until(const std::function<bool()>& over);

  std::unique_ptr<rpc_context, Destroy> context_;
};

/// Asks the MOUNT program at `port` for the handle of `path`.
std::string libnfs_mount(std::uint16_t port, std::string path);

}  // namespace rpcrdma::bench

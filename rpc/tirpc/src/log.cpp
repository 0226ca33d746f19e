// SPDX-License-Identifier: BSD-3-Clause
#include "log.hpp"

#include <string>

namespace rpcrdma::tirpc {
namespace {

class FunctionSink final : public LogSink {
 public:
  FunctionSink(rpcrdma_log_function function, void* context) noexcept : function_(function), context_(context) {}
  bool enabled(LogLevel) const noexcept override { return true; }
  void write(LogLevel level, std::string_view line) noexcept override {
    function_(context_, static_cast<int>(level), std::string(line).c_str());
  }

 private:
  rpcrdma_log_function function_;
  void* context_;
};

}  // namespace

Log log_to(rpcrdma_log_function function, void* context) {
  if (function == nullptr) return {};
  return Log(std::make_shared<FunctionSink>(function, context));
}

}  // namespace rpcrdma::tirpc

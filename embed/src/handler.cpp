// SPDX-License-Identifier: BSD-3-Clause
#include "rpcrdma/embed/handler.hpp"

namespace rpcrdma::embed {

void report(const Log& log, const LogSubject& about, const rpc::ProcedureInfo& procedure,
            const std::exception_ptr& thrown) noexcept {
  try {
    std::rethrow_exception(thrown);
  } catch (const std::exception& failed) {
    log.about(about).error(
        "procedure {}: the handler threw an exception: {}; the reply is SYSTEM_ERR if the handler had sent none",
        procedure.name, failed.what());
  } catch (...) {
    log.about(about).error(
        "procedure {}: the handler threw an exception; the reply is SYSTEM_ERR if the handler had sent none",
        procedure.name);
  }
}

}  // namespace rpcrdma::embed

// SPDX-License-Identifier: BSD-3-Clause
#include "rpcrdma/nfs/error.hpp"

#include <string>

namespace rpcrdma::nfs {
namespace {

class ClientCategory final : public boost::system::error_category {
 public:
  const char* name() const noexcept override { return "rpcrdma.nfs.client"; }
  std::string message(int value) const override {
    switch (static_cast<ClientError>(value)) {
      case ClientError::malformed_reply: return "The server's reply breaks the protocol";
      case ClientError::no_mount_service:
        return "The server has no MOUNT service on this connection (see --mount-port and --root-handle)";
      case ClientError::mount_unreachable: return "No reply from the MOUNT port";
      case ClientError::unsafe_name: return "The server sent an invalid file name";
      case ClientError::endless_listing: return "The server lists the directory without end";
      case ClientError::too_deep: return "Directories are nested too deeply";
      case ClientError::keeps_restarting: return "The server keeps losing uncommitted data";
    }
    return "Unknown error";
  }
};

const ClientCategory kClientCategory;

}  // namespace

error_code make_error_code(ClientError e) noexcept { return {static_cast<int>(e), kClientCategory}; }

bool is_system_error(const error_code& ec) noexcept {
  return ec.category() == boost::system::system_category() || ec.category() == boost::system::generic_category();
}

bool is_file_error(const error_code& ec) noexcept {
  if (ec.category() == kClientCategory) {
    return ec != ClientError::no_mount_service && ec != ClientError::mount_unreachable;
  }
  return is_status(ec) || is_system_error(ec);
}

}  // namespace rpcrdma::nfs

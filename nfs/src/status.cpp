// SPDX-License-Identifier: BSD-3-Clause
#include "rpcrdma/nfs/status.hpp"

#include <cerrno>
#include <string>

namespace rpcrdma::nfs {
namespace {

int to_errno(int status) noexcept {
  switch (static_cast<Status>(status)) {
    case Status::nametoolong: return ENAMETOOLONG;
    case Status::notempty: return ENOTEMPTY;
    case Status::dquot: return EDQUOT;
    case Status::stale: return ESTALE;
    case Status::remote: return EREMOTE;
    case Status::badhandle: return ESTALE;
    case Status::notsupp: return EOPNOTSUPP;
    case Status::serverfault: return EREMOTEIO;
    case Status::jukebox: return EAGAIN;
    case Status::not_sync:
    case Status::bad_cookie:
    case Status::toosmall:
    case Status::badtype: return EIO;
    default: return status > 0 && status < 63 ? status : EIO;  // NFS statuses below 63 are Linux's errno values
  }
}

class StatusCategory final : public boost::system::error_category {
 public:
  const char* name() const noexcept override { return "rpcrdma.nfs"; }
  std::string message(int value) const override {
    switch (static_cast<Status>(value)) {
      case Status::ok: return "Success";
      case Status::bad_cookie: return "The directory changed during the listing";
      case Status::serverfault: return "The server reports an internal failure";
      default: return boost::system::error_code(to_errno(value), boost::system::generic_category()).message();
    }
  }
  boost::system::error_condition default_error_condition(int value) const noexcept override {
    return {value == 0 ? 0 : to_errno(value), boost::system::generic_category()};
  }
  bool equivalent(int value, const boost::system::error_condition& condition) const noexcept override {
    if (condition == make_error_condition(Condition::retry)) return static_cast<Status>(value) == Status::jukebox;
    if (condition == make_error_condition(Condition::give_up)) {
      return value != 0 && static_cast<Status>(value) != Status::jukebox;
    }
    return default_error_condition(value) == condition;
  }
};

const StatusCategory kStatusCategory;

}  // namespace

error_code make_error_code(Status status) noexcept { return {static_cast<int>(status), kStatusCategory}; }
bool is_status(const error_code& ec) noexcept { return ec.category() == kStatusCategory; }

}  // namespace rpcrdma::nfs

// SPDX-License-Identifier: BSD-3-Clause
// GETATTR, SETATTR, ACCESS, FSSTAT, FSINFO, PATHCONF, COMMIT.
#include "procedures.hpp"
#include "rpcrdma/nfsd/fs/access.hpp"

namespace rpcrdma::nfsd {
namespace {

namespace nfs3 = rpc::nfs3;

GETATTR3res result_of(const Request<nfs3::Getattr>& request, const AttributesResult& found) {
  GETATTR3res result = failed<nfs3::Getattr>(found.status);
  if (found.attributes) result.GETATTR3res_u.resok.obj_attributes = to_wire(*found.attributes, request.fsid());
  return result;
}

GETATTR3res getattr(const Request<nfs3::Getattr>& request) {
  return result_of(request, request.fs().attributes(request.target.node));
}

std::optional<GETATTR3res> getattr_at_once(const Request<nfs3::Getattr>& request) {
  const auto found = request.fs().attributes_at_once(request.target.node);
  return found ? std::optional(result_of(request, *found)) : std::nullopt;
}

SETATTR3res setattr(const Request<nfs3::Setattr>& request) {
  std::optional<Time> guard;
  if (request.args.guard.check) guard = from_wire(request.args.guard.sattrguard3_u.obj_ctime);
  const ChangeResult changed =
      request.fs().set_attributes(request.caller, request.target.node, from_wire(request.args.new_attributes), guard);
  SETATTR3res result = failed<nfs3::Setattr>(changed.status);
  // The results of success and failure have the same fields.
  result.SETATTR3res_u.resok.obj_wcc = to_wire(changed.wcc, request.fsid());
  return result;
}

/// The rights that the client asks for and the export may grant.
std::uint32_t wanted_of(const Request<nfs3::Access>& request) noexcept {
  return request.args.access & (request.target.exported->read_only ? ~access::kChanges : ~0u);
}

ACCESS3res result_of(const Request<nfs3::Access>& request, const AccessResult& found) {
  ACCESS3res result = failed<nfs3::Access>(found.status);
  if (found.status != Status::ok) {
    result.ACCESS3res_u.resfail.obj_attributes = to_wire(found.attributes, request.fsid());
    return result;
  }
  ACCESS3resok& ok = result.ACCESS3res_u.resok;
  ok.obj_attributes = to_wire(found.attributes, request.fsid());
  ok.access = found.granted;
  return result;
}

ACCESS3res check_access(const Request<nfs3::Access>& request) {
  return result_of(request, request.fs().access(request.caller, request.target.node, wanted_of(request)));
}

std::optional<ACCESS3res> check_access_at_once(const Request<nfs3::Access>& request) {
  const auto found = request.fs().access_at_once(request.caller, request.target.node, wanted_of(request));
  return found ? std::optional(result_of(request, *found)) : std::nullopt;
}

FSSTAT3res fsstat(const Request<nfs3::Fsstat>& request) {
  const StatisticsResult found = request.fs().statistics(request.target.node);
  FSSTAT3res result = failed<nfs3::Fsstat>(found.status);
  if (found.status != Status::ok) {
    result.FSSTAT3res_u.resfail.obj_attributes = to_wire(found.attributes, request.fsid());
    return result;
  }
  FSSTAT3resok& ok = result.FSSTAT3res_u.resok;
  ok.obj_attributes = to_wire(found.attributes, request.fsid());
  ok.tbytes = found.statistics.total_octets;
  ok.fbytes = found.statistics.free_octets;
  ok.abytes = found.statistics.available_octets;
  ok.tfiles = found.statistics.total_files;
  ok.ffiles = found.statistics.free_files;
  ok.afiles = found.statistics.available_files;
  return result;
}

FSINFO3res fsinfo(const Request<nfs3::Fsinfo>& request) {
  const AttributesResult found = request.fs().attributes(request.target.node);
  FSINFO3res result = failed<nfs3::Fsinfo>(found.status);
  if (found.status != Status::ok) return result;
  const Limits limits = request.fs().limits();
  FSINFO3resok& ok = result.FSINFO3res_u.resok;
  ok.obj_attributes = to_wire(found.attributes, request.fsid());
  ok.rtmax = ok.rtpref = ok.wtmax = ok.wtpref = kMaxTransfer;
  ok.rtmult = ok.wtmult = 4096;
  ok.dtpref = kPreferredListing;
  ok.maxfilesize = limits.max_file_size;
  ok.time_delta = to_wire(limits.time_delta);
  ok.properties = FSF3_LINK | FSF3_SYMLINK | FSF3_HOMOGENEOUS | FSF3_CANSETTIME;
  return result;
}

PATHCONF3res pathconf(const Request<nfs3::Pathconf>& request) {
  const AttributesResult found = request.fs().attributes(request.target.node);
  PATHCONF3res result = failed<nfs3::Pathconf>(found.status);
  if (found.status != Status::ok) return result;
  const Limits limits = request.fs().limits();
  PATHCONF3resok& ok = result.PATHCONF3res_u.resok;
  ok.obj_attributes = to_wire(found.attributes, request.fsid());
  ok.linkmax = limits.max_links;
  ok.name_max = limits.max_name;
  ok.no_trunc = TRUE;
  ok.chown_restricted = TRUE;
  ok.case_preserving = TRUE;
  return result;
}

/// Returns the result of COMMIT on an asynchronous export. COMMIT flushes nothing on such an export.
ChangeResult unflushed(const Request<nfs3::Commit>& request) {
  const AttributesResult found = request.fs().attributes(request.target.node);
  ChangeResult result{found.status, {}};
  result.wcc.after = found.attributes;
  return result;
}

COMMIT3res commit(const Request<nfs3::Commit>& request) {
  const ChangeResult flushed =
      request.target.exported->sync
          ? request.fs().commit(request.caller, request.target.node, request.args.offset, request.args.count)
          : unflushed(request);
  COMMIT3res result = failed<nfs3::Commit>(flushed.status);
  result.COMMIT3res_u.resok.file_wcc = to_wire(flushed.wcc, request.fsid());
  if (flushed.status != Status::ok) return result;
  // The verifier is read after the flush. If the data of an earlier WRITE is lost, the verifier therefore differs from
  // the one in the reply to that WRITE, and the client sends the data again.
  const Verifier verifier = request.fs().write_verifier();
  std::memcpy(result.COMMIT3res_u.resok.verf, verifier.data(), verifier.size());
  return result;
}

}  // namespace

void NfsService::Procedures::add_attribute_procedures(rpc::Dispatcher& dispatcher) {
  const auto object = [](const auto& args) -> const nfs_fh3& { return args.object; };
  const auto root = [](const auto& args) -> const nfs_fh3& { return args.fsroot; };
  const auto file = [](const auto& args) -> const nfs_fh3& { return args.file; };
  on<nfs3::Getattr>(dispatcher, Effect::reads, object, &getattr, &getattr_at_once);
  on<nfs3::Setattr>(dispatcher, Effect::changes, object, &setattr);
  on<nfs3::Access>(dispatcher, Effect::reads, object, &check_access, &check_access_at_once);
  on<nfs3::Fsstat>(dispatcher, Effect::reads, root, &fsstat);
  on<nfs3::Fsinfo>(dispatcher, Effect::reads, root, &fsinfo);
  on<nfs3::Pathconf>(dispatcher, Effect::reads, object, &pathconf);
  on<nfs3::Commit>(dispatcher, Effect::changes, file, &commit);
}

}  // namespace rpcrdma::nfsd

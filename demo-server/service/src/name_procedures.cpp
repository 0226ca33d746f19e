// SPDX-License-Identifier: BSD-3-Clause
// LOOKUP, CREATE, MKDIR, MKNOD, REMOVE, RMDIR, RENAME, LINK.
#include "new_object.hpp"
#include "procedures.hpp"

namespace rpcrdma::nfsd {
namespace {

namespace nfs3 = rpc::nfs3;

LOOKUP3res result_of(const Request<nfs3::Lookup>& request, const NodeResult& found) {
  LOOKUP3res result = failed<nfs3::Lookup>(found.status);
  if (found.status != Status::ok) {
    result.LOOKUP3res_u.resfail.dir_attributes = to_wire(found.directory.after, request.fsid());
    return result;
  }
  LOOKUP3resok& ok = result.LOOKUP3res_u.resok;
  ok.object = to_wire(request.handle(found.node));
  ok.obj_attributes = to_wire(found.attributes, request.fsid());
  ok.dir_attributes = to_wire(found.directory.after, request.fsid());
  return result;
}

LOOKUP3res lookup(const Request<nfs3::Lookup>& request) {
  return result_of(request, request.fs().lookup(request.caller, request.target.node, request.args.what.name.view()));
}

std::optional<LOOKUP3res> lookup_at_once(const Request<nfs3::Lookup>& request) {
  const auto found = request.fs().lookup_at_once(request.caller, request.target.node, request.args.what.name.view());
  return found ? std::optional(result_of(request, *found)) : std::nullopt;
}

CREATE3res create(const Request<nfs3::Create>& request) {
  CreateHow how;
  how.mode = static_cast<CreateMode>(request.args.how.mode);
  if (how.mode == CreateMode::exclusive)
    std::memcpy(how.verifier.data(), request.args.how.createhow3_u.verf, how.verifier.size());
  else
    how.attributes = from_wire(request.args.how.createhow3_u.obj_attributes);
  const NodeResult made = request.fs().create(request.caller, request.target.node, request.args.where.name.view(), how);
  CREATE3res result = failed<nfs3::Create>(made.status);
  fill_new(request, made, result.CREATE3res_u.resok, result.CREATE3res_u.resfail);
  return result;
}

MKDIR3res mkdir(const Request<nfs3::Mkdir>& request) {
  const NodeResult made = request.fs().make_directory(
      request.caller, request.target.node, request.args.where.name.view(), from_wire(request.args.attributes));
  MKDIR3res result = failed<nfs3::Mkdir>(made.status);
  fill_new(request, made, result.MKDIR3res_u.resok, result.MKDIR3res_u.resfail);
  return result;
}

MKNOD3res mknod(const Request<nfs3::Mknod>& request) {
  const mknoddata3& what = request.args.what;
  const bool is_device = what.type == NF3CHR || what.type == NF3BLK;
  if (!is_device && what.type != NF3SOCK && what.type != NF3FIFO) return failed<nfs3::Mknod>(Status::badtype);
  if (is_device && !request.target.exported->devices) return failed<nfs3::Mknod>(Status::perm);
  const sattr3& attributes = is_device ? what.mknoddata3_u.device.dev_attributes : what.mknoddata3_u.pipe_attributes;
  Device device;
  if (is_device) device = {what.mknoddata3_u.device.spec.specdata1, what.mknoddata3_u.device.spec.specdata2};
  const NodeResult made = request.fs().make_node(request.caller, request.target.node, request.args.where.name.view(),
                                                 static_cast<FileType>(what.type), device, from_wire(attributes));
  MKNOD3res result = failed<nfs3::Mknod>(made.status);
  fill_new(request, made, result.MKNOD3res_u.resok, result.MKNOD3res_u.resfail);
  return result;
}

REMOVE3res remove(const Request<nfs3::Remove>& request) {
  const ChangeResult done = request.fs().remove(request.caller, request.target.node, request.args.object.name.view());
  REMOVE3res result = failed<nfs3::Remove>(done.status);
  result.REMOVE3res_u.resok.dir_wcc = to_wire(done.wcc, request.fsid());
  return result;
}

RMDIR3res rmdir(const Request<nfs3::Rmdir>& request) {
  const ChangeResult done =
      request.fs().remove_directory(request.caller, request.target.node, request.args.object.name.view());
  RMDIR3res result = failed<nfs3::Rmdir>(done.status);
  result.RMDIR3res_u.resok.dir_wcc = to_wire(done.wcc, request.fsid());
  return result;
}

/// Returns the node of the target directory of RENAME or LINK, which `handle` names. This directory must be on the
/// export of the first handle of the call. If it is on another export, returns the error with which resolve() refuses
/// `handle`, or Status::xdev if resolve() accepts it.
template <class P>
boost::system::result<NodeKey, Status> second_directory(const Request<P>& request, const nfs_fh3& handle) {
  const auto decoded = request.codec.decode(handle.octets());
  if (!decoded) return Status::badhandle;
  if (decoded->export_id == request.target.exported->id) return decoded->node;
  const auto other = resolve(request.exports, request.codec, handle.octets(), request.origin, Effect::changes);
  return other ? Status::xdev : other.error();
}

RENAME3res rename(const Request<nfs3::Rename>& request) {
  const auto to = second_directory(request, request.args.to.dir);
  if (!to) return failed<nfs3::Rename>(to.error());
  const RenameResult done = request.fs().rename(request.caller, request.target.node, request.args.from.name.view(), *to,
                                                request.args.to.name.view());
  RENAME3res result = failed<nfs3::Rename>(done.status);
  result.RENAME3res_u.resok.fromdir_wcc = to_wire(done.from, request.fsid());
  result.RENAME3res_u.resok.todir_wcc = to_wire(done.to, request.fsid());
  return result;
}

LINK3res link(const Request<nfs3::Link>& request) {
  const auto directory = second_directory(request, request.args.link.dir);
  if (!directory) return failed<nfs3::Link>(directory.error());
  const LinkResult done =
      request.fs().link(request.caller, request.target.node, *directory, request.args.link.name.view());
  LINK3res result = failed<nfs3::Link>(done.status);
  result.LINK3res_u.resok.file_attributes = to_wire(done.file, request.fsid());
  result.LINK3res_u.resok.linkdir_wcc = to_wire(done.directory, request.fsid());
  return result;
}

}  // namespace

void NfsService::Procedures::add_name_procedures(rpc::Dispatcher& dispatcher) {
  const auto where = [](const auto& args) -> const nfs_fh3& { return args.where.dir; };
  const auto object = [](const auto& args) -> const nfs_fh3& { return args.object.dir; };
  on<nfs3::Lookup>(
      dispatcher, Effect::reads, [](const auto& args) -> const nfs_fh3& { return args.what.dir; }, &lookup,
      &lookup_at_once);
  on<nfs3::Create>(dispatcher, Effect::changes, where, &create);
  on<nfs3::Mkdir>(dispatcher, Effect::changes, where, &mkdir);
  on<nfs3::Mknod>(dispatcher, Effect::changes, where, &mknod);
  on<nfs3::Remove>(dispatcher, Effect::changes, object, &remove);
  on<nfs3::Rmdir>(dispatcher, Effect::changes, object, &rmdir);
  on<nfs3::Rename>(
      dispatcher, Effect::changes, [](const auto& args) -> const nfs_fh3& { return args.from.dir; }, &rename);
  on<nfs3::Link>(
      dispatcher, Effect::changes, [](const auto& args) -> const nfs_fh3& { return args.file; }, &link);
}

}  // namespace rpcrdma::nfsd

// SPDX-License-Identifier: BSD-3-Clause
// Passes a handle of each kind of object except devices, and of a removed file, to each procedure that takes a handle.
// The table of expected statuses is the same for all back ends.
#include "served.hpp"

namespace rpcrdma::nfsd {
namespace {

/// The status of a reply. `complete` is true if the call succeeded and no result that the test checks is missing or
/// wrong.
struct Answer {
  nfsstat3 status = NFS3_OK;
  bool complete = true;
};

bool there(const post_op_attr& attributes) { return attributes.attributes_follow != FALSE; }
bool there(const wcc_data& wcc) { return wcc.before.attributes_follow != FALSE && there(wcc.after); }
bool there(const post_op_fh3& handle) { return handle.handle_follows != FALSE; }

class Procedures : public Served {
 protected:
  void SetUp() override {
    start();
    top_ = root();
    other_ = mkdir(top_, "other");
    kinds_["file"] = create(top_, "file", "content");
    kinds_["directory"] = mkdir(top_, "directory");
    SYMLINK3args link{};
    link.where = in(top_, "link");
    link.symlink.symlink_data.set_octets(std::as_bytes(std::span(std::string_view("target"))));
    kinds_["link"] = call<nfs3::Symlink>(link)->SYMLINK3res_u.resok.obj.post_op_fh3_u.handle;
    for (const auto& [name, type] : {std::pair{"fifo", NF3FIFO}, std::pair{"socket", NF3SOCK}}) {
      MKNOD3args node{};
      node.where = in(top_, name);
      node.what.type = type;
      kinds_[name] = call<nfs3::Mknod>(node)->MKNOD3res_u.resok.obj.post_op_fh3_u.handle;
    }
    kinds_["gone"] = create(top_, "gone");
    EXPECT_EQ(call<nfs3::Remove>({in(top_, "gone")})->status, NFS3_OK);
  }

  using Ask = std::function<Answer(const nfs_fh3&)>;
  /// Calls `ask` with a handle of each kind of object, and compares each status with the expected one.
  void row(const char* name, const Ask& ask, nfsstat3 file, nfsstat3 directory, nfsstat3 link, nfsstat3 node) {
    const std::pair<const char*, nfsstat3> columns[] = {{"file", file},   {"directory", directory},
                                                        {"link", link},   {"fifo", node},
                                                        {"socket", node}, {"gone", NFS3ERR_STALE}};
    for (const auto& [kind, wanted] : columns) {
      const Answer answer = ask(kinds_.at(kind));
      EXPECT_EQ(answer.status, wanted) << name << " of a " << kind;
      if (wanted == NFS3_OK) {
        EXPECT_TRUE(answer.complete) << name << " of a " << kind;
      }
    }
  }

  template <rpc::Procedure P, class Check>
  Answer ask(const typename P::Args& args, Check check) {
    const auto reply = call<P>(args);
    if (reply->status != NFS3_OK) return {reply->status, false};
    return {reply->status, check(*reply.value)};
  }

  nfs_fh3 top_{};
  nfs_fh3 other_{};
  std::map<std::string, nfs_fh3> kinds_;
};

TEST_P(Procedures, Objects) {
  EXPECT_FALSE(call<nfs3::Null>({}).status);
  const auto all = [&](const char* name, const Ask& ask) { row(name, ask, NFS3_OK, NFS3_OK, NFS3_OK, NFS3_OK); };
  all("GETATTR", [&](const nfs_fh3& h) { return ask<nfs3::Getattr>({h}, [](const auto&) { return true; }); });
  all("ACCESS", [&](const nfs_fh3& h) {
    return ask<nfs3::Access>({h, 0x3f}, [](const auto& r) { return there(r.ACCESS3res_u.resok.obj_attributes); });
  });
  all("FSSTAT", [&](const nfs_fh3& h) {
    return ask<nfs3::Fsstat>({h}, [](const auto& r) { return there(r.FSSTAT3res_u.resok.obj_attributes); });
  });
  all("FSINFO", [&](const nfs_fh3& h) {
    return ask<nfs3::Fsinfo>({h}, [](const auto& r) { return there(r.FSINFO3res_u.resok.obj_attributes); });
  });
  all("PATHCONF", [&](const nfs_fh3& h) {
    return ask<nfs3::Pathconf>({h}, [](const auto& r) { return there(r.PATHCONF3res_u.resok.obj_attributes); });
  });
  all("SETATTR of a time", [&](const nfs_fh3& h) {
    SETATTR3args args{};
    args.object = h;
    args.new_attributes.mtime.set_it = SET_TO_SERVER_TIME;
    return ask<nfs3::Setattr>(args, [](const auto& r) { return there(r.SETATTR3res_u.resok.obj_wcc); });
  });
  row(
      "SETATTR of the size",
      [&](const nfs_fh3& h) {
        SETATTR3args args{};
        args.object = h;
        args.new_attributes.size.set_it = TRUE;
        args.new_attributes.size.set_size3_u.size = 3;
        return ask<nfs3::Setattr>(args, [](const auto& r) { return there(r.SETATTR3res_u.resok.obj_wcc); });
      },
      NFS3_OK, NFS3ERR_ISDIR, NFS3ERR_INVAL, NFS3ERR_INVAL);
  row(
      "READLINK",
      [&](const nfs_fh3& h) {
        return ask<nfs3::Readlink>({h}, [](const auto& r) { return there(r.READLINK3res_u.resok.symlink_attributes); });
      },
      NFS3ERR_INVAL, NFS3ERR_INVAL, NFS3_OK, NFS3ERR_INVAL);
}

TEST_P(Procedures, Data) {
  const auto data = [&](const char* name, const Ask& ask) {
    row(name, ask, NFS3_OK, NFS3ERR_ISDIR, NFS3ERR_INVAL, NFS3ERR_INVAL);
  };
  data("READ", [&](const nfs_fh3& h) {
    return ask<nfs3::Read>({h, 0, 100}, [](const auto& r) { return there(r.READ3res_u.resok.file_attributes); });
  });
  for (const stable_how stable : {UNSTABLE, DATA_SYNC, FILE_SYNC}) {
    data("WRITE", [&](const nfs_fh3& h) {
      const WRITE3res r = write(h, 0, "x", false, stable);
      return Answer{r.status, r.status == NFS3_OK && there(r.WRITE3res_u.resok.file_wcc) &&
                                  r.WRITE3res_u.resok.committed >= stable};
    });
  }
  data("COMMIT", [&](const nfs_fh3& h) {
    return ask<nfs3::Commit>({h, 0, 0}, [](const auto& r) { return there(r.COMMIT3res_u.resok.file_wcc); });
  });
}

TEST_P(Procedures, NewNames) {
  const auto in_directory = [&](const char* name, const Ask& ask) {
    row(name, ask, NFS3ERR_NOTDIR, NFS3_OK, NFS3ERR_NOTDIR, NFS3ERR_NOTDIR);
  };
  const auto made = [](const auto& ok) { return there(ok.obj) && there(ok.obj_attributes) && there(ok.dir_wcc); };
  for (const createmode3 mode : {UNCHECKED, GUARDED, EXCLUSIVE}) {
    const std::string name = "created" + std::to_string(mode);
    in_directory("CREATE", [&](const nfs_fh3& h) {
      CREATE3args args{};
      args.where = in(h, name);
      args.how.mode = mode;
      return ask<nfs3::Create>(args, [&](const auto& r) { return made(r.CREATE3res_u.resok); });
    });
  }
  in_directory("MKDIR", [&](const nfs_fh3& h) {
    MKDIR3args args{};
    args.where = in(h, "folder");
    return ask<nfs3::Mkdir>(args, [&](const auto& r) { return made(r.MKDIR3res_u.resok); });
  });
  in_directory("SYMLINK", [&](const nfs_fh3& h) {
    SYMLINK3args args{};
    args.where = in(h, "symlink");
    args.symlink.symlink_data.set_octets(std::as_bytes(std::span(std::string_view("target"))));
    return ask<nfs3::Symlink>(args, [&](const auto& r) { return made(r.SYMLINK3res_u.resok); });
  });
  for (const ftype3 type : {NF3FIFO, NF3SOCK}) {
    const std::string name = "node" + std::to_string(type);
    in_directory("MKNOD", [&](const nfs_fh3& h) {
      MKNOD3args args{};
      args.where = in(h, name);
      args.what.type = type;
      return ask<nfs3::Mknod>(args, [&](const auto& r) { return made(r.MKNOD3res_u.resok); });
    });
  }
  in_directory("LINK into", [&](const nfs_fh3& h) {
    return ask<nfs3::Link>({kinds_["file"], in(h, "linked")}, [](const auto& r) {
      return there(r.LINK3res_u.resok.file_attributes) && there(r.LINK3res_u.resok.linkdir_wcc);
    });
  });
  int count = 0;
  row(
      "LINK of",
      [&](const nfs_fh3& h) {
        const std::string name = "link" + std::to_string(++count);
        return ask<nfs3::Link>({h, in(other_, name)}, [](const auto& r) {
          return there(r.LINK3res_u.resok.file_attributes) && there(r.LINK3res_u.resok.linkdir_wcc);
        });
      },
      NFS3_OK, NFS3ERR_ISDIR, NFS3_OK, NFS3_OK);
}

TEST_P(Procedures, OldNames) {
  create(kinds_["directory"], "old");
  create(kinds_["directory"], "older");
  mkdir(kinds_["directory"], "folder");
  const auto in_directory = [&](const char* name, const Ask& ask) {
    row(name, ask, NFS3ERR_NOTDIR, NFS3_OK, NFS3ERR_NOTDIR, NFS3ERR_NOTDIR);
  };
  in_directory("LOOKUP", [&](const nfs_fh3& h) {
    return ask<nfs3::Lookup>({in(h, "old")}, [](const auto& r) {
      return there(r.LOOKUP3res_u.resok.obj_attributes) && there(r.LOOKUP3res_u.resok.dir_attributes);
    });
  });
  in_directory("READDIR", [&](const nfs_fh3& h) {
    READDIR3args args{};
    args.dir = h;
    args.count = 4096;
    return ask<nfs3::Readdir>(args, [](const auto& r) { return there(r.READDIR3res_u.resok.dir_attributes); });
  });
  in_directory("READDIRPLUS", [&](const nfs_fh3& h) {
    READDIRPLUS3args args{};
    args.dir = h;
    args.dircount = args.maxcount = 4096;
    return ask<nfs3::Readdirplus>(args, [](const auto& r) { return there(r.READDIRPLUS3res_u.resok.dir_attributes); });
  });
  const auto both = [](const auto& r) {
    return there(r.RENAME3res_u.resok.fromdir_wcc) && there(r.RENAME3res_u.resok.todir_wcc);
  };
  in_directory("RENAME from", [&](const nfs_fh3& h) {
    return ask<nfs3::Rename>({in(h, "older"), in(other_, "moved")}, both);
  });
  in_directory("RENAME to", [&](const nfs_fh3& h) {
    return ask<nfs3::Rename>({in(other_, "moved"), in(h, "older")}, both);
  });
  in_directory("REMOVE", [&](const nfs_fh3& h) {
    return ask<nfs3::Remove>({in(h, "old")}, [](const auto& r) { return there(r.REMOVE3res_u.resok.dir_wcc); });
  });
  in_directory("RMDIR", [&](const nfs_fh3& h) {
    return ask<nfs3::Rmdir>({in(h, "folder")}, [](const auto& r) { return there(r.RMDIR3res_u.resok.dir_wcc); });
  });
}

// Requests that cannot be performed: every back end returns the same status.
TEST_P(Procedures, Refusals) {
  create(top_, "taken");
  create(mkdir(top_, "full"), "inside");
  const auto status = [](const auto& reply) { return reply->status; };
  MKDIR3args folder{};
  folder.where = in(top_, "taken");
  EXPECT_EQ(status(call<nfs3::Mkdir>(folder)), NFS3ERR_EXIST);
  CREATE3args file{};
  file.where = in(top_, "full");
  EXPECT_EQ(status(call<nfs3::Create>(file)), NFS3ERR_EXIST);
  file.where = in(top_, "taken");
  file.how.mode = GUARDED;
  EXPECT_EQ(status(call<nfs3::Create>(file)), NFS3ERR_EXIST);
  EXPECT_EQ(status(call<nfs3::Link>({kinds_["file"], in(top_, "taken")})), NFS3ERR_EXIST);
  EXPECT_EQ(status(call<nfs3::Remove>({in(top_, "absent")})), NFS3ERR_NOENT);
  EXPECT_EQ(status(call<nfs3::Remove>({in(top_, "full")})), NFS3ERR_ISDIR);
  EXPECT_EQ(status(call<nfs3::Rmdir>({in(top_, "absent")})), NFS3ERR_NOENT);
  EXPECT_EQ(status(call<nfs3::Rmdir>({in(top_, "taken")})), NFS3ERR_NOTDIR);
  EXPECT_EQ(status(call<nfs3::Rmdir>({in(top_, "full")})), NFS3ERR_NOTEMPTY);
  EXPECT_EQ(status(call<nfs3::Rename>({in(top_, "absent"), in(top_, "x")})), NFS3ERR_NOENT);
  EXPECT_EQ(status(call<nfs3::Rename>({in(top_, "other"), in(top_, "full")})), NFS3ERR_NOTEMPTY);
  EXPECT_EQ(status(call<nfs3::Rename>({in(top_, "taken"), in(top_, "other")})), NFS3ERR_ISDIR);
  EXPECT_EQ(status(call<nfs3::Rename>({in(top_, "other"), in(top_, "taken")})), NFS3ERR_NOTDIR);
  EXPECT_EQ(status(call<nfs3::Rename>({in(top_, "other"), in(other_, "below itself")})), NFS3ERR_INVAL);
  const std::string longer(256, 'n');
  EXPECT_EQ(lookup(top_, longer).status, NFS3ERR_NAMETOOLONG);
  EXPECT_EQ(status(call<nfs3::Rename>({in(top_, "taken"), in(top_, longer)})), NFS3ERR_NAMETOOLONG);
}

INSTANTIATE_TEST_SUITE_P(Backends, Procedures, ::testing::Values("memory", "disk"),
                         [](const auto& test) { return std::string(test.param); });

}  // namespace
}  // namespace rpcrdma::nfsd

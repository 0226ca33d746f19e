// SPDX-License-Identifier: BSD-3-Clause
#pragma once
// NFSv3 and MOUNTv3 on the files in memory. Results are correct, except where a case changes them.
#include "results.hpp"
#include "rpcrdma/conform/codec/rpc.hpp"

namespace rpcrdma::conform::client {

/// The data of a READ or the path of a READLINK, which may travel in a Write chunk.
struct Item {
  /// The offset of the first byte of the item from the start of the results. The word before this byte is the length.
  std::size_t position = 0;
  std::size_t size = 0;
};

struct Answer {
  std::uint32_t accept = kSuccess;
  Bytes results{};
  std::optional<Item> item{};
};

class Service {
 public:
  explicit Service(std::string export_path) : export_path_(std::move(export_path)) {}
  Export& files() noexcept { return files_; }
  const Export& files() const noexcept { return files_; }
  Hooks& hooks() noexcept { return hooks_; }
  const Hooks& hooks() const noexcept { return hooks_; }
  /// Never throws: arguments that cannot be decoded give GARBAGE_ARGS.
  Answer serve(const RpcCall& call);

 private:
  using Method = void (Service::*)(In&, Out&);
  void null(In&, Out&) {}
  void getattr(In& in, Out& out);
  void setattr(In& in, Out& out);
  void lookup(In& in, Out& out);
  void access(In& in, Out& out);
  void readlink(In& in, Out& out);
  void read(In& in, Out& out);
  void write(In& in, Out& out);
  void create(In& in, Out& out);
  void mkdir(In& in, Out& out);
  void symlink(In& in, Out& out);
  void mknod(In& in, Out& out);
  void remove(In& in, Out& out);
  void rmdir(In& in, Out& out) { remove(in, out); }
  void rename(In& in, Out& out);
  void link(In& in, Out& out);
  void readdir(In& in, Out& out) { list(in, out, false); }
  void readdirplus(In& in, Out& out) { list(in, out, true); }
  void fsstat(In& in, Out& out);
  void fsinfo(In& in, Out& out);
  void pathconf(In& in, Out& out);
  void commit(In& in, Out& out);
  void mnt(In& in, Out& out);
  void mount_export(In& in, Out& out);
  void mount_dump(In&, Out& out) { out.u32(0); }

  Node* object(In& in);
  FileAttributes attributes_of(const Node& node);
  void post_op(Out& out, const Node* node);
  void wcc(Out& out, const Node* node) { post_op(out.u32(0), node); }
  void made(Out& out, Node* node, const Node& directory);
  Node* make_in(In& in, Out& out, Node*& directory, std::uint32_t type);
  void set_attributes(In& in, Node& node);
  void list(In& in, Out& out, bool plus);
  Listing page_of(const Node& directory, std::uint64_t cookie, std::uint64_t room, bool plus);
  Answer finish(const RpcCall& call, Method method);

  std::string export_path_;
  Export files_;
  Hooks hooks_;
  std::optional<Item> item_;
};

}  // namespace rpcrdma::conform::client

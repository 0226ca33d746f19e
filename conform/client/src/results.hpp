// SPDX-License-Identifier: BSD-3-Clause
#pragma once
// Results of NFSv3 and MOUNTv3 as the tester's server makes them, in pieces that a case can change before they are
// encoded.
#include <functional>

#include "export.hpp"

namespace rpcrdma::conform::client {

struct FileAttributes {
  std::uint32_t type = 0, mode = 0, links = 1, uid = 0, gid = 0;
  std::uint64_t size = 0, used = 0, fsid = 7, fileid = 0;
  Time atime{}, mtime{}, ctime{};
};

struct Entry {
  std::uint64_t fileid = 0;
  std::string name;
  std::uint64_t cookie = 0;
  nfs::Handle handle{};
  std::optional<FileAttributes> attributes{};
};

/// A page of READDIR or READDIRPLUS.
struct Listing {
  std::uint64_t directory = 0;  ///< id of the directory
  std::uint64_t cookie = 0;     ///< the client asks for the entries after this cookie
  std::vector<Entry> entries{};
  bool eof = true;
  std::uint64_t verifier = 1;
};

struct ReadResult {
  std::uint32_t asked = 0;
  std::uint64_t offset = 0;
  std::uint32_t count = 0;
  bool eof = false;
  Bytes data{};
};

struct WriteResult {
  std::uint32_t asked = 0;
  std::uint32_t count = 0, committed = 0;
  std::uint64_t verifier = 0;
};

struct Fsinfo {
  std::uint32_t rtmax = 65536, rtpref = 65536, rtmult = 4096, wtmax = 65536, wtpref = 65536, wtmult = 4096,
                dtpref = 65536;
  std::uint64_t longest_file = std::uint64_t{1} << 40;
};

/// Calls the function that a case has set, if any. used() tells whether a function set by operator= was called.
template <class Signature>
class Hook;
template <class... Arguments>
class Hook<void(Arguments...)> {
 public:
  Hook& operator=(std::function<void(Arguments...)> function) {
    function_ = std::move(function);
    counts_ = true;
    return *this;
  }
  /// Sets the function like operator=, but used() remains false when the hook calls this function.
  void prepare(std::function<void(Arguments...)> function) {
    function_ = std::move(function);
    counts_ = false;
  }
  void operator()(Arguments... arguments) {
    reached_ = true;
    if (!function_) return;
    used_ = counts_;
    function_(arguments...);
  }
  bool used() const noexcept { return used_; }
  /// True if the hook has been called, whether or not a function was set.
  bool reached() const noexcept { return reached_; }
  bool is_set() const noexcept { return function_ != nullptr; }

 private:
  std::function<void(Arguments...)> function_;
  bool used_ = false, counts_ = true, reached_ = false;
};

/// The hooks of a case. Each function may change the results before they are encoded.
struct Hooks {
  Hook<void(FileAttributes&)> attributes;
  Hook<void(bool& present)> optional_attributes;
  Hook<void(Listing&)> listing;
  Hook<void(ReadResult&)> read;
  Hook<void(WriteResult&)> write;
  Hook<void(std::uint64_t& verifier)> commit;
  Hook<void(std::string& target)> readlink;
  Hook<void(nfs::Handle&)> handle;  ///< the handle in results of LOOKUP, CREATE, MKDIR, SYMLINK
  Hook<void(Fsinfo&)> fsinfo;
  Hook<void(std::uint32_t& status, nfs::Handle& root, std::vector<std::uint32_t>& flavors)> mount;
  /// Called before each NFS procedure except NULL. If the function returns a status other than 0, the procedure is not
  /// executed, and the reply has that status.
  std::function<std::uint32_t(std::uint32_t procedure)> status;
  bool status_used = false;

  bool used() const noexcept {
    return status_used || any_of([](const auto& hook) { return hook.used(); });
  }
  /// Compares the hooks of a case with `other`, the hooks of a run without a fault. Returns true if at least one hook
  /// is set here and was reached in `other`. The case can then take effect in its own run. `status` is not considered.
  bool reached_in(const Hooks& other) const noexcept {
    const auto both = [](const auto& mine, const auto& its) { return mine.is_set() && its.reached(); };
    return both(attributes, other.attributes) || both(optional_attributes, other.optional_attributes) ||
           both(listing, other.listing) || both(read, other.read) || both(write, other.write) ||
           both(commit, other.commit) || both(readlink, other.readlink) || both(handle, other.handle) ||
           both(fsinfo, other.fsinfo) || both(mount, other.mount);
  }

 private:
  template <class Test>
  bool any_of(Test test) const noexcept {
    return test(attributes) || test(optional_attributes) || test(listing) || test(read) || test(write) ||
           test(commit) || test(readlink) || test(handle) || test(fsinfo) || test(mount);
  }
};

void encode(Out& out, const FileAttributes& attributes);
void encode(Out& out, const Entry& entry, bool plus);

}  // namespace rpcrdma::conform::client

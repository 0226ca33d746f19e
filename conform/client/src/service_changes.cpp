// SPDX-License-Identifier: BSD-3-Clause
// The procedures that change files, and the listings.
#include <algorithm>

#include "service.hpp"

namespace rpcrdma::conform::client {
namespace {

constexpr std::size_t kLongestName = 255, kLongestTarget = 4096, kLongestData = 1u << 20;
constexpr std::uint32_t kFbig = 27, kNospc = 28, kNotsupp = 10004;
constexpr std::uint64_t kWriteVerifier = 0x636f6e666f726d;
constexpr std::size_t kEntrySize = 24;              // bytes of a READDIR entry without its name
constexpr std::size_t kPlusSize = 88 + 4 + 4 + 16;  // bytes that READDIRPLUS adds to an entry

/// sattr3
struct Settings {
  std::optional<std::uint32_t> mode;
  std::optional<std::uint64_t> size;
  std::optional<Time> mtime;
};

Settings settings(In& in) {
  Settings out;
  if (in.boolean()) out.mode = in.u32();
  for (int ids = 0; ids < 2; ++ids)
    if (in.boolean()) in.u32();
  if (in.boolean()) out.size = in.u64();
  if (in.u32() == 2) in.u64();  // atime
  if (in.u32() == 2) {
    out.mtime.emplace();
    out.mtime->seconds = in.u32();
    out.mtime->nanoseconds = in.u32();
  }
  return out;
}

}  // namespace

void Service::set_attributes(In& in, Node& node) {
  const Settings wanted = settings(in);
  if (wanted.mode) node.mode = *wanted.mode & 07777;
  if (wanted.size && node.type == nfs::kRegular) files_.resize(node, *wanted.size);
  if (wanted.mtime) node.mtime = *wanted.mtime;
}

void Service::setattr(In& in, Out& out) {
  Node* const node = object(in);
  if (node) set_attributes(in, *node);
  wcc(out.u32(node ? nfs::kOk : nfs::kStale), node);
}

void Service::write(In& in, Out& out) {
  Node* const node = object(in);
  const std::uint64_t offset = in.u64();
  WriteResult result;
  result.asked = result.count = in.u32();
  result.committed = in.u32();
  result.verifier = kWriteVerifier;
  const View data = in.opaque(kLongestData);
  const bool good = node && node->type == nfs::kRegular;
  if (!good) return wcc(out.u32(node ? nfs::kIsdir : nfs::kStale), node);
  if (offset > Export::kLongestFile ||
      !files_.resize(*node, std::max<std::uint64_t>(node->data.size(), offset + data.size())))
    return wcc(out.u32(kFbig), node);
  hooks_.write(result);
  const std::size_t kept = std::min<std::size_t>(result.count, data.size());
  std::ranges::copy(data.first(kept), node->data.begin() + static_cast<std::ptrdiff_t>(offset));
  wcc(out.u32(nfs::kOk), node);
  out.u32(result.count).u32(result.committed).u64(result.verifier);
}

void Service::commit(In& in, Out& out) {
  const Node* const node = object(in);
  wcc(out.u32(node ? nfs::kOk : nfs::kStale), node);
  std::uint64_t verifier = kWriteVerifier;
  hooks_.commit(verifier);
  if (node) out.u64(verifier);
}

/// Decodes diropargs3 and makes the object. If it cannot be made, writes the failed results and returns null.
Node* Service::make_in(In& in, Out& out, Node*& directory, std::uint32_t type) {
  directory = object(in);
  const std::string name = in.text(kLongestName);
  std::uint32_t status = nfs::kOk;
  if (!directory)
    status = nfs::kStale;
  else if (directory->type != nfs::kDirectory)
    status = nfs::kNotdir;
  else if (name.empty() || files_.child(*directory, name))
    status = nfs::kExist;
  Node* const node = status == nfs::kOk ? files_.make(*directory, name, type) : nullptr;
  if (!node) wcc(out.u32(status == nfs::kOk ? kNospc : status), directory);
  return node;
}

void Service::made(Out& out, Node* node, const Node& directory) {
  nfs::Handle handle = Export::handle_of(node->id);
  hooks_.handle(handle);
  out.u32(nfs::kOk).u32(1).opaque(handle);
  post_op(out, node);
  wcc(out, &directory);
}

void Service::create(In& in, Out& out) {
  In names = in;
  Node* directory = object(names);
  const std::string name = names.text(kLongestName);
  const std::uint32_t how = names.u32();
  Node* node = directory ? files_.child(*directory, name) : nullptr;
  if (node && how != 0) return wcc(out.u32(nfs::kExist), directory);  // 0: UNCHECKED, 1: GUARDED, 2: EXCLUSIVE
  if (!node) node = make_in(in, out, directory, nfs::kRegular);
  if (!node) return;
  if (how != 2) set_attributes(names, *node);
  made(out, node, *directory);
}

void Service::mkdir(In& in, Out& out) {
  Node* directory = nullptr;
  Node* const node = make_in(in, out, directory, nfs::kDirectory);
  if (!node) return;
  set_attributes(in, *node);
  made(out, node, *directory);
}

void Service::symlink(In& in, Out& out) {
  Node* directory = nullptr;
  Node* const node = make_in(in, out, directory, nfs::kSymbolicLink);
  if (!node) return;
  set_attributes(in, *node);
  node->target = in.text(kLongestTarget);
  made(out, node, *directory);
}

void Service::mknod(In& in, Out& out) { wcc(out.u32(kNotsupp), object(in)); }

/// REMOVE and RMDIR.
void Service::remove(In& in, Out& out) {
  Node* const directory = object(in);
  const std::string name = in.text(kLongestName);
  if (!directory) return wcc(out.u32(nfs::kStale), directory);
  const auto entry = directory->entries.find(name);
  if (entry == directory->entries.end()) return wcc(out.u32(nfs::kNoent), directory);
  const Node* const node = files_.find(entry->second);
  if (node && !node->entries.empty()) return wcc(out.u32(nfs::kNotempty), directory);
  files_.remove(*directory, name);
  wcc(out.u32(nfs::kOk), directory);
}

void Service::rename(In& in, Out& out) {
  Node* const from = object(in);
  const std::string old_name = in.text(kLongestName);
  Node* const to = object(in);
  const std::string new_name = in.text(kLongestName);
  std::uint32_t status = from && to ? nfs::kOk : nfs::kStale;
  if (status == nfs::kOk) {
    const auto entry = from->entries.find(old_name);
    if (entry == from->entries.end() || to->type != nfs::kDirectory) {
      status = nfs::kNoent;
    } else if (const std::uint64_t id = entry->second; from != to || old_name != new_name) {
      Node* const moved = files_.find(id);
      const auto old = to->entries.find(new_name);
      const Node* const replaced = old == to->entries.end() ? nullptr : files_.find(old->second);
      if (replaced && (replaced->type == nfs::kDirectory) != (moved->type == nfs::kDirectory)) {
        status = nfs::kExist;
      } else if (replaced && !replaced->entries.empty()) {
        status = nfs::kNotempty;
      } else {
        files_.remove(*to, new_name);
        to->entries[new_name] = id;
        from->entries.erase(old_name);
        moved->parent = to->id;
      }
    }
  }
  wcc(out.u32(status), from);
  wcc(out, to);
}

/// LINK. Refuses a directory: a directory within itself would have no end.
void Service::link(In& in, Out& out) {
  const Node* const node = object(in);
  Node* const directory = object(in);
  const std::string name = in.text(kLongestName);
  const bool good = node && node->type != nfs::kDirectory && directory && directory->type == nfs::kDirectory &&
                    !directory->entries.contains(name);
  if (good) directory->entries[name] = node->id;
  post_op(out.u32(good ? nfs::kOk : nfs::kExist), node);
  wcc(out, directory);
}

/// The cookie of an entry is its position in the listing, from 1: "." has 1, ".." has 2.
Listing Service::page_of(const Node& directory, std::uint64_t cookie, std::uint64_t room, bool plus) {
  Listing out{.directory = directory.id, .cookie = cookie};
  std::uint64_t position = 0;
  const auto add = [&](const std::string& name, std::uint64_t id) {
    if (position++ < cookie || !out.eof) return;
    const std::size_t size = kEntrySize + padded(name.size()) + (plus ? kPlusSize : 0);
    if (size > room) {
      out.eof = false;
      return;
    }
    room -= size;
    const Node& node = *files_.find(id);
    out.entries.push_back({id, name, position, Export::handle_of(id), attributes_of(node)});
  };
  add(".", directory.id);
  add("..", directory.parent);
  for (const auto& [name, id] : directory.entries) add(name, id);
  return out;
}

void Service::list(In& in, Out& out, bool plus) {
  const Node* const directory = object(in);
  const std::uint64_t cookie = in.u64();
  in.u64();            // verifier
  if (plus) in.u32();  // dircount
  const std::uint32_t room = in.u32();
  const bool good = directory && directory->type == nfs::kDirectory;
  post_op(out.u32(good ? nfs::kOk : directory ? nfs::kNotdir : nfs::kStale), directory);
  if (!good) return;
  // Sizes in bytes. kHead is subtracted for the parts of the results other than the entries. kMost limits the results,
  // even if the client accepts more.
  constexpr std::uint32_t kHead = 128, kMost = 16384;
  Listing page = page_of(*directory, cookie, std::min(room, kMost) - std::min(room, kHead), plus);
  hooks_.listing(page);
  out.u64(page.verifier);
  for (Entry& entry : page.entries) {
    bool present = true;
    hooks_.optional_attributes(present);
    if (!present) entry.attributes.reset();
    encode(out, entry, plus);
  }
  out.u32(0).u32(page.eof ? 1 : 0);
}

}  // namespace rpcrdma::conform::client

// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "rpcrdma/base/fd.hpp"
#include "rpcrdma/base/log.hpp"

namespace rpcrdma::nfsd {

/// What tells the objects of one export apart, while they live. An inode number alone does not: an overlay whose layers
/// lie on different file systems counts directories by itself, and shows other objects with their layer's number and a
/// device of that layer's; each btrfs subvolume counts from the same number, too.
struct ObjectId {
  std::uint64_t number = 0;
  std::uint64_t device = 0;  ///< 0: that of the exported directory, which may be another after a restart
  friend bool operator==(const ObjectId&, const ObjectId&) = default;
};
struct ObjectIdHash {
  std::size_t operator()(const ObjectId& id) const noexcept {
    return std::hash<std::uint64_t>{}(id.number ^ id.device * 0x9e3779b97f4a7c15u);
  }
};

/// Remembers where objects were last seen: its number -> directory and name, and the other names of what has several.
/// Bounded; kept in an appended file so that it survives a restart (a torn last record is ignored). Not synchronized.
class HintStore {
 public:
  static constexpr std::size_t kMaxPlaces = 8;  ///< of one object

  struct Place {
    ObjectId parent;
    std::string name;
    friend bool operator==(const Place&, const Place&) = default;
  };
  struct Hint {
    Place place;
    std::vector<Place> others;  ///< where else it has been seen, the latest last
    bool directory = false;
    std::optional<std::uint64_t> birth;  ///< of a directory, when this process saw it first
  };

  /// What an object is known by now that had this birth time under an older id: an overlay shows it anew.
  struct Successor {
    std::uint64_t birth = 0;
    ObjectId id;
    std::uint64_t birth_now = 0;
  };

  /// An empty `file` keeps everything in memory. So does one that cannot be written (its disk is full, say), until it
  /// can: the log says so.
  HintStore(std::filesystem::path file, std::size_t max_hints, Log log = {});
  /// Tries a last time, if it must.
  ~HintStore();
  HintStore(const HintStore&) = delete;
  HintStore& operator=(const HintStore&) = delete;
  /// Now and then: writes the file if that failed before; the next time, two later, four, and so on up to 64.
  void tidy();

  const Hint* find(const ObjectId& id) const;
  /// The one place of an object. Full: a hint of something that is not a directory goes, so that paths below stay
  /// known.
  void set(const ObjectId& id, const Place& place, bool directory);
  /// A directory has been seen with this birth time.
  void born(const ObjectId& id, std::uint64_t birth);
  /// One of `names` places of something that is no directory; those seen longest ago go when there are more.
  void add(const ObjectId& id, const Place& place, std::size_t names);
  /// It is not there any more. The last place stays: another name may be in the same directory.
  void drop(const ObjectId& id, const Place& place);
  void erase(const ObjectId& id);
  /// What is known of now by another id or birth time takes the place of what was; the hint of another id goes.
  void succeed(const ObjectId& id, const Successor& successor);
  /// From an id and birth time to those by which the object is known now.
  void follow(ObjectId& id, std::uint64_t& birth);
  /// Follows successors of other ids, whatever the birth time. An object that is seen under its old id once more
  /// (set()) has none.
  ObjectId renumbered(const ObjectId& id);
  std::size_t size() const noexcept { return hints_.size(); }

 private:
  void load();
  void rewrite();
  bool write_all(int fd);
  enum class What : std::uint8_t;
  static std::size_t encode(std::span<std::byte> out, What what, const ObjectId& id, const Place& place);
  static bool knows(const Hint& hint, const Place& place);
  static void put_in(Hint& hint, const Place& place, std::size_t names);
  static bool take_out(Hint& hint, const Place& place);
  void replay(What what, const ObjectId& id, const Place& place);
  void append(What what, const ObjectId& id, const Place& place);
  void make_room();
  void put_successor(const ObjectId& id, const Successor& successor);
  template <class Matches>
  Successor* successor(const ObjectId& id, Matches matches);
  bool take_back(const ObjectId& id);

  std::filesystem::path file_;
  std::size_t max_hints_;
  std::unordered_map<ObjectId, Hint, ObjectIdHash> hints_;
  using Successors = std::unordered_multimap<ObjectId, Successor, ObjectIdHash>;
  Successors successors_;
  Log log_;
  Fd records_file_;
  std::size_t records_ = 0;    // in the file
  std::size_t rewritten_ = 0;  // of them, when it was written anew
  unsigned failures_ = 0;      // to do that, since it was done
  unsigned pause_ = 0;         // calls of tidy() before the next try
};

}  // namespace rpcrdma::nfsd

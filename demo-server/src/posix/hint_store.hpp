// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "posix/fd.hpp"

namespace rpcrdma::nfsd {

/// Remembers where objects were last seen: inode number -> directory and name, and the other names of what has several.
/// Bounded; kept in an appended file so that it survives a restart (a torn last record is ignored). Not synchronized.
class HintStore {
 public:
  static constexpr std::size_t kMaxPlaces = 8;  ///< of one object

  struct Place {
    std::uint64_t parent = 0;
    std::string name;
    friend bool operator==(const Place&, const Place&) = default;
  };
  struct Hint {
    Place place;
    std::vector<Place> others;  ///< where else it has been seen, the latest last
    bool directory = false;
  };

  /// An empty `file` keeps everything in memory.
  HintStore(std::filesystem::path file, std::size_t max_hints);

  const Hint* find(std::uint64_t number) const;
  /// The one place of an object. Full: a hint of something that is not a directory goes, so that paths below stay
  /// known.
  void set(std::uint64_t number, const Place& place, bool directory);
  /// One of `names` places of something that is no directory; those seen longest ago go when there are more.
  void add(std::uint64_t number, const Place& place, std::size_t names);
  /// It is not there any more. The last place stays: another name may be in the same directory.
  void drop(std::uint64_t number, const Place& place);
  void erase(std::uint64_t number);
  std::size_t size() const noexcept { return hints_.size(); }

 private:
  void load();
  void rewrite();
  enum class What : std::uint8_t;
  static std::size_t encode(std::span<std::byte> out, What what, std::uint64_t number, const Place& place);
  static bool knows(const Hint& hint, const Place& place);
  static void put_in(Hint& hint, const Place& place, std::size_t names);
  static bool take_out(Hint& hint, const Place& place);
  void replay(What what, std::uint64_t number, const Place& place);
  void append(What what, std::uint64_t number, const Place& place);
  void make_room();

  std::filesystem::path file_;
  std::size_t max_hints_;
  std::unordered_map<std::uint64_t, Hint> hints_;
  Fd log_;
  std::size_t records_ = 0;
};

}  // namespace rpcrdma::nfsd

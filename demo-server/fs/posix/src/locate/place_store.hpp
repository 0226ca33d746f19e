// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "object_id.hpp"
#include "rpcrdma/base/log.hpp"

namespace rpcrdma::nfsd {

/// Remembers where objects were last seen. A place is a directory and a name. An object with several names may have
/// several places. A place is a hint, which the caller must verify. The number of objects is bounded. A PlaceStore may
/// be used by one thread at a time.
///
/// The places are stored in an LMDB file, so that they survive a restart of the server. Changes are not written to the
/// disk at once, so a crash of the machine may leave an open file inconsistent. The next store that opens the file
/// detects this by the boot id in the file, and renames the file as it does with a damaged file.
///
/// If there is no usable file, or a write fails, the store logs the reason and keeps the places in memory. If another
/// store uses the file, this store keeps the places in memory until tidy() finds the file free.
class PlaceStore {
 public:
  static constexpr std::size_t kMaxPlaces = 8;  ///< the most places of one object

  struct Place {
    ObjectId parent;
    std::string name;
    friend bool operator==(const Place&, const Place&) = default;
  };
  struct Entry {
    bool directory = false;
    std::uint64_t birth = 0;    ///< the birth time in the file handles of the object, kept when `shown` changes
    std::uint64_t shown = 0;    ///< the current birth time, which an overlay changes when it copies the object up
    std::vector<Place> places;  ///< in the order in which they were added
    friend bool operator==(const Entry&, const Entry&) = default;
  };

  /// Opens the LMDB file `file`, which is made if it does not exist. If `file` is empty, the store keeps the places in
  /// memory. `max_entries` is the maximum number of objects. It thereby also limits the size of the file.
  PlaceStore(std::filesystem::path file, std::size_t max_entries, Log log = {});
  ~PlaceStore();
  PlaceStore(const PlaceStore&) = delete;
  PlaceStore& operator=(const PlaceStore&) = delete;

  std::optional<Entry> find(const ObjectId& id) const;
  /// Adds or replaces an entry. A full store first evicts another entry, preferably of an object that is not a
  /// directory, so that paths through directories stay known.
  void put(const ObjectId& id, const Entry& entry);
  void erase(const ObjectId& id);
  /// If this store is in memory because another store uses the file, tries to open the file again. Call it every few
  /// seconds.
  void tidy();

 private:
  class Database;

  void take_file();
  void set_aside(const char* why);
  void warn_of_memory(const char* why) const;
  void continue_in_memory();
  template <class Change>
  void change(Change change);

  std::filesystem::path file_;
  std::size_t max_entries_;
  Log log_;
  bool awaits_file_ = false;
  std::unique_ptr<Database> database_;  // null only if not even a database in memory can be opened
};

}  // namespace rpcrdma::nfsd

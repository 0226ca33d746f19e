// SPDX-License-Identifier: BSD-3-Clause
#include "place_store.hpp"

#include <fcntl.h>
#include <lmdb.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <boost/system/result.hpp>
#include <cerrno>
#include <fstream>
#include <string_view>
#include <utility>

#include "rpcrdma/base/cursor.hpp"
#include "rpcrdma/base/fd.hpp"
#include "system.hpp"

namespace rpcrdma::nfsd {
namespace {

constexpr std::size_t kDatabaseKeySize = 16;  // bytes: number 8, device 8
constexpr std::size_t kEntryHead = 18;        // bytes: Entry::directory 1, birth 8, shown 8, number of places 1
constexpr std::size_t kPlaceHead = 17;        // bytes: number 8, device 8, length of the name 1
constexpr std::size_t kMaxEntry = kEntryHead + PlaceStore::kMaxPlaces * (kPlaceHead + 255);
constexpr std::size_t kSmallestMap = std::size_t{16} << 20;
constexpr std::size_t kMapPerEntry = 1024;
constexpr int kEvictionTries = 64;  // the most entries that evict() examines to find one that is not a directory
// The key of the record that holds the state of the file. It cannot be the key of an entry, because those have another
// length. The value of the record is "1" if the file was closed properly. While a store has the file open, the value is
// "1" followed by the boot id of the machine.
constexpr std::string_view kState = "state";
constexpr std::string_view kClosed = "1";
constexpr int kNotClosed = EUCLEAN;

/// An error code of LMDB, or an errno value; 0: no failure.
struct Failure {
  int code = 0;
  const char* text() const noexcept {
    switch (code) {
      case kNotClosed: return "the machine stopped while the file was open";
      case EWOULDBLOCK: return "in use by another server, or by calls on a replaced export";
      default: return mdb_strerror(code);
    }
  }
  bool is_damage() const noexcept {
    return code == kNotClosed || code == MDB_INVALID || code == MDB_CORRUPTED || code == MDB_PAGE_NOTFOUND ||
           code == MDB_VERSION_MISMATCH || code == MDB_PANIC;
  }
};

MDB_val value_of(std::string_view text) noexcept {
  return {text.size(), const_cast<char*>(text.data())};  // NOLINT(cppcoreguidelines-pro-type-const-cast)
}

std::string_view text_of(const MDB_val& value) noexcept {
  return {static_cast<const char*>(value.mv_data), value.mv_size};
}

std::array<std::byte, kDatabaseKeySize> key_of(const ObjectId& id) noexcept {
  std::array<std::byte, kDatabaseKeySize> key{};
  Writer writer(key);
  writer.u64(id.number);
  writer.u64(id.device);
  return key;
}

std::size_t encode(const PlaceStore::Entry& entry, std::span<std::byte> out) {
  Writer writer(out);
  writer.u8(entry.directory ? 1 : 0);
  writer.u64(entry.birth);
  writer.u64(entry.shown);
  writer.u8(static_cast<std::uint8_t>(entry.places.size()));
  for (const PlaceStore::Place& place : entry.places) {
    writer.u64(place.parent.number);
    writer.u64(place.parent.device);
    writer.u8(static_cast<std::uint8_t>(place.name.size()));
    writer.octets(std::as_bytes(std::span(place.name)));
  }
  return writer.size();
}

std::optional<PlaceStore::Entry> decode(const MDB_val& value) {
  Reader reader({static_cast<const std::byte*>(value.mv_data), value.mv_size});
  PlaceStore::Entry entry;
  entry.directory = reader.u8() != 0;
  entry.birth = reader.u64();
  entry.shown = reader.u64();
  for (std::size_t left = reader.u8(); left != 0 && reader.ok(); --left) {
    PlaceStore::Place place;
    place.parent = {reader.u64(), reader.u64()};
    const auto name = reader.octets(reader.u8());
    place.name.assign(reinterpret_cast<const char*>(name.data()), name.size());
    entry.places.push_back(std::move(place));
  }
  return reader.ok() ? std::optional(std::move(entry)) : std::nullopt;
}

bool is_directory(const MDB_val& value) noexcept {
  return value.mv_size != 0 && *static_cast<const char*>(value.mv_data) != 0;
}

/// Identifies the current boot of the machine.
std::string boot_id() {
  std::ifstream file("/proc/sys/kernel/random/boot_id");
  std::string id;
  std::getline(file, id);
  return id;
}

/// A transaction; the destructor aborts it unless it has been committed.
class Transaction {
 public:
  Transaction(MDB_env* environment, unsigned flags) noexcept {
    failure_ = mdb_txn_begin(environment, nullptr, flags, &transaction_);
  }
  ~Transaction() {
    if (transaction_ != nullptr) mdb_txn_abort(transaction_);
  }
  Transaction(const Transaction&) = delete;
  Transaction& operator=(const Transaction&) = delete;

  int failure() const noexcept { return failure_; }
  MDB_txn* get() const noexcept { return transaction_; }
  int commit() noexcept { return mdb_txn_commit(std::exchange(transaction_, nullptr)); }

 private:
  int failure_ = 0;
  MDB_txn* transaction_ = nullptr;
};

}  // namespace

/// An LMDB environment, in a file or in memory. LMDB's own locking is off, so the owner must not use this object on two
/// threads at the same time. Each method ends the transactions that it begins.
class PlaceStore::Database {
 public:
  using Opened = boost::system::result<std::unique_ptr<Database>, Failure>;

  static Opened in_file(const std::filesystem::path& path, std::size_t max_entries) {
    Fd file(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
    if (!file) return Failure{errno};
    // Fails if the file is in use by another server, or by a call in progress on a replaced export of this server.
    if (::flock(file.get(), LOCK_EX | LOCK_NB) != 0) return Failure{errno};
    return open(std::move(file), max_entries, true);
  }

  /// Opens a database in memory, with the content of `source` if that is given and can be read.
  static Opened in_memory(std::size_t max_entries, const Database* source) {
    Fd file(::memfd_create("places", MFD_CLOEXEC));
    if (!file) return Failure{errno};
    if (source != nullptr && mdb_env_copyfd(source->environment_, file.get()) != 0 && ::ftruncate(file.get(), 0) != 0)
      return Failure{errno};
    return open(std::move(file), max_entries, false);
  }

  ~Database() {
    if (environment_ == nullptr) return;
    if (in_use_) set_state(kClosed);
    mdb_env_close(environment_);
  }
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;

  bool is_file() const noexcept { return is_file_; }

  std::optional<Entry> find(const ObjectId& id) const {
    const Transaction transaction(environment_, MDB_RDONLY);
    auto key = nfsd::key_of(id);
    MDB_val name{key.size(), key.data()};
    MDB_val value{};
    if (transaction.failure() != 0 || mdb_get(transaction.get(), table_, &name, &value) != 0) return std::nullopt;
    return decode(value);
  }

  int put(const ObjectId& id, const Entry& entry) {
    auto key = nfsd::key_of(id);
    std::array<std::byte, kMaxEntry> bytes{};
    return write([&](MDB_txn* transaction) {
      return put(transaction, {key.size(), key.data()}, {encode(entry, bytes), bytes.data()});
    });
  }

  int erase(const ObjectId& id) {
    auto key = nfsd::key_of(id);
    return write([&](MDB_txn* transaction) {
      MDB_val name{key.size(), key.data()};
      const int failure = mdb_del(transaction, table_, &name, nullptr);
      return failure == MDB_NOTFOUND ? 0 : failure;
    });
  }

  /// Adds the entries of `source` to this database.
  int add(const Database& source) {
    const Transaction from(source.environment_, MDB_RDONLY);
    if (from.failure() != 0) return from.failure();
    MDB_cursor* cursor = nullptr;
    if (const int failure = mdb_cursor_open(from.get(), source.table_, &cursor); failure != 0) return failure;
    const std::unique_ptr<MDB_cursor, decltype(&mdb_cursor_close)> owner(cursor, &mdb_cursor_close);
    return write([&](MDB_txn* transaction) {
      MDB_val name{};
      MDB_val value{};
      int failure = mdb_cursor_get(cursor, &name, &value, MDB_FIRST);
      for (; failure == 0; failure = mdb_cursor_get(cursor, &name, &value, MDB_NEXT)) {
        if (name.mv_size != kDatabaseKeySize) continue;
        if (const int failed = put(transaction, name, value); failed != 0) return failed;
      }
      return failure == MDB_NOTFOUND ? 0 : failure;
    });
  }

  /// To be called if the file is damaged. The destructor then does not mark the file as closed.
  void abandon() noexcept { in_use_ = false; }

 private:
  Database(Fd file, std::size_t max_entries, bool is_file)
      : file_(std::move(file)),
        is_file_(is_file),
        max_entries_(max_entries),
        map_size_(std::max(kSmallestMap, max_entries * kMapPerEntry)) {}

  static Opened open(Fd file, std::size_t max_entries, bool is_file) {
    std::unique_ptr<Database> database(new Database(std::move(file), max_entries, is_file));
    if (const int failure = database->start(); failure != 0) return Failure{failure};
    return database;
  }

  int start() {
    if (const int failure = mdb_env_create(&environment_); failure != 0) return failure;
    mdb_env_set_mapsize(environment_, map_size_);
    const unsigned flags = MDB_NOSUBDIR | MDB_NOLOCK | MDB_NOTLS | (is_file_ ? 0 : MDB_NOSYNC);
    const std::string path = "/proc/self/fd/" + std::to_string(file_.get());
    if (const int failure = mdb_env_open(environment_, path.c_str(), flags, 0600); failure != 0) return failure;
    if (missing_end() > 0) return MDB_CORRUPTED;
    if (const int failure = write([&](MDB_txn* transaction) { return check_state(transaction); }); failure != 0)
      return failure;
    // Marks the file as valid only until the host restarts, because later changes are not synchronized to the disk. The
    // mark itself must reach the disk before these changes, and set_state() synchronizes it.
    const std::string id = boot_id();
    if (const int failure = set_state(std::string(kClosed) + (id.empty() ? "unknown" : id)); failure != 0)
      return failure;
    in_use_ = is_file_;
    return mdb_env_set_flags(environment_, MDB_NOSYNC, 1);
  }

  /// Returns the number of bytes that the file lacks to contain every page up to the last one that LMDB has allocated.
  /// The result is not positive if no bytes are missing. Memory beyond the end of the file must not be accessed. The
  /// file can be too short because LMDB does not write a page that it allocates and frees in one transaction. write()
  /// therefore extends the file.
  off_t missing_end() const noexcept {
    MDB_envinfo info{};
    MDB_stat pages{};
    struct stat s {};
    mdb_env_info(environment_, &info);
    mdb_env_stat(environment_, &pages);
    if (::fstat(file_.get(), &s) != 0) return 0;
    return static_cast<off_t>((info.me_last_pgno + 1) * pages.ms_psize) - s.st_size;
  }

  template <class Change>
  int write(Change change) {
    Transaction transaction(environment_, 0);
    if (transaction.failure() != 0) return transaction.failure();
    if (const int failure = change(transaction.get()); failure != 0) return failure;
    if (const int failure = transaction.commit(); failure != 0) return failure;
    if (const off_t missing = missing_end(); missing > 0)
      return ::posix_fallocate(file_.get(), ::lseek(file_.get(), 0, SEEK_END), missing);
    return 0;
  }

  int put(MDB_txn* transaction, MDB_val name, MDB_val value) {
    MDB_val known{};
    const bool is_new = mdb_get(transaction, table_, &name, &known) == MDB_NOTFOUND;
    if (const int failure = make_room(transaction, is_new); failure != 0) return failure;
    return mdb_put(transaction, table_, &name, &value, 0);
  }

  int check_state(MDB_txn* transaction) {
    if (const int failure = mdb_dbi_open(transaction, nullptr, 0, &table_); failure != 0) return failure;
    MDB_stat table{};
    MDB_val name = value_of(kState);
    MDB_val value{};
    mdb_stat(transaction, table_, &table);
    const int failure = mdb_get(transaction, table_, &name, &value);
    if (failure == MDB_NOTFOUND) return table.ms_entries == 0 ? 0 : MDB_INVALID;
    if (failure != 0) return failure;
    const std::string_view state = text_of(value);
    if (!state.starts_with(kClosed)) return MDB_VERSION_MISMATCH;
    const std::string here = boot_id();
    return state == kClosed || (!here.empty() && state.substr(kClosed.size()) == here) ? 0 : kNotClosed;
  }

  /// Writes the state, and synchronizes the file, so that all earlier changes are on the disk as well.
  int set_state(std::string_view state) {
    if (is_file_) mdb_env_set_flags(environment_, MDB_NOSYNC, 0);
    return write([&](MDB_txn* transaction) {
      MDB_val name = value_of(kState);
      MDB_val value = value_of(state);
      return mdb_put(transaction, table_, &name, &value, 0);
    });
  }

  /// Evicts two entries if the table fills more than half of the map: the other half is for the pages that a
  /// transaction replaces. Else evicts one if the table is full and `one_more` is set.
  int make_room(MDB_txn* transaction, bool one_more) {
    MDB_stat table{};
    if (const int failure = mdb_stat(transaction, table_, &table); failure != 0) return failure;
    const std::size_t pages = table.ms_branch_pages + table.ms_leaf_pages + table.ms_overflow_pages;
    const bool is_large = pages * table.ms_psize > map_size_ / 2;
    // ms_entries also counts the record kState, to which max_entries_ does not apply.
    const bool is_full = one_more && table.ms_entries > max_entries_;
    for (int evictions = is_large ? 2 : is_full ? 1 : 0; evictions != 0; --evictions)
      if (const int failure = evict(transaction); failure != 0) return failure;
    return 0;
  }

  /// Evicts one entry. Examines up to kEvictionTries entries, beginning after the entry that was evicted most recently
  /// (clock algorithm). Evicts the first examined entry that is not a directory. If each of them is a directory, evicts
  /// the one that was examined last.
  int evict(MDB_txn* transaction) {
    MDB_cursor* cursor = nullptr;
    if (const int failure = mdb_cursor_open(transaction, table_, &cursor); failure != 0) return failure;
    const std::unique_ptr<MDB_cursor, decltype(&mdb_cursor_close)> owner(cursor, &mdb_cursor_close);
    MDB_val name{hand_.size(), hand_.data()};
    MDB_val value{};
    bool found = false;
    int failure = mdb_cursor_get(cursor, &name, &value, MDB_SET_RANGE);
    for (int i = 0; i < kEvictionTries; ++i, failure = mdb_cursor_get(cursor, &name, &value, MDB_NEXT)) {
      if (failure == MDB_NOTFOUND) failure = mdb_cursor_get(cursor, &name, &value, MDB_FIRST);
      if (failure != 0) return failure;
      if (name.mv_size != kDatabaseKeySize) continue;
      std::memcpy(hand_.data(), name.mv_data, kDatabaseKeySize);
      found = true;
      if (!is_directory(value)) break;
    }
    name = {hand_.size(), hand_.data()};
    return found ? mdb_del(transaction, table_, &name, nullptr) : 0;
  }

  Fd file_;
  const bool is_file_;
  bool in_use_ = false;  // true if the destructor must mark the file as closed
  const std::size_t max_entries_;
  const std::size_t map_size_;
  MDB_env* environment_ = nullptr;
  MDB_dbi table_ = 0;
  std::array<std::byte, kDatabaseKeySize> hand_{};
};

PlaceStore::PlaceStore(std::filesystem::path file, std::size_t max_entries, Log log)
    : file_(std::move(file)), max_entries_(max_entries), log_(std::move(log)) {
  if (!file_.empty()) take_file();
  if (database_ == nullptr) continue_in_memory();
}

PlaceStore::~PlaceStore() = default;

void PlaceStore::tidy() {
  if (awaits_file_) take_file();
}

/// Tries to open the database in the file. On success, copies the entries that are in memory so far to this database,
/// which then replaces the one in memory. A damaged file is renamed first, and a new file is made. If another
/// server or a replaced export still uses the file, tidy() tries again later.
void PlaceStore::take_file() {
  auto opened = Database::in_file(file_, max_entries_);
  if (!opened && opened.error().is_damage()) {
    set_aside(opened.error().text());
    opened = Database::in_file(file_, max_entries_);
  }
  const bool awaited = std::exchange(awaits_file_, !opened && opened.error().code == EWOULDBLOCK);
  if (awaited && awaits_file_) return;
  if (!opened) return warn_of_memory(opened.error().text());
  const Failure failure{database_ == nullptr ? 0 : (*opened)->add(*database_)};
  if (failure.code != 0) return warn_of_memory(failure.text());
  database_ = std::move(*opened);
  if (awaited)
    log_.info(
        "{}: another server or a replaced export has released it; this server now uses it to store the places "
        "(directory and name) of exported files",
        file_.string());
}

void PlaceStore::set_aside(const char* why) {
  const std::string aside = file_.string() + ".damaged";
  std::error_code ignored;
  std::filesystem::rename(file_, aside, ignored);
  log_.warn(
      "{}: {}; renaming it to {}. File handles of the export that used this file may be stale until clients look up "
      "the files again",
      file_.string(), why, aside);
}

void PlaceStore::warn_of_memory(const char* why) const {
  log_.warn(
      "{}: {}; the places (directory and name) of the export's files are kept in memory. File handles given out from "
      "now on are stale after a restart until clients look up the files again",
      file_.string(), why);
}

void PlaceStore::continue_in_memory() {
  auto opened = Database::in_memory(max_entries_, database_.get());
  if (!opened && database_ != nullptr) return;
  if (opened)
    database_ = std::move(*opened);
  else
    log_.error(
        "{}: cannot keep the places (directory and name) of files in memory: {}; only the root of the export has a "
        "valid file handle",
        file_.string(), opened.error().text());
}

template <class Change>
void PlaceStore::change(Change change) {
  if (database_ == nullptr) return;
  const Failure failure{change(*database_)};
  if (failure.code == 0 || !database_->is_file()) return;
  if (failure.is_damage()) {
    database_->abandon();
    set_aside(failure.text());
  }
  warn_of_memory(failure.text());
  continue_in_memory();
  change(*database_);
}

std::optional<PlaceStore::Entry> PlaceStore::find(const ObjectId& id) const {
  return database_ == nullptr ? std::nullopt : database_->find(id);
}

void PlaceStore::put(const ObjectId& id, const Entry& entry) {
  change([&](Database& database) { return database.put(id, entry); });
}

void PlaceStore::erase(const ObjectId& id) {
  change([&](Database& database) { return database.erase(id); });
}

}  // namespace rpcrdma::nfsd

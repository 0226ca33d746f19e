// SPDX-License-Identifier: BSD-3-Clause
#include "hint_store.hpp"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <vector>

#include "rpcrdma/base/cursor.hpp"

namespace rpcrdma::nfsd {
namespace {

// A record: what 1, number 8, parent's number 8, name length 2; if one of the two is on a device of its own, both
// devices, 8 each; name.
constexpr std::size_t kHead = 19;
constexpr std::size_t kDevices = 16;
constexpr std::size_t kMaxRecord = kHead + kDevices + 255;
constexpr std::uint8_t kWithDevices = 0x80;
constexpr std::size_t kAtOnce = 65536;
constexpr unsigned kMostDoublings = 6;
constexpr int kMaxSteps = 4096;  // from successor to successor: a damaged file may hold a circle

HintStore::Place place_of(const HintStore::Successor& successor) {
  std::array<std::byte, 16> births{};
  Writer writer(births);
  writer.u64(successor.birth);
  writer.u64(successor.birth_now);
  return {successor.id, std::string(reinterpret_cast<const char*>(births.data()), births.size())};
}

HintStore::Successor successor_of(const HintStore::Place& place) {
  Reader reader(std::as_bytes(std::span(place.name)));
  const std::uint64_t birth = reader.u64();
  return {birth, place.parent, reader.u64()};
}

}  // namespace

enum class HintStore::What : std::uint8_t {
  erased = 0,
  file = 1,       // its one place
  directory = 2,  // its one place
  added = 3,      // one more place
  dropped = 4,    // one less
  became = 5,     // what it is now in the parent's place; the name is the births before and now, 8 each
};

std::size_t HintStore::encode(std::span<std::byte> out, What what, const ObjectId& id, const Place& place) {
  Writer writer(out);
  const bool devices = id.device != 0 || place.parent.device != 0;
  writer.u8(static_cast<std::uint8_t>(static_cast<std::uint8_t>(what) | (devices ? kWithDevices : 0)));
  writer.u64(id.number);
  writer.u64(place.parent.number);
  writer.u16(static_cast<std::uint16_t>(place.name.size()));
  if (devices) writer.u64(id.device);
  if (devices) writer.u64(place.parent.device);
  writer.octets(std::as_bytes(std::span(place.name)));
  return writer.size();
}

HintStore::HintStore(std::filesystem::path file, std::size_t max_hints, Log log)
    : file_(std::move(file)), max_hints_(max_hints), log_(std::move(log)) {
  if (file_.empty()) return;
  load();
  rewrite();
}

HintStore::~HintStore() {
  if (failures_ != 0) rewrite();
}

const HintStore::Hint* HintStore::find(const ObjectId& id) const {
  const auto at = hints_.find(id);
  return at == hints_.end() ? nullptr : &at->second;
}

bool HintStore::knows(const Hint& hint, const Place& place) {
  return hint.place == place || std::find(hint.others.begin(), hint.others.end(), place) != hint.others.end();
}

void HintStore::put_in(Hint& hint, const Place& place, std::size_t names) {
  hint.others.push_back(place);
  // Of a name that has gone behind our back nothing is heard: the oldest makes room.
  while (hint.others.size() >= std::clamp<std::size_t>(names, 2, kMaxPlaces)) take_out(hint, Place(hint.place));
}

bool HintStore::take_out(Hint& hint, const Place& place) {
  if (hint.others.empty()) return false;
  if (hint.place == place) {
    hint.place = std::move(hint.others.front());
    hint.others.erase(hint.others.begin());
    return true;
  }
  return std::erase(hint.others, place) != 0;
}

void HintStore::set(const ObjectId& id, const Place& place, bool directory) {
  const bool is_back = take_back(id);
  const Hint* known = find(id);
  if (!is_back && known != nullptr && known->place == place && known->others.empty()) return;
  if (hints_.size() >= max_hints_ && !hints_.contains(id)) make_room();
  hints_[id] = {place, {}, directory, {}};
  append(directory ? What::directory : What::file, id, place);
}

void HintStore::born(const ObjectId& id, std::uint64_t birth) {
  const auto at = hints_.find(id);
  if (at != hints_.end() && at->second.directory && !at->second.birth) at->second.birth = birth;
}

void HintStore::add(const ObjectId& id, const Place& place, std::size_t names) {
  const auto at = hints_.find(id);
  if (at == hints_.end()) return set(id, place, false);
  Hint& hint = at->second;
  if (knows(hint, place)) return;
  put_in(hint, place, names);
  append(What::added, id, place);
}

void HintStore::drop(const ObjectId& id, const Place& place) {
  const auto at = hints_.find(id);
  if (at != hints_.end() && take_out(at->second, place)) append(What::dropped, id, place);
}

void HintStore::erase(const ObjectId& id) {
  if (hints_.erase(id) + successors_.erase(id) != 0) append(What::erased, id, {});
}

template <class Matches>
HintStore::Successor* HintStore::successor(const ObjectId& id, Matches matches) {
  auto [at, last] = successors_.equal_range(id);
  while (at != last && !matches(at->second)) ++at;
  return at == last ? nullptr : &at->second;
}

void HintStore::follow(ObjectId& id, std::uint64_t& birth) {
  const auto next = [&] { return successor(id, [&](const Successor& known) { return known.birth == birth; }); };
  Successor* const first = next();
  if (first == nullptr) return;
  const Successor* at = first;
  for (int i = 0; i < kMaxSteps && at != nullptr; ++i, at = next()) {
    id = at->id;
    birth = at->birth_now;
  }
  first->id = id;  // the next time it is one step
  first->birth_now = birth;
}

ObjectId HintStore::renumbered(const ObjectId& id) {
  ObjectId now = id;
  const auto next = [&] { return successor(now, [&](const Successor& known) { return known.id != now; }); };
  Successor* const first = next();
  if (first == nullptr) return now;
  std::uint64_t birth = first->birth;
  bool one_object = true;
  const Successor* at = first;
  for (int i = 0; i < kMaxSteps && at != nullptr; ++i, at = next()) {
    one_object = one_object && at->birth == birth;
    now = at->id;
    birth = at->birth_now;
  }
  if (one_object) *first = {first->birth, now, birth};
  return now;
}

void HintStore::put_successor(const ObjectId& id, const Successor& successor) {
  if (successors_.size() >= max_hints_ && !successors_.empty()) successors_.erase(successors_.begin());
  successors_.emplace(id, successor);
  if (successor.id != id) hints_.erase(id);
}

void HintStore::succeed(const ObjectId& id, const Successor& successor) {
  if (this->successor(id, [&](const Successor& known) { return known.birth == successor.birth; }) != nullptr) return;
  put_successor(id, successor);
  append(What::became, id, place_of(successor));
}

bool HintStore::take_back(const ObjectId& id) {
  std::size_t count = 0;
  auto [at, last] = successors_.equal_range(id);
  while (at != last) {
    const bool away = at->second.id != id;
    count += away ? 1 : 0;
    at = away ? successors_.erase(at) : std::next(at);
  }
  return count != 0;
}

void HintStore::make_room() {
  auto victim = hints_.begin();
  for (std::size_t tries = 0; tries < 64 && victim != hints_.end() && victim->second.directory; ++tries) ++victim;
  if (victim == hints_.end()) victim = hints_.begin();
  if (victim != hints_.end()) hints_.erase(victim);
}

void HintStore::append(What what, const ObjectId& id, const Place& place) {
  if (!records_file_) return;  // tidy() writes it with all others
  if (++records_ > 2 * rewritten_ + 4096) return rewrite();
  std::array<std::byte, kMaxRecord> record{};
  const std::size_t size = encode(record, what, id, place);
  if (::write(records_file_.get(), record.data(), size) != static_cast<ssize_t>(size)) rewrite();
}

void HintStore::replay(What what, const ObjectId& id, const Place& place) {
  if (what == What::erased) {
    hints_.erase(id);
    successors_.erase(id);
    return;
  }
  if (what == What::became) {
    if (place.name.size() == 16) put_successor(id, successor_of(place));
    return;
  }
  const auto known = hints_.find(id);
  if (what == What::added && known != hints_.end()) {
    // How many names there were is not in the record, so that more places are kept here than by add(): one that made
    // room there may come again.
    take_out(known->second, place);
    if (!knows(known->second, place)) put_in(known->second, place, kMaxPlaces);
    return;
  }
  if (what == What::dropped && known != hints_.end()) take_out(known->second, place);
  if (what == What::dropped || (known == hints_.end() && hints_.size() >= max_hints_)) return;
  take_back(id);
  hints_[id] = {place, {}, what == What::directory, {}};
}

void HintStore::load() {
  std::ifstream in(file_, std::ios::binary);
  std::array<char, kHead> head{};
  std::array<char, kDevices> devices{};
  while (in.read(head.data(), kHead)) {
    Reader reader(std::as_bytes(std::span(head)));
    const std::uint8_t first = reader.u8();
    const auto what = static_cast<What>(first & ~kWithDevices);
    ObjectId id{reader.u64(), 0};
    Place place{{reader.u64(), 0}, {}};
    const std::size_t length = reader.u16();
    if (what > What::became || length > 255) break;
    if ((first & kWithDevices) != 0) {
      if (!in.read(devices.data(), kDevices)) break;
      Reader more(std::as_bytes(std::span(devices)));
      id.device = more.u64();
      place.parent.device = more.u64();
    }
    place.name.resize(length);
    if (!in.read(place.name.data(), static_cast<std::streamsize>(length))) break;
    replay(what, id, place);
  }
}

/// Anew. Should that fail, it goes on in memory, and the old file stays.
void HintStore::rewrite() {
  const std::string fresh = file_.string() + ".new";
  records_file_ = Fd(::open(fresh.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0600));
  const bool made = static_cast<bool>(records_file_);
  if (made && write_all(records_file_.get()) && ::rename(fresh.c_str(), file_.c_str()) == 0) {
    if (failures_ != 0) log_.info("{}: is written again, with all that is known now", file_.string());
    failures_ = 0;
    return;
  }
  const int error = errno;
  records_file_ = {};
  if (made) ::unlink(fresh.c_str());
  pause_ = 1u << std::min(failures_, kMostDoublings);
  if (failures_++ != 0) return;
  log_.warn("{}: {}. Until it can be written, a restart makes handles stale that are given out from now on",
            file_.string(), std::strerror(error));
}

void HintStore::tidy() {
  if (failures_ != 0 && --pause_ == 0) rewrite();
}

bool HintStore::write_all(int fd) {
  std::vector<std::byte> records;
  bool written = true;
  const auto write_out = [&] {
    errno = ENOSPC;  // of a part only
    written = written && ::write(fd, records.data(), records.size()) == static_cast<ssize_t>(records.size());
    records.clear();
  };
  records_ = 0;
  const auto put = [&](What what, const ObjectId& id, const Place& place) {
    if (!written) return;
    std::array<std::byte, kMaxRecord> record{};
    const std::size_t size = encode(record, what, id, place);
    records.insert(records.end(), record.begin(), record.begin() + static_cast<std::ptrdiff_t>(size));
    ++records_;
    if (records.size() >= kAtOnce) write_out();
  };
  for (const auto& [id, hint] : hints_) {
    put(hint.directory ? What::directory : What::file, id, hint.place);
    for (const Place& other : hint.others) put(What::added, id, other);
  }
  for (const auto& [id, successor] : successors_) put(What::became, id, place_of(successor));
  if (written) write_out();
  rewritten_ = records_;
  return written;
}

}  // namespace rpcrdma::nfsd

// SPDX-License-Identifier: BSD-3-Clause
#include "posix/hint_store.hpp"

#include <fcntl.h>
#include <sys/stat.h>

#include <array>
#include <cstdio>
#include <fstream>
#include <vector>

#include "rpcrdma/base/cursor.hpp"

namespace rpcrdma::nfsd {
namespace {

// A record: what 1, number 8, parent 8, name length 2, name.
constexpr std::size_t kHead = 19;
constexpr std::size_t kAtOnce = 65536;
enum class What : std::uint8_t { erased = 0, file = 1, directory = 2 };

std::size_t encode(std::span<std::byte> out, std::uint64_t number, const HintStore::Hint* hint) {
  Writer writer(out);
  const What what = hint == nullptr ? What::erased : hint->directory ? What::directory : What::file;
  writer.u8(static_cast<std::uint8_t>(what));
  writer.u64(number);
  writer.u64(hint == nullptr ? 0 : hint->parent);
  const std::string_view name = hint == nullptr ? std::string_view{} : std::string_view(hint->name);
  writer.u16(static_cast<std::uint16_t>(name.size()));
  writer.octets(std::as_bytes(std::span(name)));
  return writer.size();
}

}  // namespace

HintStore::HintStore(std::filesystem::path file, std::size_t max_hints)
    : file_(std::move(file)), max_hints_(max_hints) {
  if (file_.empty()) return;
  load();
  rewrite();
}

const HintStore::Hint* HintStore::find(std::uint64_t number) const {
  const auto at = hints_.find(number);
  return at == hints_.end() ? nullptr : &at->second;
}

void HintStore::set(std::uint64_t number, std::uint64_t parent, std::string_view name, bool directory) {
  if (const Hint* known = find(number); known != nullptr && known->parent == parent && known->name == name) return;
  if (hints_.size() >= max_hints_ && !hints_.contains(number)) make_room();
  Hint& hint = hints_[number];
  hint = {parent, std::string(name), directory};
  append(number, &hint);
}

void HintStore::erase(std::uint64_t number) {
  if (hints_.erase(number) != 0) append(number, nullptr);
}

void HintStore::make_room() {
  auto victim = hints_.begin();
  for (std::size_t tries = 0; tries < 64 && victim != hints_.end() && victim->second.directory; ++tries) ++victim;
  if (victim == hints_.end()) victim = hints_.begin();
  if (victim != hints_.end()) hints_.erase(victim);
}

void HintStore::append(std::uint64_t number, const Hint* hint) {
  if (!log_) return;
  if (++records_ > 2 * hints_.size() + 4096) return rewrite();
  std::array<std::byte, kHead + 256> record{};
  const std::size_t size = encode(record, number, hint);
  if (::write(log_.get(), record.data(), size) != static_cast<ssize_t>(size)) rewrite();
}

void HintStore::load() {
  std::ifstream in(file_, std::ios::binary);
  std::array<char, kHead> head{};
  std::string name;
  while (in.read(head.data(), kHead)) {
    Reader reader(std::as_bytes(std::span(head)));
    const auto what = static_cast<What>(reader.u8());
    const std::uint64_t number = reader.u64();
    const std::uint64_t parent = reader.u64();
    name.resize(reader.u16());
    if (name.size() > 255 || !in.read(name.data(), static_cast<std::streamsize>(name.size()))) break;
    if (what == What::erased)
      hints_.erase(number);
    else if (hints_.size() < max_hints_ || hints_.contains(number))
      hints_[number] = {parent, name, what == What::directory};
  }
}

void HintStore::rewrite() {
  const std::string fresh = file_.string() + ".new";
  log_ = Fd(::open(fresh.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0600));
  if (!log_) return;  // goes on in memory; the old file stays
  std::vector<std::byte> records;
  std::array<std::byte, kHead + 256> record{};
  bool written = true;
  const auto write_out = [&] {
    written = written && ::write(log_.get(), records.data(), records.size()) == static_cast<ssize_t>(records.size());
    records.clear();
  };
  for (const auto& [number, hint] : hints_) {
    const std::size_t size = encode(record, number, &hint);
    records.insert(records.end(), record.begin(), record.begin() + static_cast<std::ptrdiff_t>(size));
    if (records.size() >= kAtOnce) write_out();
  }
  write_out();
  if (!written || ::rename(fresh.c_str(), file_.c_str()) != 0)
    log_ = {};
  else
    records_ = hints_.size();
}

}  // namespace rpcrdma::nfsd

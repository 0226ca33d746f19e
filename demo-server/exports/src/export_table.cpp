// SPDX-License-Identifier: BSD-3-Clause
#include "rpcrdma/nfsd/exports/export_table.hpp"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <iterator>

#include "rpcrdma/nfsd/exports/handle_codec.hpp"
#include "rpcrdma/nfsd/memory/memory_file_system.hpp"
#include "rpcrdma/nfsd/posix/posix_file_system.hpp"

namespace rpcrdma::nfsd {
namespace {

const ExportPtr kNone;
constexpr std::string_view kMemorySource = "memory ";

template <class Matches>
const ExportPtr& first(const ExportList& exports, Matches matches) noexcept {
  for (const ExportPtr& e : exports)
    if (matches(*e)) return e;
  return kNone;
}

const ExportPtr& find_in(const ExportList& exports, std::uint32_t id) noexcept {
  return first(exports, [id](const Export& e) { return e.id == id; });
}

const ExportPtr& find_in(const ExportList& exports, std::string_view name) noexcept {
  return first(exports, [name](const Export& e) { return e.name == name; });
}

/// Refuses `spec` if an export has the same name, or another name with the same identifier. The identifier of an export
/// is a hash of its name, so two names may have the same one.
Checked<void> check_name(const ExportList& exports, const ExportSpec& spec) {
  const ExportPtr& same = find_in(exports, export_id_of(spec.name));
  if (same == nullptr) return {};
  if (same->name == spec.name) return Refusal{fmt::format("{}: two exports are named {}", spec.origin, spec.name)};
  return Refusal{fmt::format("{}: exports {} and {} have the same identifier, a hash of the name: rename one",
                             spec.origin, same->name, spec.name)};
}

/// Returns a text that identifies what `spec` exports: the size of a memory export, or the device, inode number and
/// path of a directory. A path alone does not identify a directory, because another directory may later be mounted at
/// the path or replace the directory there.
std::string source_of(const ExportSpec& spec) {
  if (spec.memory) return fmt::format("{}{}", kMemorySource, spec.size);
  struct stat s {};
  if (::stat(spec.directory.c_str(), &s) != 0) s = {};
  return fmt::format("directory {}:{} {}", s.st_dev, s.st_ino, spec.directory);
}

}  // namespace

std::shared_ptr<FileSystem> ExportTable::open_memory(const ExportSpec& spec) {
  if (pages_ == nullptr) pages_ = std::make_unique<PageStore>(memory_bytes_);
  MemoryOptions options;
  if (spec.size != 0) options.max_octets = spec.size;
  return make_memory_file_system(*pages_, options);
}

Checked<ExportPtr> ExportTable::open(const ExportSpec& spec, const std::filesystem::path& state_dir, const Log& log) {
  auto made = std::make_shared<Export>(spec, export_id_of(spec.name));
  made->source = source_of(spec);
  const ExportPtr before = find(spec.name);
  if (before != nullptr && before->source == made->source) {
    made->file_system = before->file_system;
    return made;
  }
  if (before != nullptr && spec.memory && before->source.starts_with(kMemorySource))
    return Refusal{
        fmt::format("{}: {}: the size of a memory export cannot change while the server runs", spec.origin, spec.name)};
  if (spec.memory) {
    made->file_system = open_memory(spec);
    return made;
  }
  PosixOptions options;
  options.root = spec.directory;
  options.hint_file = state_dir / fmt::format("places-{:08x}", made->id);
  auto file_system = make_posix_file_system(options, log);
  if (!file_system)
    return Refusal{fmt::format("{}: {}: {}", spec.origin, spec.directory, file_system.error().message())};
  made->file_system = std::move(*file_system);
  return made;
}

Checked<void> ExportTable::replace(std::span<const ExportSpec> specs, const std::filesystem::path& state_dir,
                                   const Log& log) {
  auto fresh = std::make_shared<ExportList>();
  for (const ExportSpec& spec : specs) {
    if (const auto free = check_name(*fresh, spec); !free) return free.error();
    auto made = open(spec, state_dir, log);
    if (!made) return made.error();
    fresh->push_back(std::move(*made));
  }
  std::shared_ptr<const ExportList> before = std::move(fresh);
  {
    const std::lock_guard lock(mutex_);
    exports_.swap(before);
    replaced_.insert(replaced_.end(), before->begin(), before->end());
    generation_.fetch_add(1, std::memory_order_release);
  }
  return {};
}

Checked<void> ExportTable::add(const ExportSpec& spec, const std::filesystem::path& state_dir, const Log& log) {
  const auto before = all();
  if (const auto free = check_name(*before, spec); !free) return free.error();
  auto made = open(spec, state_dir, log);
  if (!made) return made.error();
  auto fresh = std::make_shared<ExportList>(*before);
  fresh->push_back(std::move(*made));
  const std::lock_guard lock(mutex_);
  exports_ = std::move(fresh);
  generation_.fetch_add(1, std::memory_order_release);
  return {};
}

std::shared_ptr<const ExportList> ExportTable::all() const {
  const std::lock_guard lock(mutex_);
  return exports_;
}

ExportPtr ExportTable::find(std::uint32_t id) const { return find_in(*all(), id); }
ExportPtr ExportTable::find(std::string_view name) const { return find_in(*all(), name); }

void ExportTable::tidy() {
  ExportList unused;  // these exports are destroyed after the lock is released
  {
    const std::lock_guard lock(mutex_);
    const auto used = [](const ExportPtr& e) { return e.use_count() > 1; };
    const auto first_unused = std::partition(replaced_.begin(), replaced_.end(), used);
    std::move(first_unused, replaced_.end(), std::back_inserter(unused));
    replaced_.erase(first_unused, replaced_.end());
  }
  // Destroys the unused file systems before it calls FileSystem::tidy() for the exported ones. An unused file system
  // may hold the hint file that a new file system needs, and FileSystem::tidy() of the new one tries to take the hint
  // file over.
  unused.clear();
  const auto exports = all();
  for (const ExportPtr& e : *exports) e->file_system->tidy();
}

void ExportView::refresh() noexcept {
  // Reads the generation before the list. If the table changes in between, the list is newer than generation_, and the
  // next call of all() refreshes again.
  generation_ = table_.generation();
  exports_ = table_.all();
}

const ExportList& ExportView::all() noexcept {
  if (generation_ != table_.generation()) refresh();
  return *exports_;
}

const ExportPtr& ExportView::find(std::uint32_t id) noexcept { return find_in(all(), id); }
const ExportPtr& ExportView::find(std::string_view name) noexcept { return find_in(all(), name); }

}  // namespace rpcrdma::nfsd

// SPDX-License-Identifier: BSD-3-Clause
#include "rpcrdma/nfsd/exports/export_table.hpp"

#include <fmt/format.h>

#include "rpcrdma/nfsd/exports/handle_codec.hpp"
#include "rpcrdma/nfsd/memory/memory_file_system.hpp"
#include "rpcrdma/nfsd/posix/posix_file_system.hpp"

namespace rpcrdma::nfsd {

bool Export::allows(const boost::asio::ip::address& peer) const noexcept {
  if (allow.empty()) return true;
  for (const Cidr& range : allow)
    if (range.contains(peer)) return true;
  return false;
}

bool ExportTable::add(const ExportSpec& spec, const std::filesystem::path& state_dir, Log log, std::string& why) {
  auto made = std::make_unique<Export>();
  made->id = export_id_of(spec.name);
  made->name = spec.name;
  made->read_only = spec.read_only;
  made->allow = spec.allow;
  if (find(spec.name) != nullptr || find(made->id) != nullptr) {
    why = fmt::format("two exports are named {}", spec.name);
    return false;
  }
  if (spec.memory) {
    if (pages_ == nullptr) pages_ = std::make_unique<PageStore>(memory_octets_);
    made->pages = pages_.get();
    made->file_system = make_memory_file_system(*pages_);
  } else {
    PosixOptions options;
    options.root = spec.directory;
    options.hint_file = state_dir / fmt::format("places-{:08x}", made->id);
    auto file_system = make_posix_file_system(options, std::move(log));
    if (!file_system) {
      why = fmt::format("{}: {}", spec.directory, file_system.error().message());
      return false;
    }
    made->file_system = std::move(*file_system);
  }
  exports_.push_back(std::move(made));
  return true;
}

const Export* ExportTable::find(std::uint32_t id) const noexcept {
  for (const auto& e : exports_)
    if (e->id == id) return e.get();
  return nullptr;
}

const Export* ExportTable::find(std::string_view name) const noexcept {
  for (const auto& e : exports_)
    if (e->name == name) return e.get();
  return nullptr;
}

void ExportTable::tidy() const {
  for (const auto& e : exports_) e->file_system->tidy();
}

}  // namespace rpcrdma::nfsd

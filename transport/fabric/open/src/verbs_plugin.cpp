// SPDX-License-Identifier: BSD-3-Clause
#include "verbs_plugin.hpp"

#include <dlfcn.h>
#include <link.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <vector>

namespace rpcrdma::fabric {
namespace {

namespace fs = std::filesystem;

std::vector<fs::path> folders(const Log& log) {
  if (const char* named = ::secure_getenv("RPCRDMA_PLUGIN_DIR"); named != nullptr && *named != '\0') {
    if (*named == '/') return {named};
    log.warn("verbs: RPCRDMA_PLUGIN_DIR={} is ignored: it is not an absolute path", named);
  }
  std::vector<fs::path> out;
  std::error_code ignored;
  const fs::path program = fs::read_symlink("/proc/self/exe", ignored);
  if (!program.empty()) out.push_back((program.parent_path() / RPCRDMA_PLUGIN_FROM_PROGRAM).lexically_normal());
  Dl_info here{};
  void* extra = nullptr;
  if (::dladdr1(reinterpret_cast<void*>(&load_verbs_plugin), &here, &extra, RTLD_DL_LINKMAP) != 0 && extra != nullptr) {
    // If this code is linked into the program itself, l_name is empty, and no folder is added. dli_fname would then be
    // argv[0], which the process that starts the program can choose freely; it is therefore not used.
    const fs::path library = static_cast<const link_map*>(extra)->l_name;
    if (library.is_absolute()) out.push_back(library.parent_path() / "rpcrdma");
  }
  out.emplace_back(RPCRDMA_PLUGIN_INSTALL_DIR);
  return out;
}

/// Searches the dynamic linker's message, as only its text tells which library is missing.
FabricError refusal_of(const std::string& words) noexcept {
  if (words.find("libibverbs.so") != std::string::npos) return FabricError::no_libibverbs;
  if (words.find("librdmacm.so") != std::string::npos) return FabricError::no_librdmacm;
  return FabricError::plugin_mismatch;
}

Result<const VerbsPlugin*> load(const fs::path& file, const Log& log) {
  void* library = ::dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  if (library == nullptr) {
    const std::string words = ::dlerror();
    const FabricError refusal = refusal_of(words);
    if (refusal == FabricError::plugin_mismatch)
      log.error("verbs: cannot load {}: {}", file.string(), words);
    else
      log.debug("verbs: cannot load {}: {}", file.string(), words);
    return refusal;
  }
  auto* const entry = reinterpret_cast<VerbsPluginEntry*>(::dlsym(library, kVerbsPluginEntry));
  const VerbsPlugin* plugin = entry != nullptr ? entry() : nullptr;
  if (plugin != nullptr && plugin->abi == kVerbsPluginAbi && std::strcmp(plugin->build, RPCRDMA_BUILD_ID) == 0)
    return plugin;
  if (plugin == nullptr)
    log.error("verbs: {} has no entry point {}: it is not a plug-in of this library", file.string(), kVerbsPluginEntry);
  else
    log.error("verbs: {} is build {} with ABI {}; this program needs build {} with ABI {}", file.string(),
              plugin->build, plugin->abi, RPCRDMA_BUILD_ID, kVerbsPluginAbi);
  ::dlclose(library);
  return FabricError::plugin_mismatch;
}

}  // namespace

Result<const VerbsPlugin*> load_verbs_plugin(const Log& log) {
  for (const fs::path& folder : folders(log)) {
    std::error_code ignored;
    const fs::path file = folder / kVerbsPluginFile;
    if (fs::exists(file, ignored)) return load(file, log);
  }
  return FabricError::no_plugin;
}

}  // namespace rpcrdma::fabric

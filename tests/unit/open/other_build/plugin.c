// SPDX-License-Identifier: BSD-3-Clause
// A plug-in of another build of the library: it has the same ABI number, but another build name.
struct VerbsPlugin {
  unsigned abi;
  const char* build;
};

const struct VerbsPlugin* rpcrdma_verbs_plugin(void) {
  static const struct VerbsPlugin plugin = {1, "of another build"};
  return &plugin;
}

// SPDX-License-Identifier: BSD-3-Clause
// A plug-in that another build of the library made: the same ABI number, another build's name.
struct VerbsPlugin {
  unsigned abi;
  const char *build;
};

const struct VerbsPlugin *rpcrdma_verbs_plugin(void) {
  static const struct VerbsPlugin plugin = {1, "of another build"};
  return &plugin;
}

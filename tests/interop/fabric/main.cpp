// SPDX-License-Identifier: BSD-3-Clause
// Without a device there is nothing to test, and the program fails.
#include <iostream>

#include "interop/fabric/verbs_bed.hpp"

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  if (rpcrdma::test::verbs_address() == nullptr) {
    std::cerr << "RPCRDMA_TEST_VERBS_ADDRESS is not set: no device to test\n";
    return 2;
  }
  return RUN_ALL_TESTS();
}

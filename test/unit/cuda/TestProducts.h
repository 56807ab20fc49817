// cuBLASLt by plain loops, in the stream of a TestDriver. It counts in columns, as the library
// does.
#pragma once

#include "runtime/Device/Cuda/LtApi.h"
#include <string>
#include <vector>

namespace sinter::runtime::cuda::testing {

/// Installed while it lives; one at a time, and only beside a TestDriver.
class TestProducts {
public:
  TestProducts();
  ~TestProducts();
  TestProducts(const TestProducts &) = delete;
  TestProducts &operator=(const TestProducts &) = delete;

  static TestProducts &get();

  int algorithms = 3;                ///< that the heuristic knows for any problem
  int handles = 0, descriptions = 0; ///< that are given out
  int asked = 0;                     ///< algorithms that the heuristic was last asked for
  std::vector<int> ran;              ///< the algorithms of all products
  std::vector<uint32_t> alignments;  ///< that the heuristic was last told of: of A, B, C, D

private:
  LtApi table;
};

} // namespace sinter::runtime::cuda::testing

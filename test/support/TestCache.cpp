#include "test/support/TestCache.h"

sinter::Cache sinter::test::kernelCache() {
  return Cache(SINTER_TEST_CACHE, /*limit=*/uint64_t(1) << 30);
}

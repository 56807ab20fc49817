// sinter.sample's kernels on a processor: vocabularies of published models and many rows, for which
// an emulator takes too long, and vectors of other lengths.

#include "test/unit/Codegen/SampleRows.h"

using namespace sinter;
using namespace sinter::test;

namespace {
TEST(SampleKernel, DrawsFromLargeVocabularies) {
  // Rows of every kind: of one it is half a dozen numbers that tie, of another all.
  expectSameAsReference(makeSample(22, 50257), 0, {}, withRows(50257, 7));
  expectSameAsReference(makeSample(33, 151936), 0, {}, withRows(151936, 8));
}

TEST(SampleKernel, DrawsManyRows) {
  for (int64_t vocabulary : {1, 2, 7, 16, 33, 64, 257})
    expectSameAsReference(makeSample(99, vocabulary), 0, {}, withRows(vocabulary, 1));
  for (unsigned seed : {2, 3})
    expectSameAsReference(makeSample(33, 1000), 0, {}, withRows(1000, seed));
}

TEST(SampleKernel, DrawsTheSameOnNarrowVectors) {
  for (int64_t bits : {128, 256})
    expectSameAsReference(makeSample(66, 61), 0, jit::getHostTarget(bits), withRows(61, 6));
  expectSameAsReference(makeSample(66, 61), 0, {}, withRows(61, 6), /*speedPasses=*/false);
}
} // namespace

// sinter.sample's kernels for vocabularies of published models. An emulator takes too long for
// them.

#include "test/unit/Codegen/SampleRows.h"

using namespace sinter::test;

namespace {
TEST(SampleKernel, DrawsFromLargeVocabularies) {
  // Rows of every kind: of one it is half a dozen numbers that tie, of another all.
  expectSameAsReference(makeSample(22, 50257), 0, {}, withRows(50257, 7));
  expectSameAsReference(makeSample(33, 151936), 0, {}, withRows(151936, 8));
}
} // namespace

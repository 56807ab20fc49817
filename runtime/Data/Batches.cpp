#include "runtime/Data/Batches.h"
#include "runtime/Data/Permutation.h"
#include <algorithm>
#include <cassert>

namespace sinter::runtime {

BatchReader::BatchReader(TokenStream stream, const BatchOptions &options)
    : stream(std::move(stream)), chosen(options) {
  assert(chosen.batch > 0 && chosen.sequence > 0 && "a batch without tokens");
}

Expected<void> BatchReader::check(uint64_t accumulate) const {
  std::string purpose = "a step of " + std::to_string(chosen.batch) + " x " +
                        std::to_string(chosen.sequence) + " tokens";
  if (accumulate > 1)
    purpose += ", " + std::to_string(accumulate) + " times,";
  return stream.require(accumulate * chosen.batch * chosen.sequence + 1, purpose,
                        "give more data, or a smaller `batch`, `seq` or `accumulate`");
}

// Windows of T tokens that have all their targets.
uint64_t BatchReader::getWindows() const { return (stream.size() - 1) / chosen.sequence; }

uint64_t BatchReader::rowBegin(uint64_t number, uint64_t row) const {
  uint64_t index = number * chosen.batch + row; // of this row among all rows of the run
  if (chosen.order == DataOrder::Sequential)
    return index * chosen.sequence;
  uint64_t count = getWindows();
  Permutation permutation(count, chosen.seed, index / count);
  return permutation(index % count) * chosen.sequence;
}

void BatchReader::read(uint64_t number, Microbatch &out) const {
  resize(out);
  for (uint64_t row = 0; row < chosen.batch; ++row)
    readRow(rowBegin(number, row), chosen.sequence, row, out);
  out.seed = seedOf(number);
  finish(out);
}

std::array<int32_t, 2> BatchReader::seedOf(uint64_t number) const {
  uint64_t bits = mixBits(mixBits(chosen.seed ^ 0x5851f42d4c957f2d) + number);
  return {static_cast<int32_t>(bits), static_cast<int32_t>(bits >> 32)};
}

uint64_t BatchReader::getEvaluationCount() const {
  uint64_t perBatch = chosen.batch * chosen.sequence;
  return (stream.size() - 1 + perBatch - 1) / perBatch;
}

void BatchReader::readForEvaluation(uint64_t number, Microbatch &out) const {
  assert(number < getEvaluationCount() && "behind the last batch");
  resize(out);
  for (uint64_t row = 0; row < chosen.batch; ++row) {
    uint64_t begin = (number * chosen.batch + row) * chosen.sequence;
    uint64_t left = begin < stream.size() - 1 ? stream.size() - 1 - begin : 0;
    readRow(begin, std::min(left, chosen.sequence), row, out);
  }
  out.seed = {};
  finish(out);
}

// Reads `count` tokens and their targets; the rest of the row is token 0 without a target.
void BatchReader::readRow(uint64_t begin, uint64_t count, uint64_t row, Microbatch &out) const {
  uint64_t length = chosen.sequence;
  std::span tokens = std::span(out.tokens).subspan(row * length, length);
  std::span targets = std::span(out.targets).subspan(row * length, length);
  if (count != 0) {
    stream.read(begin, tokens.first(count));
    std::copy_n(tokens.data() + 1, count - 1, targets.data());
    stream.read(begin + count, targets.subspan(count - 1, 1));
  }
  std::fill(tokens.begin() + count, tokens.end(), 0);
  std::fill(targets.begin() + count, targets.end(), -1);
  if (!chosen.endOfText)
    return;
  int32_t *first = out.first.data() + row * length;
  int32_t begins = 0;
  for (uint64_t i = 0; i < length; ++i) {
    first[i] = begins;
    if (tokens[i] == *chosen.endOfText) {
      targets[i] = -1;
      begins = static_cast<int32_t>(i) + 1;
    }
  }
}

void BatchReader::resize(Microbatch &out) const {
  uint64_t count = chosen.batch * chosen.sequence;
  out.tokens.resize(count);
  out.targets.resize(count);
  out.first.resize(chosen.endOfText ? count : 0);
}

void BatchReader::finish(Microbatch &out) const {
  out.valid = out.targets.size() -
              static_cast<uint64_t>(std::count(out.targets.begin(), out.targets.end(), -1));
}

} // namespace sinter::runtime

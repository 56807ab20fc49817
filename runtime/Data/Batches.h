//===- Batches.h - Which tokens a step sees ---------------------*- C++ -*-===//
//
// A microbatch is B rows of T tokens with their targets, the tokens that follow. Microbatches are
// numbered through the run (step s of K accumulated ones has the numbers s*K to s*K + K - 1), and
// what is in one depends on its number alone, so a run resumes at any of them.
//
//   Sequential  number m reads the B*T + 1 tokens from m*B*T on; behind the last comes the first
//   Shuffled    the stream is cut into windows of T tokens (their targets reach one further; what
//               is left at the end is not used); rows take the windows in the order of a
//               permutation of the seed's, every window once an epoch, a new permutation each epoch
//
// With a document mask, the token `endOfText` ends a document. The target behind it is -1, which
// the loss leaves out: how a document begins cannot be told from the one before. `first` says for
// every token where in its row its document begins, the first position that it may attend to:
//
//   tokens   a  b  .  c  d  .  e        ("." ends a document)
//   targets  b  .  -1 d  .  -1 f
//   first    0  0  0  3  3  3  6
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/Data/TokenStream.h"
#include <array>
#include <optional>

namespace sinter::runtime {

enum class DataOrder { Sequential, Shuffled };

struct BatchOptions {
  uint64_t batch = 1;    ///< rows, B
  uint64_t sequence = 1; ///< tokens of a row, T
  DataOrder order = DataOrder::Shuffled;
  uint64_t seed = 0; ///< of the permutations, and of Microbatch::seed
  /// The token that ends a document; without it the stream is one document and nothing is masked.
  std::optional<int32_t> endOfText;
};

/// The inputs of one pass over a model.
struct Microbatch {
  std::vector<int32_t> tokens, targets; ///< [B, T]
  std::vector<int32_t> first;           ///< [B, T] with a document mask, else empty
  std::array<int32_t, 2> seed = {};     ///< random bits of this microbatch's own
  uint64_t valid = 0;                   ///< targets that are not masked
};

/// Reads microbatches of a stream. Reading is safe from several threads.
class BatchReader {
public:
  BatchReader(TokenStream stream, const BatchOptions &options);

  /// Fails where the stream has fewer tokens than `accumulate` microbatches read.
  Expected<void> check(uint64_t accumulate) const;

  /// Fills `out` with microbatch `number` of a training run.
  void read(uint64_t number, Microbatch &out) const;

  /// Microbatch::seed of microbatch `number`.
  std::array<int32_t, 2> seedOf(uint64_t number) const;

  /// The microbatches that hold every window of the stream once, for evaluation.
  uint64_t getEvaluationCount() const;

  /// Fills `out` with one of these; where the stream ends before the batch does, targets are -1.
  /// @pre number < evaluationCount()
  void readForEvaluation(uint64_t number, Microbatch &out) const;

  const BatchOptions &getOptions() const { return chosen; }

private:
  uint64_t getWindows() const;
  uint64_t rowBegin(uint64_t number, uint64_t row) const;
  void readRow(uint64_t begin, uint64_t count, uint64_t row, Microbatch &out) const;
  void resize(Microbatch &out) const;
  void finish(Microbatch &out) const;

  TokenStream stream;
  BatchOptions chosen;
};

} // namespace sinter::runtime

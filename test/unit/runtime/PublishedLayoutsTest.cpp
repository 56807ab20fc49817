//===- PublishedLayoutsTest.cpp - Steps that others have measured ---------===//
//
// What KempnerForge published of 8B on four H200 (benchmarks/mfu_scaling/mfu_scaling.md there),
// played as its sources say that it runs: rows of 4096 tokens, full activation checkpointing, all
// of a layer's projections split by tensor, hidden states by tokens between them
// (kempnerforge/distributed/tensor_parallel.py), parameters by data (parallel.py). Each projection
// gathers the tokens for itself: its profile (benchmarks/profiling/13b_24gpu_profiling.md) has 9679
// gathers and 6420 scatters of 20 microbatches of 40 layers, 12 and 8 of a layer.
//
// One GPU's rate is as published. What is tested is what links and streams make of it: the part of
// that rate that each layout keeps, and which layout keeps more. docs/many-devices.md has the
// figures.
//
//===----------------------------------------------------------------------===//

#include "runtime/Cluster/Simulation.h"
#include <algorithm>
#include <gtest/gtest.h>

using namespace sinter::runtime;
using sinter::fb::CollectiveKind;

namespace {

constexpr double kTokensPerSecond = 10471; // of one GPU
constexpr uint64_t kLayers = 32, kHidden = 4096, kTokens = 4096, kVocabulary = 128256,
                   kParameters = 8030000000, kBf16 = 2, kF32 = 4;

struct Layout {
  const char *name;
  size_t data, tensor;
  uint64_t rows, microbatches; ///< of a rank
  double published, predicted; ///< percent of one GPU's rate that each keeps
};

/// Writes what one rank does in a step.
class StepWriter {
public:
  StepWriter(const Layout &layout, const Cluster &cluster)
      : layout(layout), copyRate(cluster.device.memoryRate) {}

  TaskList write() {
    for (uint64_t i = 0; i < layout.microbatches; ++i)
      writeMicrobatch(/*isLast=*/i + 1 == layout.microbatches);
    return std::move(tasks);
  }

private:
  enum Group : uint32_t { Tensor, Data };

  uint64_t getHiddenBytes() const { return layout.rows * kTokens * kHidden * kBf16; }

  /// A layer's forward pass, a quarter of what it computes in all.
  double getForwardSeconds() const {
    double seconds = double(layout.rows * kTokens) / kTokensPerSecond / double(layout.tensor);
    return seconds / double(4 * kLayers);
  }

  uint32_t add(Task task) {
    tasks.push_back(std::move(task));
    return uint32_t(tasks.size() - 1);
  }

  void compute(double seconds, std::vector<uint32_t> waits = {}) {
    Task task;
    task.seconds = seconds;
    task.waits = std::move(waits);
    computed.push_back(add(task));
  }

  uint32_t move(Group group, uint64_t bytes, uint32_t stream, std::vector<uint32_t> waits) {
    Task task;
    task.transfer = Transfer{CollectiveKind::AllGather, group, bytes};
    task.stream = stream;
    task.waits = std::move(waits);
    return add(task);
  }

  /// Hidden states to or from all ranks along tensor: nothing runs beside it. Parts of rows are put
  /// together, or apart, by a copy.
  void exchangeHidden(unsigned times) {
    if (layout.tensor == 1)
      return;
    for (unsigned i = 0; i < times; ++i) {
      move(Tensor, getHiddenBytes(), /*stream=*/0, {});
      compute(2 * double(getHiddenBytes()) / copyRate);
    }
  }

  /// Parameters arrive while the layer before computes.
  std::vector<uint32_t> gatherParameters() {
    if (layout.data == 1)
      return {};
    std::vector<uint32_t> waits;
    if (computed.size() > 1)
      waits.push_back(computed[computed.size() - 2]);
    uint64_t bytes = kParameters / kLayers / layout.tensor * kBf16;
    return {move(Data, bytes, /*stream=*/1, waits)};
  }

  void writeMicrobatch(bool isLast) {
    for (uint64_t layer = 0; layer < kLayers; ++layer) {
      std::vector<uint32_t> parameters = gatherParameters();
      exchangeHidden(5 + 2);
      compute(getForwardSeconds(), parameters);
    }
    if (layout.tensor > 1) // each rank has the loss of all logits
      move(Tensor, layout.rows * kTokens * kVocabulary * kBf16, /*stream=*/0, {});
    for (uint64_t layer = 0; layer < kLayers; ++layer) {
      std::vector<uint32_t> parameters = gatherParameters();
      exchangeHidden(5 + 1); // again, but for the last sum
      exchangeHidden(2 + 5);
      compute(3 * getForwardSeconds(), parameters);
      if (layout.data > 1 && isLast)
        move(Data, kParameters / kLayers / layout.tensor * kF32, /*stream=*/1, {computed.back()});
    }
  }

  const Layout &layout;
  double copyRate;
  TaskList tasks;
  std::vector<uint32_t> computed; ///< what was computed, in order
};

/// The part of one GPU's rate that each GPU of a layout keeps.
double predictKept(const Layout &layout) {
  Cluster cluster = *Cluster::find("h200x4");
  TaskList list = StepWriter(layout, cluster).write();
  std::vector<SimulatedRank> ranks(layout.data * layout.tensor);
  for (size_t rank = 0; rank < ranks.size(); ++rank) {
    size_t row = rank / layout.tensor, column = rank % layout.tensor;
    RankGroup tensor{{}, column}, data{{}, row};
    for (size_t i = 0; i < layout.tensor; ++i)
      tensor.ranks.push_back(row * layout.tensor + i);
    for (size_t i = 0; i < layout.data; ++i)
      data.ranks.push_back(i * layout.tensor + column);
    ranks[rank] = {{&list}, {tensor, data}};
  }
  auto step = simulate(cluster, ranks);
  EXPECT_TRUE(step) << step.error().message();
  uint64_t tokens = layout.data * layout.microbatches * layout.rows * kTokens;
  return double(tokens) / step->seconds / double(ranks.size()) / kTokensPerSecond;
}

TEST(PublishedLayoutsTest, AreCloseAndInOrder) {
  constexpr double kOne = 57.8; // of the GPU's peak, as the other published figures
  const Layout layouts[] = {
      {"FSDP 4", 4, 1, 4, 2, 100 * 53.8 / kOne, 96.9},
      {"FSDP 2", 2, 1, 2, 4, 100 * 51.7 / kOne, 94.0},
      {"TP 2", 1, 2, 4, 2, 100 * 36.4 / kOne, 65.3},
      {"FSDP 2, TP 2", 2, 2, 4, 2, 100 * 35.9 / kOne, 65.2},
      {"TP 4", 1, 4, 4, 2, 100 * 34.7 / kOne, 62.8},
  };
  double before = 100;
  for (const Layout &layout : layouts) {
    double kept = 100 * predictKept(layout);
    EXPECT_NEAR(kept, layout.predicted, 0.05) << layout.name;
    EXPECT_NEAR(kept / layout.published, 1, 0.15) << layout.name;
    EXPECT_LT(kept, before) << layout.name;
    before = kept;
  }
}

} // namespace

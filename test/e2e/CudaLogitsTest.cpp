// The kept models compiled for a GPU and run on one that is not there: CUDA C++ by way of the
// emulator, products by a plain one, through the same runtime that drives a device. Their logits
// are those of the reference, within 1e-5 in f32, 3e-3 in f16 and 2e-2 in bf16, and nothing that a
// GPU need not have survived was done.

#include "test/e2e/CompiledModel.h"
#include "test/e2e/FakeGpuModels.h"
#include "test/support/Environment.h"

using namespace sinter;
using namespace sinter::test;

namespace {

class CudaLogits : public FakeGpuModels {
protected:
  CompileOptions options(std::vector<std::string> entries, int64_t batch, int64_t chunk,
                         DType type) {
    CompileOptions result;
    result.target = "cuda:sm_90";
    result.entries = std::move(entries);
    result.batch = batch;
    result.chunk = chunk;
    result.maxSequence = 0;
    result.computeType = result.cacheType = type;
    return result;
  }

  /// ||logits - expected|| / ||expected|| of the whole sequence at once.
  double errorOfAll(DType type) {
    CompiledModel model(GetParam());
    model.compile(options({"logits"}, 1, model.length, type));
    double error = model.errorOf(model.logits());
    RecordProperty("error", std::to_string(error));
    return error;
  }
};

TEST_P(CudaLogits, OfRaggedSlots) {
  CompiledModel model(GetParam());
  model.compileForLogits(options({"prefill", "decode"}, 2, 7, DType::F32));
  model.runRagged([&](std::span<const float> logits, int64_t position) {
    EXPECT_LE(model.errorOf(logits, position, 1), 1e-5) << position;
  });
}

INSTANTIATE_TEST_SUITE_P(Models, CudaLogits, testing::ValuesIn(modelNames()), nameModelTest);
// Heads of two sizes, keys and values of other layers, inputs of layers, experts beside an MLP.
INSTANTIATE_TEST_SUITE_P(Layered, CudaLogits, testing::Values("gemma4-small", "gemma4-experts"),
                         nameModelTest);
// Linear attention in three of four layers, dense or with experts; state spaces.
INSTANTIATE_TEST_SUITE_P(Linear, CudaLogits,
                         testing::Values("qwen3_next", "qwen3_5", "qwen3_5_moe", "bamba", "mamba2",
                                         "falcon_h1", "nemotron_h-experts", "granitemoehybrid"),
                         nameModelTest);

// Norms in kernels of their own, which begin one after the other.
class PlainCudaLogits : public CudaLogits {};

TEST_P(PlainCudaLogits, OfRaggedSlots) {
  test::Variable apart("SINTER_CUDA_OVERLAP", "0");
  CompiledModel model(GetParam());
  CompileOptions plain = options({"prefill", "decode"}, 2, 7, DType::F32);
  plain.disabledPasses = {"sinter-absorb-norms", "sinter-absorb-heads"};
  model.compileForLogits(plain);
  model.runRagged([&](std::span<const float> logits, int64_t position) {
    EXPECT_LE(model.errorOf(logits, position, 1), 1e-5) << position;
  });
  EXPECT_EQ(fake.statistics().overlaps, 0u);
}

INSTANTIATE_TEST_SUITE_P(Models, PlainCudaLogits, testing::Values("gpt2", "llama"), nameModelTest);

// Where the device chooses, whatever it chooses.
class TunedCudaLogits : public CudaLogits {};

TEST_P(TunedCudaLogits, OfRaggedSlots) {
  std::string pattern = testing::TempDir() + "sinter-tuning-XXXXXX";
  std::filesystem::path folder = mkdtemp(pattern.data());
  test::Variable cache("SINTER_CACHE_DIR", folder.string());
  CompiledModel model(GetParam());
  CompileOptions tuned = options({"prefill", "decode"}, 2, 7, DType::F32);
  tuned.tune = true;
  model.compileForLogits(tuned);
  EXPECT_FALSE(std::filesystem::is_empty(folder / "tuning"));
  model.runRagged([&](std::span<const float> logits, int64_t position) {
    EXPECT_LE(model.errorOf(logits, position, 1), 1e-5) << position;
  });
  std::filesystem::remove_all(folder);
}

INSTANTIATE_TEST_SUITE_P(Models, TunedCudaLogits, testing::Values("llama"), nameModelTest);

class NarrowCudaLogits : public CudaLogits {};

TEST_P(NarrowCudaLogits, InBf16) { EXPECT_LE(errorOfAll(DType::BF16), 2e-2); }

TEST_P(NarrowCudaLogits, InF16) { EXPECT_LE(errorOfAll(DType::F16), 3e-3); }

// Heads of one size or another, grouped, windows and soft caps; a head size that matrix units take.
INSTANTIATE_TEST_SUITE_P(Models, NarrowCudaLogits,
                         testing::Values("gpt2", "gemma2", "llama-head-80", "sinter-mixed"),
                         nameModelTest);

// Linear attention: in bf16 the convolutions, the decays and the betas begin with products that are
// rounded, which a processor's are not.
class LinearNarrowCudaLogits : public CudaLogits {};

TEST_P(LinearNarrowCudaLogits, AreThoseOfTheReference) {
  EXPECT_LE(errorOfAll(DType::BF16), 3e-2);
  EXPECT_LE(errorOfAll(DType::F16), 3e-3);
}

INSTANTIATE_TEST_SUITE_P(Models, LinearNarrowCudaLogits, testing::Values("qwen3_5"), nameModelTest);

// Text, through the replayed graphs: two slots of different lengths, one of them sampled.
class CudaText : public CudaLogits {};

TEST_P(CudaText, IsTheProcessors) {
  CompileOptions target = options({"prefill", "decode"}, 2, 4, DType::F32);
  auto generate = [&] {
    CompiledModel model(GetParam());
    model.compile(target);
    auto prompt = [&](int64_t count) {
      return std::vector<int32_t>(model.tokens.begin(), model.tokens.begin() + count);
    };
    runtime::GenerateRequest greedy{prompt(5), 8, {}}, sampled{prompt(3), 6, {}};
    sampled.sampling.temperature = 0.8f;
    sampled.sampling.topK = 20;
    sampled.sampling.seed = 3;
    return model.generate({greedy, sampled});
  };
  std::vector<std::vector<int32_t>> gpu = generate();
  EXPECT_GT(fake.statistics().graphs, 0u);
  EXPECT_GT(fake.statistics().overlaps, 0u);
  ASSERT_EQ(gpu.size(), 2u);
  EXPECT_EQ(gpu[0].size(), 8u);
  EXPECT_EQ(gpu[1].size(), 6u);
  target.target = CompileOptions().target;
  EXPECT_EQ(gpu, generate());
}

INSTANTIATE_TEST_SUITE_P(Models, CudaText, testing::Values("gpt2", "llama", "gemma2"),
                         nameModelTest);

// What is rounded to 8 or 4 bits, weights and caches, as processors compute it from the same
// numbers.
class IntegerCudaLogits : public CudaLogits {
protected:
  using Prepare = std::function<void(CompiledModel &)>;

  /// Every row of logits: of prefill and decode, and of `logits` at once.
  std::vector<float> rows(const CompileOptions &options, const Prepare &prepare) {
    std::vector<float> all;
    {
      CompiledModel model(GetParam());
      prepare(model);
      CompileOptions steps = options;
      steps.entries = {"prefill", "decode"};
      model.compileForLogits(steps);
      model.runRagged([&](std::span<const float> logits, int64_t) {
        all.insert(all.end(), logits.begin(), logits.end());
      });
    }
    CompiledModel model(GetParam());
    prepare(model);
    CompileOptions whole = options;
    whole.entries = {"logits"};
    whole.batch = 1;
    whole.chunk = model.length;
    model.compile(whole);
    std::vector<float> logits = model.logits();
    all.insert(all.end(), logits.begin(), logits.end());
    return all;
  }

  /// ||GPU - processor|| / ||processor|| of all rows; the processor computes in f32, of a model
  /// that is prepared in the same way if no other is given.
  double distanceToProcessors(
      CompileOptions target, const Prepare &prepare = [](CompiledModel &) {},
      const Prepare &ofProcessor = nullptr) {
    std::vector<float> gpu = rows(target, prepare);
    target.target = CompileOptions().target;
    target.computeType = DType::F32;
    if (sizeOf(*target.cacheType) > 1)
      target.cacheType = DType::F32;
    std::vector<float> processor = rows(target, ofProcessor ? ofProcessor : prepare);
    EXPECT_EQ(gpu.size(), processor.size());
    double difference = 0, norm = 0;
    for (size_t i = 0; i < std::min(gpu.size(), processor.size()); ++i) {
      difference += std::pow(double(gpu[i]) - processor[i], 2);
      norm += std::pow(double(processor[i]), 2);
    }
    double distance = std::sqrt(difference / norm);
    RecordProperty("distance", std::to_string(distance));
    return distance;
  }

  CompileOptions withWeights(const std::string &weights, DType type) {
    CompileOptions target = options({}, 2, 7, type);
    target.weights = weights;
    target.weightsGroup = 8;
    target.quantizesHead = true;
    return target;
  }
  CompileOptions withCache(DType cache, DType type) {
    CompileOptions target = options({}, 2, 7, type);
    target.cacheType = cache;
    return target;
  }
};

// By few rows and by many, with what is fused into either.
TEST_P(IntegerCudaLogits, OfWeightsAreTheProcessors) {
  EXPECT_LE(distanceToProcessors(withWeights("int8", DType::F32)), 1e-5);
  EXPECT_LE(distanceToProcessors(withWeights("int4", DType::F32)), 1e-5);
}

// The same in bf16.
class NarrowIntegerCudaLogits : public IntegerCudaLogits {};

TEST_P(NarrowIntegerCudaLogits, OfWeightsInBf16) {
  EXPECT_LE(distanceToProcessors(withWeights("int8", DType::BF16)), 2e-2);
  EXPECT_LE(distanceToProcessors(withWeights("int4", DType::BF16)), 2e-2);
}

INSTANTIATE_TEST_SUITE_P(Models, NarrowIntegerCudaLogits, testing::Values("llama"), nameModelTest);

// Files' integers, of which tables are looked up and multiplied by: scales of 16 bits are the
// numbers that they would be in f32, to the last bit of what is computed.
class ScalesCudaLogits : public IntegerCudaLogits {};

TEST_P(ScalesCudaLogits, OfHalfTheBitsAreThoseOfAll) {
  for (IntegerFormat format : {IntegerFormat{DType::I4, 4, DType::F16, false},
                               {DType::I4, 4, DType::BF16, true},
                               {DType::I8, 4, DType::BF16, false},
                               {DType::I8, 4, DType::F16, true}}) {
    auto stored = [&](DType type) {
      return [&format, type](CompiledModel &model) {
        IntegerFormat as = format;
        as.scaleType = type;
        model.useIntegers(as, format.scaleType);
      };
    };
    CompileOptions target = options({}, 2, 7, DType::F32);
    EXPECT_EQ(rows(target, stored(format.scaleType)), rows(target, stored(DType::F32)));
    EXPECT_LE(distanceToProcessors(target, stored(format.scaleType)), 1e-5);
    target.computeType = target.cacheType = DType::BF16;
    EXPECT_EQ(rows(target, stored(format.scaleType)), rows(target, stored(DType::F32)));
  }
}

INSTANTIATE_TEST_SUITE_P(Models, ScalesCudaLogits, testing::Values("gemma2"), nameModelTest);

// Sums of integers are a processor's to the last bit; where a row's numbers before them differ in
// theirs, one may be rounded the other way, which is a step of its row's 127th: on llama
// a processor's are 1.7e-3 off the reference by that.
TEST_P(IntegerCudaLogits, OfActivationsAreTheProcessors) {
  for (auto [type, most] : {std::pair(DType::F32, 1e-2), {DType::BF16, 4e-2}}) {
    CompileOptions target = withWeights("int8", type);
    target.activations = "int8";
    EXPECT_LE(distanceToProcessors(target), most);
  }
}

// Where sums differ in their last bit, a number may be rounded the other way, which is a step of
// its row's 127th, or of e4m3's eighth.
TEST_P(IntegerCudaLogits, OfCachesAreTheProcessors) {
  EXPECT_LE(distanceToProcessors(withCache(DType::I8, DType::F32)), 1e-3);
  EXPECT_LE(distanceToProcessors(withCache(DType::E4M3, DType::F32)), 1e-3);
}

TEST_P(IntegerCudaLogits, OfCachesInBf16) {
  EXPECT_LE(distanceToProcessors(withCache(DType::I8, DType::BF16)), 2e-2);
  EXPECT_LE(distanceToProcessors(withCache(DType::E4M3, DType::BF16)), 5e-2);
}

INSTANTIATE_TEST_SUITE_P(Models, IntegerCudaLogits, testing::Values("gpt2", "llama"),
                         nameModelTest);

// Experts' matrices, rounded or of a file: a step multiplies few rows by each of them, and `logits`
// many. In bf16 a token whose last expert is barely likelier than the next may go elsewhere.
class ExpertsCudaLogits : public IntegerCudaLogits {};

TEST_P(ExpertsCudaLogits, OfInt8AreTheProcessors) {
  EXPECT_LE(distanceToProcessors(withWeights("int8", DType::F32)), 1e-5);
}

TEST_P(ExpertsCudaLogits, OfInt4InBf16AreTheProcessors) {
  EXPECT_LE(distanceToProcessors(withWeights("int4", DType::BF16)), 0.16);
}

INSTANTIATE_TEST_SUITE_P(Models, ExpertsCudaLogits,
                         testing::Values("qwen2_moe-one", "gpt_oss-mxfp4"), nameModelTest);

class StoredExpertsCudaLogits : public IntegerCudaLogits {};

TEST_P(StoredExpertsCudaLogits, AreTheProcessors) {
  for (IntegerFormat format : {IntegerFormat{DType::I4, 4, DType::F16, true},
                               IntegerFormat{DType::I8, 4, DType::BF16, false}}) {
    auto stored = [&](CompiledModel &model) { model.useIntegers(format, format.scaleType); };
    EXPECT_LE(distanceToProcessors(options({}, 2, 7, DType::F32), stored), 1e-5);
  }
}

// Processors multiply experts by what numbers of fp8 stand for.
TEST_P(StoredExpertsCudaLogits, OfFp8AreTheProcessors) {
  auto stored = [](bool widened) {
    return [widened](CompiledModel &model) {
      model.useIntegers({DType::E4M3, 4, DType::F32}, DType::F32, widened);
    };
  };
  for (auto [type, most] : {std::pair(DType::F32, 1e-5), {DType::BF16, 0.16}})
    EXPECT_LE(distanceToProcessors(options({}, 2, 7, type), stored(false), stored(true)), most);
}

INSTANTIATE_TEST_SUITE_P(Models, StoredExpertsCudaLogits, testing::Values("sinter-experts"),
                         nameModelTest);

// Attention and the MLP of a layer side by side, whether that pays or not and in whatever order the
// streams go on.
class StreamsCudaLogits : public CudaLogits {};

TEST_P(StreamsCudaLogits, AreThoseOfOneStream) {
  auto logits = [&](bool several) {
    CompiledModel model(GetParam());
    CompileOptions target = options({"logits"}, 1, model.length, DType::F32);
    target.disabledPasses = {"sinter-assign-streams"};
    if (several)
      target.addedPasses = {"after:Memory:sinter-assign-streams{always}", //
                            "after:Memory:sinter-verify-memory"};
    model.compile(target);
    return model.logits();
  };
  std::vector<float> one = logits(/*several=*/false);
  EXPECT_EQ(fake.calls("cuStreamWaitEvent"), 0u);
  for (unsigned seed : {0u, 1u, 2u}) {
    fake.setStreamSeed(seed);
    EXPECT_EQ(logits(/*several=*/true), one) << seed;
  }
  EXPECT_GT(fake.calls("cuStreamWaitEvent"), 0u);
}

INSTANTIATE_TEST_SUITE_P(Models, StreamsCudaLogits, testing::Values("gpt_neox"), nameModelTest);

} // namespace

#include "runtime/Base/HalfFloat.h"
#include "runtime/Weights/Safetensors.h"
#include "test/unit/Training/TrainRun.h"
#include "test/unit/Weights/TestFiles.h"
#include <map>

using namespace sinter;
using namespace sinter::runtime;
using namespace sinter::runtime::testing;
using sinter::test::TemporaryDirectory;

namespace {

std::string errorOf(const Expected<std::unique_ptr<Trainer>> &trainer) {
  return trainer ? "" : trainer.error().message();
}

TEST(Trainer, LearnsAndTellsOfEveryStep) {
  TrainOptions options = trainOptions(60);
  options.schedule.kind = ScheduleKind::Linear;
  options.schedule.warmup = 5;
  RunResult run = runTrainer({}, options);
  ASSERT_EQ(run.error, "");
  ASSERT_EQ(run.records.size(), 60u);
  for (uint64_t step = 0; step < 60; ++step) {
    const StepRecord &record = run.records[step];
    EXPECT_EQ(record.step, step);
    EXPECT_EQ(record.tokens, (step + 1) * 8);
    EXPECT_EQ(record.learningRate, options.schedule.at(step));
    EXPECT_GT(record.gradNorm, 0);
    EXPECT_GT(record.stepMs, 0);
    EXPECT_GT(record.tokensPerSecond, 0);
    EXPECT_GT(record.peakBytes, 0u);
    EXPECT_FALSE(record.skipped);
    EXPECT_FALSE(record.validationLoss);
  }
  EXPECT_GT(run.records.front().loss, 1.5);
  EXPECT_LT(run.records.back().loss, 1.3);
  EXPECT_EQ(run.result.steps, 60u);
  EXPECT_FALSE(run.result.stopped);
}

// The same step in double precision.
TEST(Trainer, StepIsTheOneOfTheFormula) {
  TrainOptions options = trainOptions(1);
  options.order = DataOrder::Sequential;
  auto trainer = makeTrainer({}, options);
  ASSERT_TRUE(trainer) << trainer.error().message();
  std::vector<float> before = stateOf(**trainer, "table.weight");
  std::vector<int32_t> ids = regularIds(300);
  std::vector<double> gradient(before.size());
  double loss = 0;
  for (size_t i = 0; i < 8; ++i) {
    size_t row = static_cast<size_t>(ids[i] * vocabulary), target = size_t(ids[i + 1]);
    double sum = 0;
    for (size_t j = 0; j < size_t(vocabulary); ++j)
      sum += std::exp(before[row + j]);
    loss -= (before[row + target] - std::log(sum)) / 8;
    for (size_t j = 0; j < size_t(vocabulary); ++j)
      gradient[row + j] += (std::exp(before[row + j]) / sum - double(j == target)) / 8;
  }
  auto record = (*trainer)->step();
  ASSERT_TRUE(record);
  EXPECT_NEAR(record->loss, loss, 1e-6);
  double rate = 0.5 * (1 - 0.9) / (1 - 0.95) * 1.001;
  std::vector<float> after = stateOf(**trainer, "table.weight");
  for (size_t i = 0; i < before.size(); ++i)
    EXPECT_NEAR(after[i], before[i] - rate * gradient[i], 1e-6);
}

TEST(Trainer, AccumulationIsOneLargeBatch) {
  for (bool documents : {false, true}) {
    TrainOptions options = trainOptions(10);
    options.order = DataOrder::Sequential;
    if (documents)
      options.endOfText = 3; // microbatches then have different numbers of targets
    TrainModel large{4, 4, false, false, documents}, small{2, 4, true, false, documents};
    RunResult whole = runTrainer(large, options);
    options.accumulate = 2;
    RunResult parts = runTrainer(small, options);
    ASSERT_EQ(whole.error + parts.error, "");
    for (size_t i = 0; i < 10; ++i) {
      EXPECT_NEAR(whole.records[i].loss, parts.records[i].loss, 1e-5);
      EXPECT_NEAR(whole.records[i].gradNorm, parts.records[i].gradNorm, 1e-5);
      EXPECT_EQ(whole.records[i].tokens, parts.records[i].tokens);
    }
  }
}

TEST(Trainer, AnUpdateHasTheSeedOfItsLastMicrobatch) {
  TrainOptions options = trainOptions(3);
  options.accumulate = 2;
  TrainModel model{2, 4, /*accumulates=*/true};
  model.seeds = true;
  auto trainer = makeTrainer(model, options);
  ASSERT_TRUE(trainer) << trainer.error().message();
  Session &session = (*trainer)->getSession();
  BatchOptions batches;
  batches.batch = 2;
  batches.sequence = 4;
  batches.seed = options.seed;
  BatchReader reader(streamOf(regularIds(300)), batches);
  for (uint64_t step = 0; step < 3; ++step) {
    ASSERT_TRUE((*trainer)->step());
    Microbatch last;
    reader.read(2 * step + 1, last);
    auto words = session.input(*session.program("update"), "seed", DType::I32)->as<int32_t>();
    EXPECT_EQ((std::array<int32_t, 2>{words[0], words[1]}), last.seed);
  }
}

TEST(Trainer, BitsDoNotDependOnTheThreads) {
  TrainOptions options = trainOptions(20);
  RunResult one = runTrainer({}, options);
  options.session.threads = 3;
  RunResult three = runTrainer({}, options);
  EXPECT_EQ(one.losses(), three.losses());
  expectSameEnd(one, three);
}

TEST(Trainer, ParametersBeginAsTheExecutableSays) {
  auto trainer = makeTrainer({}, trainOptions(1));
  ASSERT_TRUE(trainer);
  std::vector<float> table = stateOf(**trainer, "table.weight");
  double square = 0;
  for (float value : table)
    square += double(value) * value / double(table.size());
  EXPECT_NEAR(std::sqrt(square), 0.5, 0.15);
  EXPECT_EQ(stateOf(**trainer, "head.bias"), std::vector<float>(vocabulary, 0));
  EXPECT_EQ(stateOf(**makeTrainer({}, trainOptions(1)), "table.weight"), table);
  TrainOptions other = trainOptions(1);
  other.seed = 12;
  EXPECT_NE(stateOf(**makeTrainer({}, other), "table.weight"), table);
}

struct TestWeights : WeightSource {
  std::map<std::string, StoredTensor, std::less<>> tensors;
  std::optional<StoredTensor> find(std::string_view name) const override {
    auto found = tensors.find(name);
    return found == tensors.end() ? std::nullopt : std::optional(found->second);
  }
};

TEST(Trainer, ParametersComeFromWeightsOfAnyFloat) {
  std::vector<uint16_t> table(vocabulary * vocabulary);
  for (size_t i = 0; i < table.size(); ++i)
    table[i] = floatToBf16(float(i) / 8);
  std::vector<float> bias(vocabulary, 0.25f);
  TestWeights weights;
  weights.tensors["table.weight"] = {
      DType::BF16, {vocabulary, vocabulary}, std::as_bytes(std::span(table))};
  weights.tensors["head.bias"] = {DType::F32, {vocabulary}, std::as_bytes(std::span(bias))};
  TrainOptions options = trainOptions(1);
  options.weights = &weights;
  auto trainer = makeTrainer({}, options);
  ASSERT_TRUE(trainer) << trainer.error().message();
  EXPECT_EQ(stateOf(**trainer, "table.weight")[17], bf16ToFloat(table[17]));
  EXPECT_EQ(stateOf(**trainer, "head.bias"), bias);

  weights.tensors["head.bias"].shape = {vocabulary, 1};
  EXPECT_EQ(errorOf(makeTrainer({}, options)),
            "tensor 'head.bias': is F32 [8, 1] in the weights, the model has F32 [8]; give the "
            "weights of this model");
  weights.tensors.erase("head.bias");
  EXPECT_EQ(errorOf(makeTrainer({}, options)), "tensor 'head.bias': is missing from the weights; "
                                               "give the weights of this model");
}

TEST(Trainer, EvaluatesAllOfTheValidationData) {
  TrainOptions options = trainOptions(10);
  options.evaluateEvery = 4;
  std::vector<int32_t> validation = regularIds(21); // not a whole number of batches
  RunResult run = runTrainer({}, options, regularIds(300), validation);
  ASSERT_EQ(run.error, "");
  for (size_t step = 0; step < 10; ++step)
    EXPECT_EQ(run.records[step].validationLoss.has_value(), step == 3 || step == 7 || step == 9);
  double loss = 0;
  for (size_t i = 0; i < 20; ++i) {
    double sum = 0;
    auto logit = [&](int64_t j) {
      return double(run.table[size_t(validation[i] * vocabulary + j)]) + run.bias[size_t(j)];
    };
    for (int64_t j = 0; j < vocabulary; ++j)
      sum += std::exp(logit(j));
    loss += (std::log(sum) - logit(validation[i + 1])) / 20;
  }
  EXPECT_NEAR(*run.records[9].validationLoss, loss, 1e-5);
}

TEST(Trainer, EvaluationChangesNothing) {
  TrainOptions options = trainOptions(10);
  RunResult without = runTrainer({}, options);
  options.evaluateEvery = 1;
  expectSameEnd(without, runTrainer({}, options, regularIds(300), regularIds(40)));
}

TEST(Trainer, WritesTheModel) {
  TemporaryDirectory directory;
  auto trainer = makeTrainer({}, trainOptions(3));
  ASSERT_TRUE((*trainer)->run());
  std::string path = (directory.path / "model.safetensors").string();
  ASSERT_TRUE((*trainer)->writeModel(path));
  std::ifstream stream(path, std::ios::binary);
  std::string file(std::istreambuf_iterator<char>(stream), {});
  EXPECT_NE(file.find(R"("__metadata__":{"format":"pt"})"), std::string::npos);
  auto tensors = readSafetensors(sinter::test::bytesOf(file), "model");
  ASSERT_TRUE(tensors) << tensors.error().message();
  ASSERT_EQ(tensors->size(), 2u);
  const Tensor &table = (*tensors)[1];
  EXPECT_EQ(table.name, "table.weight");
  std::vector<float> expected = stateOf(**trainer, "table.weight");
  EXPECT_EQ(std::memcmp(table.data.data(), expected.data(), table.data.size()), 0);
  EXPECT_FALSE((*trainer)->writeModel("/no/such/folder/model.safetensors"));
}

TEST(Trainer, MemoryIsPredicted) {
  TemporaryDirectory directory;
  for (uint64_t saveEvery : {0, 5}) {
    TrainModel model{2, 4, true, false, true};
    TrainOptions options = trainOptions(1, directory.path.string());
    options.saveEvery = saveEvery;
    options.accumulate = 3;
    options.endOfText = 3;
    auto trainer = makeTrainer(model, options);
    ASSERT_TRUE(trainer) << trainer.error().message();
    auto predicted = predictTrainMemory(*model.parts().load(), options, false);
    ASSERT_TRUE(predicted) << predicted.error().message();
    TrainMemory measured = (*trainer)->getMemory();
    EXPECT_EQ(predicted->getPeak(), measured.getPeak());
    EXPECT_EQ(predicted->session.state, uint64_t(3 * parameterCount * 4));
    // Both files end on pages of their own.
    EXPECT_EQ(predicted->snapshot, saveEvery ? 8192u : 0u);
    EXPECT_EQ(predicted->batches, 2u * 3 * 3 * 8 * 4);
  }
}

//===----------------------------------------------------------------------===//
// Numbers that are not finite
//===----------------------------------------------------------------------===//

std::vector<int32_t> idsWithPoisonAt(size_t place) {
  std::vector<int32_t> ids = regularIds(300);
  ids[place] = poison;
  return ids;
}

TEST(Trainer, NamesStepOpAndLayerOfTheFirstNaN) {
  for (bool accumulates : {false, true}) {
    TemporaryDirectory directory;
    TrainOptions options = trainOptions(20, directory.path.string());
    options.order = DataOrder::Sequential;
    options.saveEvery = 2;
    options.accumulate = accumulates ? 2 : 1;
    // Microbatch 11 holds tokens 88 to 95, its last target is token 96.
    size_t step = accumulates ? 5 : 11;
    RunResult run = runTrainer({2, 4, accumulates, false, false}, options, idsWithPoisonAt(96));
    std::string last =
        (directory.path / "checkpoints" / ("step-" + std::to_string(step / 2 * 2))).string();
    EXPECT_EQ(run.error, "step " + std::to_string(step) +
                             ": the loss is nan; nan first shows in poison of layer.1; lower `lr` "
                             "or raise `warmup`; the last checkpoint is " +
                             last);
    EXPECT_EQ(run.records.size(), step);
    // The parameters are those before the step.
    options.directory.clear();
    options.schedule.steps = step;
    expectSameEnd(run, runTrainer({2, 4, accumulates, false, false}, options, regularIds(300)));
  }
}

TEST(Trainer, NamesAParameterThatIsNotFinite) {
  std::vector<float> table(vocabulary * vocabulary), bias(vocabulary);
  table[3] = NAN;
  TestWeights weights;
  weights.tensors["table.weight"] = {
      DType::F32, {vocabulary, vocabulary}, std::as_bytes(std::span(table))};
  weights.tensors["head.bias"] = {DType::F32, {vocabulary}, std::as_bytes(std::span(bias))};
  TrainOptions options = trainOptions(3);
  options.weights = &weights;
  RunResult run = runTrainer({}, options);
  EXPECT_EQ(run.error, "step 0: the loss is nan, since the parameter 'table.weight' is not finite "
                       "before it; lower `lr` or raise `warmup`");
}

TEST(Trainer, LossScalerSkipsSteps) {
  TrainOptions options = trainOptions(6);
  options.order = DataOrder::Sequential;
  options.scaler = {1024, 2, 0.5, 2};
  TrainModel model{2, 4, false, true, false};
  std::vector<int32_t> ids = idsWithPoisonAt(24); // a target of microbatch 2, a token of 3
  RunResult run = runTrainer(model, options, ids);
  ASSERT_EQ(run.error, "");
  for (size_t step = 0; step < 6; ++step)
    EXPECT_EQ(run.records[step].skipped, step == 2);
  EXPECT_EQ(run.records[2].lossScale, 2048);
  EXPECT_EQ(run.records[3].lossScale, 1024);
  // A skipped step is none of the updates that the bias corrections count.
  auto trainer = makeTrainer(model, options, ids);
  for (int i = 0; i < 3; ++i)
    ASSERT_TRUE((*trainer)->step());
  EXPECT_EQ((*trainer)->getSession().input(0, "update", DType::F32)->as<float>()[0], 3);
  EXPECT_EQ((*trainer)->getSession().input(0, "loss_scale", DType::F32)->as<float>()[0], 2048);
  ASSERT_TRUE((*trainer)->step());
  EXPECT_EQ((*trainer)->getSession().input(0, "update", DType::F32)->as<float>()[0], 3);
  EXPECT_EQ((*trainer)->getSession().input(0, "loss_scale", DType::F32)->as<float>()[0], 1024);
}

TEST(Trainer, LossScalerGivesUpWhereNoScaleHelps) {
  TrainOptions options = trainOptions(1000);
  RunResult run =
      runTrainer({2, 4, false, true, false}, options, std::vector<int32_t>(300, poison));
  EXPECT_EQ(run.records.size(), 40u);
  EXPECT_EQ(run.error, "step 40: the loss is nan; nan first shows in poison of layer.1, however "
                       "small the loss scale; lower `lr` or raise `warmup`");
}

//===----------------------------------------------------------------------===//
// What cannot be trained
//===----------------------------------------------------------------------===//

TEST(Trainer, RefusesOptionsThatCannotBe) {
  TrainOptions options = trainOptions(3);
  options.schedule.minimum = 1;
  EXPECT_NE(errorOf(makeTrainer({}, options)).find("`min_lr`"), std::string::npos);
  options = trainOptions(3);
  options.accumulate = 0;
  EXPECT_NE(errorOf(makeTrainer({}, options)).find("`accumulate`"), std::string::npos);
  options = trainOptions(3);
  options.endOfText = 3;
  EXPECT_NE(errorOf(makeTrainer({}, options)).find("its programs know no documents"),
            std::string::npos);
  options = trainOptions(3, "/dev/null/folder");
  EXPECT_NE(errorOf(makeTrainer({}, options)).find("/dev/null/folder/checkpoints"),
            std::string::npos);
}

TEST(Trainer, RefusesTooFewTokens) {
  EXPECT_NE(errorOf(makeTrainer({}, trainOptions(3), regularIds(8)))
                .find("there are 8 tokens, a step of 2 x 4 tokens needs 9"),
            std::string::npos);
  EXPECT_EQ(errorOf(makeTrainer({}, trainOptions(3), regularIds(9))), "");
  EXPECT_NE(errorOf(makeTrainer({}, trainOptions(3), regularIds(9), regularIds(1)))
                .find("there is 1 token, a token and its target needs 2"),
            std::string::npos);
}

TEST(Trainer, RefusesExecutablesOfOtherRuns) {
  TrainOptions options = trainOptions(3);
  options.accumulate = 2;
  EXPECT_NE(errorOf(makeTrainer({}, options))
                .find("it has no program 'accumulate', which a step of 2 microbatches needs"),
            std::string::npos);
  auto errorFor = [&](const Parts &parts) {
    TrainData data{streamOf(regularIds(300)), streamOf(regularIds(300))};
    return errorOf(Trainer::create(*parts.load(), std::move(data), trainOptions(3)));
  };
  Parts parts = TrainModel().parts();
  EXPECT_EQ(errorFor(parts), "");
  parts.programs.pop_back();
  EXPECT_NE(errorFor(parts).find("no program 'evaluate'"), std::string::npos);
  parts = TrainModel().parts();
  parts.programs[0].inputs[1].shape = {4, 2};
  EXPECT_NE(errorFor(parts).find("its input 'targets' has another shape"), std::string::npos);
  parts = TrainModel().parts();
  parts.programs[0].inputs[1].name = "labels";
  EXPECT_NE(errorFor(parts).find("its input 'labels' is none that training sets"),
            std::string::npos);
  parts = TrainModel().parts();
  parts.programs[0].inputs[2].dtype = fb::DType::I32;
  EXPECT_NE(errorFor(parts).find("'loss_weight' is I32, not F32"), std::string::npos);
  parts = TrainModel().parts();
  parts.programs[0].outputs.pop_back();
  EXPECT_NE(errorFor(parts).find("lack tokens, 'loss' or 'grad_norm'"), std::string::npos);
  parts = TrainModel().parts();
  parts.checkpoint[0].name = "table";
  EXPECT_NE(errorFor(parts).find("its parameter 'table' is no state of that shape in f32"),
            std::string::npos);
}

} // namespace

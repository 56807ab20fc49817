#include "test/e2e/TrainedModel.h"
#include "frontends/Graph/ModelGraph.h"
#include "test/e2e/KeptWeights.h"
#include "test/support/TestCache.h"
#include "test/support/ValueOf.h"
#include "gtest/gtest.h"
#include <array>
#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <random>

namespace sinter::test {

static nlohmann::json readJson(const std::filesystem::path &path) {
  std::ifstream file(path);
  auto json = nlohmann::json::parse(file, nullptr, /*allow_exceptions=*/false);
  EXPECT_TRUE(json.is_object()) << path;
  return json;
}

static ModelSpec readSpec(const std::string &name, const OtherSizes &sizes) {
  nlohmann::json config = readJson(findModel(name) / "config.json");
  auto change = [&](std::initializer_list<const char *> keys, int64_t size) {
    for (const char *key : keys)
      if (size != 0 && config.contains(key))
        config[key] = size;
  };
  change({"n_layer", "num_hidden_layers"}, sizes.layers);
  change({"n_inner", "intermediate_size"}, sizes.mlp);
  change({"num_key_value_heads"}, sizes.keyHeads);
  config.erase("layer_types");
  return valueOf(parseModelSpec(config.dump(), name));
}

/// Empty where a model has none.
static nlohmann::json readReference(const std::string &name) {
  std::filesystem::path path = findModel(name) / "training.json";
  return std::filesystem::exists(path) ? readJson(path) : nlohmann::json::object();
}

struct TrainedModel::Impl {
  explicit Impl(const std::string &name)
      : spec(valueOf(loadModelSpec(findModel(name)))), weights(openWeights(findModel(name), spec)),
        reference(readReference(name)) {}
  Impl(const std::string &name, const OtherSizes &sizes)
      : spec(readSpec(name, sizes)), reference(readReference(name)) {}

  ModelSpec spec;
  std::unique_ptr<runtime::WeightSource> weights; ///< or null
  nlohmann::json reference;
  std::vector<int32_t> text; ///< instead of the reference's tokens, unless it is empty
};

TrainedModel::TrainedModel(const std::string &name) : impl(std::make_unique<Impl>(name)) {}
TrainedModel::TrainedModel(const std::string &name, const OtherSizes &sizes)
    : impl(std::make_unique<Impl>(name, sizes)) {}
TrainedModel::~TrainedModel() = default;

void TrainedModel::readRandomText(uint64_t count) {
  std::minstd_rand random(1);
  std::vector<std::array<int32_t, 3>> followers(impl->spec.vocabSize);
  for (auto &each : followers)
    for (int32_t &token : each)
      token = static_cast<int32_t>(random() % followers.size());
  int32_t token = 0;
  for (uint64_t i = 0; i < count; ++i) {
    impl->text.push_back(token);
    uint64_t chance = random() % 8;
    token = followers[token][chance < 5 ? 0 : chance < 7 ? 1 : 2];
  }
}

CompileOptions TrainedModel::options() const {
  CompileOptions result;
  result.entries = {"train_step"};
  result.batch = kBatch;
  result.chunk = result.maxSequence = kSequence;
  return result;
}

std::shared_ptr<const runtime::Executable>
TrainedModel::compile(const CompileOptions &options) const {
  CompileRequest request;
  request.kernelCache = kernelCache();
  request.graph = makeModelGraph(impl->spec);
  request.options = options;
  for (const ParameterInfo &parameter : impl->spec.getParameters())
    request.parameterTypes[parameter.name] =
        impl->weights ? impl->weights->find(parameter.name)->dtype : DType::F32;
  auto executable = valueOf(runtime::Executable::fromFlatbuffer(
      valueOf(sinter::compile(request)).executable, "the executable"));
  // Within 5 % and a few cache lines, which such small arenas feel. On ranks what does not fit two
  // or three buffers among small ones is a few KiB, on one processor or another: 22 of 173 KiB of
  // mixtral's by tensor=2 with AVX2.
  double most = options.grid.empty() ? 1.05 : 1.15;
  double slack = options.grid.empty() ? 256 : 4096;
  for (const fb::Program *program : *executable->getRoot().programs())
    EXPECT_LE(double(program->arena_bytes()), most * double(program->arena_lower_bound()) + slack)
        << program->name()->str();
  return executable;
}

runtime::TrainOptions TrainedModel::trainOptions(unsigned threads, double learningRate) const {
  runtime::TrainOptions options;
  options.schedule.learningRate = learningRate;
  options.schedule.steps = kSteps;
  options.order = runtime::DataOrder::Sequential;
  options.weights = impl->weights.get();
  options.session.threads = threads;
  return options;
}

runtime::TokenStream TrainedModel::tokens() const {
  std::vector<runtime::TokenFile> files;
  auto width = runtime::TokenWidth::Two;
  std::vector<int32_t> ids = impl->text;
  if (ids.empty() && impl->reference.contains("tokens"))
    ids = impl->reference["tokens"].get<std::vector<int32_t>>();
  else if (ids.empty())
    for (int64_t i = 0, count = kSteps * kBatch * (kSequence + 1); i < count; ++i)
      ids.push_back(static_cast<int32_t>(i * i % impl->spec.vocabSize));
  files.push_back(valueOf(runtime::TokenFile::fromMemory("tokens", packTokens(ids, width), width,
                                                         impl->spec.vocabSize)));
  return runtime::TokenStream(std::move(files));
}

TrainedSteps TrainedModel::train(std::shared_ptr<const runtime::Executable> executable,
                                 unsigned threads, double learningRate, uint64_t accumulate,
                                 uint64_t steps) const {
  runtime::TrainOptions options = trainOptions(threads, learningRate);
  options.accumulate = accumulate;
  auto trainer = valueOf(runtime::Trainer::create(executable, {tokens(), std::nullopt}, options));
  TrainedSteps result;
  for (uint64_t step = 0; step < steps; ++step) {
    runtime::StepRecord record = valueOf(trainer->step());
    result.losses.push_back(record.loss);
    result.norms.push_back(record.gradNorm);
  }
  for (const fb::CheckpointTensor *tensor : *executable->getRoot().checkpoint()) {
    std::string_view name = tensor->name()->string_view();
    size_t count = 1;
    for (int64_t extent : valueOf(trainer->getSession().state(name)).shape)
      count *= static_cast<size_t>(extent);
    std::vector<float> values(count);
    Expected<void> read =
        trainer->getSession().readState(name, std::as_writable_bytes(std::span(values)));
    EXPECT_TRUE(read) << read.error().message();
    result.parameters.insert(result.parameters.end(), values.begin(), values.end());
  }
  return result;
}

std::vector<double> TrainedModel::trainInTurns(
    const std::vector<std::shared_ptr<const runtime::Executable>> &executables, uint64_t steps,
    const std::filesystem::path &directory) const {
  std::vector<double> losses;
  runtime::TrainOptions options = trainOptions(/*threads=*/1, /*learningRate=*/3e-4);
  options.directory = directory.string();
  options.onStep = [&](const runtime::StepRecord &record) { losses.push_back(record.loss); };
  options.schedule.steps = 0;
  for (const auto &executable : executables) {
    options.schedule.steps += steps;
    auto trainer = valueOf(runtime::Trainer::create(executable, {tokens(), std::nullopt}, options));
    Expected<runtime::TrainResult> run = trainer->run();
    EXPECT_TRUE(run) << run.error().message();
    options.resume = true;
  }
  return losses;
}

std::vector<double> TrainedModel::expected(const char *key) const {
  return impl->reference[key].get<std::vector<double>>();
}

double worstDifference(const std::vector<double> &actual, const std::vector<double> &expected) {
  EXPECT_LE(actual.size(), expected.size());
  double worst = 0;
  for (size_t i = 0; i < std::min(actual.size(), expected.size()); ++i) {
    double difference = std::abs(actual[i] - expected[i]) / std::abs(expected[i]);
    worst = std::isnan(difference) ? HUGE_VAL : std::max(worst, difference);
  }
  return worst;
}

} // namespace sinter::test

#include "test/e2e/CompiledModel.h"
#include "frontends/Graph/ModelGraph.h"
#include "test/e2e/KeptWeights.h"
#include "test/support/StepLogits.h"
#include "test/support/TestCache.h"
#include "test/support/ValueOf.h"
#include "gtest/gtest.h"
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>

namespace sinter::test {

std::filesystem::path modelsFolder() {
  const char *other = std::getenv("SINTER_MODELS");
  return other ? other : SINTER_TEST_MODELS;
}

/// A folder beside that of the models: other models come alone.
static std::filesystem::path folderBeside(const char *name) {
  return modelsFolder().parent_path() / name;
}

static std::vector<std::string> listFolders(const std::filesystem::path &folder) {
  std::vector<std::string> names;
  std::error_code absent;
  for (const auto &entry : std::filesystem::directory_iterator(folder, absent))
    names.push_back(entry.path().filename().string());
  std::sort(names.begin(), names.end());
  return names;
}

std::vector<std::string> modelNames() { return listFolders(modelsFolder()); }

std::vector<std::string> wideModelNames() { return listFolders(folderBeside("wide")); }

std::vector<std::string> familyModelNames() { return listFolders(folderBeside("families")); }

std::filesystem::path findModel(const std::string &name) {
  for (const std::filesystem::path &folder : {modelsFolder(), folderBeside("families")})
    if (std::filesystem::exists(folder / name))
      return folder / name;
  return folderBeside("wide") / name;
}

static std::shared_ptr<const runtime::Executable> compileOnce(const CompileRequest &request) {
  return valueOf(runtime::Executable::fromFlatbuffer(valueOf(sinter::compile(request)).executable,
                                                     "the executable"));
}

std::shared_ptr<const runtime::Executable>
SharedExecutables::compile(const CompileRequest &request) {
  std::lock_guard lock(mutex);
  std::shared_ptr<const runtime::Executable> &known = executables[getCacheKey(request)];
  if (!known)
    known = compileOnce(request);
  return known;
}

CompiledModel::CompiledModel(const std::string &name)
    : spec(valueOf(loadModelSpec(findModel(name)))), name(name),
      weights(openWeights(findModel(name), spec)),
      expected(valueOf(WeightFiles::open(findModel(name) / "expected.safetensors"))) {
  const Tensor &ids = *expected.find("tokens");
  length = ids.shape[0];
  tokens.resize(length);
  std::memcpy(tokens.data(), ids.data.data(), ids.data.size());
}

void CompiledModel::useIntegers(const IntegerFormat &format, DType scales, bool widened) {
  auto rounded = std::make_unique<IntegerWeights>(std::move(weights), spec, format, scales);
  if (!widened)
    integerFormats = rounded->formats;
  weights = std::move(rounded);
}

void CompiledModel::compile(CompileOptions options, unsigned threads) {
  bind(std::move(options), threads, /*returnsLogits=*/false);
}

void CompiledModel::compileForLogits(const CompileOptions &options) {
  bind(options, /*threads=*/1, /*returnsLogits=*/true);
}

void CompiledModel::bind(CompileOptions options, unsigned threads, bool returnsLogits) {
  CompileRequest request;
  request.kernelCache = kernelCache();
  request.graph = makeModelGraph(spec);
  if (options.maxSequence == 0)
    options.maxSequence = length;
  request.options = options;
  request.contents.metadata = {{"vocab_size", std::to_string(spec.vocabSize)},
                               {"max_seq", std::to_string(options.maxSequence)},
                               {"eos_token_ids", ""}};
  for (const ParameterInfo &parameter : spec.getParameters())
    request.parameterTypes[parameter.name] = weights->find(parameter.name)->dtype;
  request.integerFormats = integerFormats;
  request.description = name + (returnsLogits ? ", logits" : "");
  if (returnsLogits)
    returnLogits(request, spec);
  auto executable = shared ? shared->compile(request) : compileOnce(request);
  runtime::BindOptions bindOptions;
  bindOptions.threads = threads;
  bindOptions.weights = weights.get();
  bindOptions.communicator = communicator;
  session = valueOf(runtime::Session::bind(executable, bindOptions));
  chunk = options.chunk;
}

std::vector<std::vector<int32_t>>
CompiledModel::generate(const std::vector<runtime::GenerateRequest> &requests) {
  runtime::Generator generator = valueOf(runtime::Generator::create(*session));
  std::vector<std::vector<int32_t>> made;
  for (const runtime::GenerateResult &result : valueOf(generator.run(requests)))
    made.push_back(result.tokens);
  return made;
}

std::vector<float> CompiledModel::step(const std::string &entry, const std::vector<int64_t> &start,
                                       const std::vector<int64_t> &count) {
  size_t program = valueOf(session->program(entry));
  auto input = [&](const char *name) {
    return valueOf(session->input(program, name, DType::I32)).as<int32_t>();
  };
  auto ids = input("tokens"), starts = input("start"), counts = input("count");
  std::fill(ids.begin(), ids.end(), 0);
  size_t width = ids.size() / starts.size();
  for (size_t slot = 0; slot < start.size(); ++slot) {
    std::copy_n(tokens.begin() + start[slot], count[slot], ids.begin() + slot * width);
    starts[slot] = static_cast<int32_t>(start[slot]);
    counts[slot] = static_cast<int32_t>(count[slot]);
  }
  Expected<void> run = session->run(program);
  EXPECT_TRUE(run) << run.error().message();
  auto logits = valueOf(session->output(program, "logits", DType::F32)).as<float>();
  return {logits.begin(), logits.end()};
}

std::vector<float> CompiledModel::logits() {
  session->clearState();
  std::vector<float> all;
  for (int64_t at = 0; at < length; at += chunk) {
    int64_t count = std::min(chunk, length - at);
    std::vector<float> rows = step("logits", {at}, {count});
    all.insert(all.end(), rows.begin(), rows.begin() + count * spec.vocabSize);
  }
  return all;
}

double CompiledModel::errorOf(std::span<const float> rows, int64_t first, int64_t count) const {
  const Tensor &logits = *expected.find("logits");
  double difference = 0, norm = 0;
  for (int64_t i = 0; i < count * spec.vocabSize; ++i) {
    float wanted;
    std::memcpy(&wanted, logits.data.data() + (first * spec.vocabSize + i) * sizeof(float),
                sizeof(float));
    difference += (double(rows[i]) - wanted) * (double(rows[i]) - wanted);
    norm += double(wanted) * wanted;
  }
  double error = std::sqrt(difference / norm);
  return std::isnan(error) ? std::numeric_limits<double>::infinity() : error;
}

double CompiledModel::worstError(std::span<const float> logits) const {
  double worst = 0;
  for (int64_t t = 0; t < length; ++t)
    worst = std::max(worst, errorOf(logits.subspan(t * spec.vocabSize), t, 1));
  return worst;
}

void CompiledModel::runRagged(const std::function<void(std::span<const float>, int64_t)> &check) {
  // Slot 0 runs ahead in full chunks, slot 1 comes behind with fewer tokens and pauses.
  session->clearState();
  std::vector<int64_t> start = {0, 0};
  auto run = [&](const char *entry, const std::vector<int64_t> &count) {
    std::vector<float> logits = step(entry, start, count);
    for (size_t slot = 0; slot < start.size(); ++slot) {
      start[slot] += count[slot];
      if (count[slot] > 0)
        check(std::span(logits).subspan(slot * spec.vocabSize, spec.vocabSize), start[slot] - 1);
    }
  };
  for (const std::vector<int64_t> &count : {std::vector<int64_t>{7, 3}, {7, 0}, {2, 6}, {0, 7}})
    run("prefill", count);
  while (start[0] < length)
    run("decode", {1, start[1] < length ? 1 : 0});
}

} // namespace sinter::test

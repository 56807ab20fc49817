#include "test/support/ReferenceModel.h"
#include "compiler/Reference/StepLogits.h"
#include "dialects/Sinter/SinterDialect.h"
#include "mlir/IR/Verifier.h"
#include "runtime/Base/HalfFloat.h"
#include "runtime/Format/PipelineStages.h"
#include "test/support/ValueOf.h"
#include "gtest/gtest.h"
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>

namespace sinter::test {

template <typename T> static T load(const Tensor &tensor, size_t index) {
  T value;
  std::memcpy(&value, tensor.data.data() + index * sizeof(T), sizeof(T));
  return value;
}

double elementOf(const Tensor &tensor, size_t index) {
  switch (*tensor.dtype) {
  case DType::BF16:
    return bf16ToFloat(load<uint16_t>(tensor, index));
  case DType::F16:
    return f16ToFloat(load<uint16_t>(tensor, index));
  case DType::I32:
    return load<int32_t>(tensor, index);
  default:
    return load<float>(tensor, index);
  }
}

std::filesystem::path modelsFolder() {
  const char *other = std::getenv("SINTER_MODELS");
  return other ? other : SINTER_TEST_MODELS;
}

std::vector<std::string> modelNames() {
  std::vector<std::string> names;
  for (const auto &entry : std::filesystem::directory_iterator(modelsFolder()))
    names.push_back(entry.path().filename().string());
  std::sort(names.begin(), names.end());
  return names;
}

std::string testNameOf(const std::string &model) {
  std::string name = model;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

ReferenceModel::ReferenceModel(const std::string &name)
    : spec(valueOf(loadModelSpec(modelsFolder() / name))),
      weights(valueOf(WeightFiles::open(modelsFolder() / name / "model.safetensors"))),
      expected(valueOf(WeightFiles::open(modelsFolder() / name / "expected.safetensors"))) {
  const Tensor &ids = *expected.find("tokens");
  length = ids.shape[0];
  for (int64_t i = 0; i < length; ++i)
    tokens.push_back(elementOf(ids, i));
}

void ReferenceModel::build(int64_t batch, int64_t chunk, std::vector<std::string> entries) {
  GraphOptions options;
  options.batch = batch;
  options.chunk = chunk;
  options.maxSequence = length + 3;
  options.ropeLength = length;
  options.entries = std::move(entries);
  for (const ParameterInfo &parameter : spec.getParameters())
    options.parameterTypes[parameter.name] = *weights.find(parameter.name)->dtype;
  module = valueOf(buildGraph(context, spec, options));
  sinter::returnLogits(*module);
  EXPECT_TRUE(mlir::succeeded(mlir::verify(*module)));
  reset();
}

void ReferenceModel::reset() {
  states.clear();
  preprocessed.clear();
}

ReferenceTensor ReferenceModel::argument(mlir::func::FuncOp function, unsigned index,
                                         const std::vector<int64_t> &start,
                                         const std::vector<int64_t> &count) {
  ReferenceTensor value(mlir::cast<mlir::RankedTensorType>(function.getArgumentTypes()[index]));
  auto bound = [&](llvm::StringRef attribute) -> std::string {
    auto name = function.getArgAttrOfType<mlir::StringAttr>(index, attribute);
    return name ? name.getValue().str() : "";
  };
  if (std::string name = bound(SinterDialect::kParameter); !name.empty()) {
    const Tensor &tensor = *weights.find(name);
    for (int64_t i = 0; i < value.getNumElements(); ++i)
      value[i] = elementOf(tensor, i);
    return value;
  }
  if (std::string name = bound(SinterDialect::kPreprocessed); !name.empty()) {
    if (preprocessed.empty())
      preprocess();
    return preprocessed.at(name);
  }
  if (std::string name = bound(SinterDialect::kState); !name.empty()) {
    auto state = states.find(name);
    return state == states.end() ? value : state->second;
  }
  std::string name = bound(SinterDialect::kInput);
  for (size_t slot = 0; slot < start.size(); ++slot) {
    if (name == "start") {
      value[slot] = double(start[slot]);
    } else if (name == "count") {
      value[slot] = double(count[slot]);
    } else {
      for (int64_t t = 0; t < count[slot]; ++t)
        value[slot * value.getShape()[1] + t] = tokens[start[slot] + t];
    }
  }
  return value;
}

void ReferenceModel::preprocess() {
  auto function = module->lookupSymbol<mlir::func::FuncOp>(
      runtime::nameOfPreprocess(/*pipelined=*/false, /*place=*/0));
  std::vector<ReferenceTensor> arguments;
  for (unsigned i = 0; i < function.getNumArguments(); ++i)
    arguments.push_back(argument(function, i, {}, {}));
  auto results = evaluateFunction(function, arguments);
  for (unsigned i = 0; i < results.size(); ++i) {
    auto name = function.getResultAttrOfType<mlir::StringAttr>(i, SinterDialect::kPreprocessed);
    preprocessed[name.getValue().str()] = std::move(results[i]);
  }
}

ReferenceTensor ReferenceModel::step(const std::string &entry, const std::vector<int64_t> &start,
                                     const std::vector<int64_t> &count) {
  auto function = module->lookupSymbol<mlir::func::FuncOp>(entry);
  std::vector<ReferenceTensor> arguments;
  for (unsigned i = 0; i < function.getNumArguments(); ++i)
    arguments.push_back(argument(function, i, start, count));
  auto results = evaluateFunction(function, arguments);
  ReferenceTensor logits;
  for (unsigned i = 0; i < results.size(); ++i) {
    if (auto name = function.getResultAttrOfType<mlir::StringAttr>(i, SinterDialect::kState))
      states[name.getValue().str()] = std::move(results[i]);
    else
      logits = std::move(results[i]);
  }
  return logits;
}

double ReferenceModel::errorOf(llvm::ArrayRef<double> row, int64_t position) const {
  const Tensor &logits = *expected.find("logits");
  double difference = 0, norm = 0;
  for (int64_t i = 0; i < spec.vocabSize; ++i) {
    double wanted = elementOf(logits, position * spec.vocabSize + i);
    difference += (row[i] - wanted) * (row[i] - wanted);
    norm += wanted * wanted;
  }
  double error = std::sqrt(difference / norm);
  return std::isnan(error) ? std::numeric_limits<double>::infinity() : error;
}

double ReferenceModel::logitsError() {
  ReferenceTensor logits = step("logits", {0}, {length});
  double worst = 0;
  for (int64_t t = 0; t < length; ++t)
    worst = std::max(worst, errorOf(logits.data().slice(t * spec.vocabSize), t));
  return worst;
}

double ReferenceModel::stepError(const std::string &entry, std::vector<int64_t> &start,
                                 const std::vector<int64_t> &count) {
  ReferenceTensor logits = step(entry, start, count);
  double worst = 0;
  for (size_t slot = 0; slot < start.size(); ++slot) {
    start[slot] += count[slot];
    if (count[slot] > 0)
      worst = std::max(worst, errorOf(logits.data().slice(slot * spec.vocabSize), start[slot] - 1));
  }
  return worst;
}

double ReferenceModel::raggedError() {
  // Slot 0 runs ahead in full chunks, slot 1 comes behind with fewer tokens and pauses.
  std::vector<int64_t> start = {0, 0};
  double worst = 0;
  for (const std::vector<int64_t> &count : {std::vector<int64_t>{7, 3}, {7, 0}, {2, 6}, {0, 7}})
    worst = std::max(worst, stepError("prefill", start, count));
  while (start[0] < length)
    worst = std::max(worst, stepError("decode", start, {1, start[1] < length ? 1 : 0}));
  return worst;
}

} // namespace sinter::test

// The graphs of the kept models, run by the reference evaluator on the checkpoints' weights, give
// the logits that transformers (or, for `sinter` models, the plain forward pass of
// make_reference_models.py) gave: as one chunk, in chunks, and token by token.

#include "compiler/Reference/Evaluator.h"
#include "frontends/Transformer/BuildGraph.h"
#include "frontends/Weights/WeightFiles.h"
#include "mlir/IR/Verifier.h"
#include "llvm/ADT/APFloat.h"
#include "gtest/gtest.h"
#include <algorithm>
#include <cstdlib>
#include <cstring>

using namespace sinter;

namespace {

constexpr double tolerance = 1e-5;

template <typename T> T load(const Tensor &tensor, size_t index) {
  T value;
  std::memcpy(&value, tensor.data.data() + index * sizeof(T), sizeof(T));
  return value;
}

double elementOf(const Tensor &tensor, size_t index) {
  auto half = [&](const llvm::fltSemantics &semantics) {
    llvm::APFloat value(semantics, llvm::APInt(16, load<uint16_t>(tensor, index)));
    bool lost = false;
    value.convert(llvm::APFloat::IEEEdouble(), llvm::APFloat::rmNearestTiesToEven, &lost);
    return value.convertToDouble();
  };
  switch (*tensor.dtype) {
  case DType::BF16:
    return half(llvm::APFloat::BFloat());
  case DType::F16:
    return half(llvm::APFloat::IEEEhalf());
  case DType::I32:
    return load<int32_t>(tensor, index);
  default:
    return load<float>(tensor, index);
  }
}

/// The folder with models: the kept ones, or what make_reference_models.py wrote elsewhere.
std::filesystem::path modelsFolder() {
  const char *other = std::getenv("SINTER_MODELS");
  return other ? other : SINTER_MODELS;
}

/// A model of modelsFolder() with what it needs to run.
class Model {
public:
  explicit Model(const std::string &name)
      : path(modelsFolder() / name), spec(value(loadModelSpec(path))),
        weights(value(WeightFiles::open(path / "model.safetensors"))),
        expected(value(WeightFiles::open(path / "expected.safetensors"))) {
    const Tensor &ids = *expected.find("tokens");
    for (int64_t i = 0; i < ids.shape[0]; ++i)
      tokens.push_back(elementOf(ids, i));
    length = ids.shape[0];
  }

  /// Builds the graph for chunks of `chunk` tokens of each of `batch` slots.
  void build(int64_t batch, int64_t chunk, std::vector<std::string> entries) {
    GraphOptions options;
    options.batch = batch;
    options.chunk = chunk;
    options.capacity = length + 3;
    options.ropeLength = length;
    options.entries = std::move(entries);
    for (const ParameterInfo &parameter : spec.parameters())
      options.parameterTypes[parameter.name] = *weights.find(parameter.name)->dtype;
    module = value(buildGraph(context, spec, options));
    ASSERT_TRUE(mlir::succeeded(mlir::verify(*module)));
    states.clear();
  }

  /// Runs an entry on tokens [start, start + count) of each slot; returns its logits.
  ReferenceTensor step(const std::string &entry, const std::vector<int64_t> &start,
                       const std::vector<int64_t> &count) {
    auto function = module->lookupSymbol<mlir::func::FuncOp>(entry);
    std::vector<ReferenceTensor> arguments;
    std::vector<std::string> stateNames;
    for (unsigned i = 0; i < function.getNumArguments(); ++i) {
      ReferenceTensor argument(mlir::cast<mlir::RankedTensorType>(function.getArgumentTypes()[i]));
      if (auto name = function.getArgAttrOfType<mlir::StringAttr>(i, "sinter.parameter")) {
        const Tensor &tensor = *weights.find(name.getValue().str());
        for (int64_t e = 0; e < argument.getNumElements(); ++e)
          argument[e] = elementOf(tensor, e);
      } else if (auto name = function.getArgAttrOfType<mlir::StringAttr>(i, "sinter.state")) {
        stateNames.push_back(name.getValue().str());
        if (auto state = states.find(stateNames.back()); state != states.end())
          argument = state->second;
      } else {
        fillInput(argument, function.getArgAttrOfType<mlir::StringAttr>(i, "sinter.input"), start,
                  count);
      }
      arguments.push_back(std::move(argument));
    }
    auto results = evaluateFunction(function, arguments);
    for (size_t i = 0; i < stateNames.size(); ++i)
      states[stateNames[i]] = results[i + 1];
    return results[0];
  }

  /// ||row - expected row|| / ||expected row|| of a row of logits.
  double errorOf(llvm::ArrayRef<double> row, int64_t position) const {
    const Tensor &logits = *expected.find("logits");
    double difference = 0, norm = 0;
    for (int64_t i = 0; i < spec.vocabSize; ++i) {
      double wanted = elementOf(logits, position * spec.vocabSize + i);
      difference += (row[i] - wanted) * (row[i] - wanted);
      norm += wanted * wanted;
    }
    return std::sqrt(difference / norm);
  }

  std::filesystem::path path;
  ModelSpec spec;
  WeightFiles weights, expected;
  std::vector<double> tokens;
  int64_t length = 0;
  mlir::MLIRContext context;
  mlir::OwningOpRef<mlir::ModuleOp> module;

private:
  template <typename T> static T value(Expected<T> expected) {
    EXPECT_TRUE(expected) << expected.error().message();
    return std::move(*expected);
  }

  void fillInput(ReferenceTensor &argument, mlir::StringAttr name,
                 const std::vector<int64_t> &start, const std::vector<int64_t> &count) {
    int64_t batch = argument.getShape()[0];
    for (int64_t slot = 0; slot < batch; ++slot) {
      if (name == "start") {
        argument[slot] = double(start[slot]);
      } else if (name == "count") {
        argument[slot] = double(count[slot]);
      } else {
        int64_t chunk = argument.getShape()[1];
        for (int64_t t = 0; t < count[slot]; ++t)
          argument[slot * chunk + t] = tokens[start[slot] + t];
      }
    }
  }

  std::map<std::string, ReferenceTensor> states;
};

class ReferenceLogits : public testing::TestWithParam<std::string> {};

TEST_P(ReferenceLogits, OfOneChunk) {
  Model model(GetParam());
  model.build(1, model.length, {"logits"});
  ReferenceTensor logits = model.step("logits", {0}, {model.length});
  double worst = 0;
  for (int64_t t = 0; t < model.length; ++t)
    worst = std::max(worst, model.errorOf(logits.data().slice(t * model.spec.vocabSize), t));
  RecordProperty("worst_relative_error", std::to_string(worst * 1e6) + "e-6");
  EXPECT_LE(worst, tolerance);
}

TEST_P(ReferenceLogits, InRaggedChunksAndByToken) {
  Model model(GetParam());
  model.build(2, 7, {"prefill", "decode"});
  // Slot 0 runs ahead in full chunks, slot 1 comes behind with fewer tokens and pauses.
  std::vector<int64_t> start = {0, 0};
  for (std::vector<int64_t> count : {std::vector<int64_t>{7, 3}, {7, 0}, {2, 6}, {0, 7}}) {
    ReferenceTensor logits = model.step("prefill", start, count);
    for (int64_t slot = 0; slot < 2; ++slot) {
      start[slot] += count[slot];
      if (count[slot] > 0)
        EXPECT_LE(model.errorOf(logits.data().slice(slot * model.spec.vocabSize), start[slot] - 1),
                  tolerance)
            << "slot " << slot << " at " << start[slot];
    }
  }
  while (start[0] < model.length) {
    std::vector<int64_t> count = {1, start[1] < model.length};
    ReferenceTensor logits = model.step("decode", start, count);
    for (int64_t slot = 0; slot < 2; ++slot)
      if (count[slot] > 0)
        EXPECT_LE(model.errorOf(logits.data().slice(slot * model.spec.vocabSize), start[slot]++),
                  tolerance)
            << "slot " << slot;
  }
}

std::vector<std::string> models() {
  std::vector<std::string> names;
  for (const auto &entry : std::filesystem::directory_iterator(modelsFolder()))
    names.push_back(entry.path().filename().string());
  std::sort(names.begin(), names.end());
  return names;
}

INSTANTIATE_TEST_SUITE_P(Models, ReferenceLogits, testing::ValuesIn(models()),
                         [](const auto &info) {
                           std::string name = info.param;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

} // namespace

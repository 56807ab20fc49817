#include "test/e2e/KeptWeights.h"
#include "frontends/Weights/WeightFiles.h"
#include "runtime/Weights/RandomWeights.h"
#include "gtest/gtest.h"
#include <cmath>
#include <functional>
#include <map>
#include <numeric>

namespace sinter::test {
namespace {

/// A checkpoint as the runtime reads it.
class Checkpoint : public runtime::WeightSource {
public:
  explicit Checkpoint(WeightFiles weights) : weights(std::move(weights)) {}

  std::optional<runtime::StoredTensor> find(std::string_view name) const override {
    const Tensor *tensor = weights.find(name);
    if (!tensor || !tensor->dtype)
      return std::nullopt;
    return runtime::StoredTensor{*tensor->dtype, tensor->shape, tensor->data};
  }

private:
  WeightFiles weights;
};

class SeededWeights : public runtime::WeightSource {
public:
  explicit SeededWeights(const ModelSpec &spec) {
    runtime::ThreadPool pool(1);
    for (const ParameterInfo &parameter : spec.getParameters()) {
      const std::vector<int64_t> &shape = parameter.shape;
      Initializer initializer{parameter.initializer.mean, 0.2};
      if (shape.size() > 1)
        initializer = {0, 1 / std::sqrt(double(shape.back()))};
      int64_t count = std::accumulate(shape.begin(), shape.end(), int64_t(1), std::multiplies<>());
      auto &[storedShape, values] = tensors[parameter.name];
      storedShape = shape;
      values.resize(static_cast<size_t>(count));
      runtime::fillRandomWeight(pool, std::as_writable_bytes(std::span(values)), DType::F32,
                                initializer, parameter.name, /*seed=*/0);
    }
  }

  std::optional<runtime::StoredTensor> find(std::string_view name) const override {
    auto found = tensors.find(name);
    if (found == tensors.end())
      return std::nullopt;
    const auto &[shape, values] = found->second;
    return runtime::StoredTensor{DType::F32, shape, std::as_bytes(std::span(values))};
  }

private:
  std::map<std::string, std::pair<std::vector<int64_t>, std::vector<float>>, std::less<>> tensors;
};

} // namespace

std::unique_ptr<runtime::WeightSource> openWeights(const std::filesystem::path &folder,
                                                   const ModelSpec &spec) {
  std::filesystem::path file = folder / "model.safetensors";
  if (!std::filesystem::exists(file))
    return std::make_unique<SeededWeights>(spec);
  auto weights = WeightFiles::open(file);
  EXPECT_TRUE(weights) << weights.error().message();
  return std::make_unique<Checkpoint>(std::move(*weights));
}

} // namespace sinter::test

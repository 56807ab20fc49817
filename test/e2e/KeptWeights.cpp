#include "test/e2e/KeptWeights.h"
#include "frontends/Weights/WeightFiles.h"
#include "runtime/Base/Float8.h"
#include "runtime/Base/WriteFloats.h"
#include "runtime/Weights/RandomWeights.h"
#include "gtest/gtest.h"
#include <algorithm>
#include <cmath>
#include <cstring>
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
    return runtime::StoredTensor{*tensor->dtype, tensor->shape, tensor->data, tensor->decoder};
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

IntegerWeights::IntegerWeights(std::unique_ptr<runtime::WeightSource> weights,
                               const ModelSpec &spec, const IntegerFormat &format, DType scales)
    : weights(std::move(weights)) {
  for (const ParameterInfo &parameter : spec.getParameters())
    if (parameter.shape.size() == 2)
      round(parameter.name, *this->weights->find(parameter.name), format, scales);
}

std::optional<runtime::StoredTensor> IntegerWeights::find(std::string_view name) const {
  auto found = parts.find(name);
  if (found == parts.end())
    return weights->find(name);
  return runtime::StoredTensor{found->second.dtype, found->second.shape, found->second.data};
}

static float roundTo(DType type, float value) {
  return type == DType::F16    ? f16ToFloat(floatToF16(value))
         : type == DType::BF16 ? bf16ToFloat(floatToBf16(value))
                               : value;
}

void IntegerWeights::round(const std::string &name, const runtime::StoredTensor &matrix,
                           const IntegerFormat &format, DType scaleNumbers) {
  ASSERT_EQ(matrix.dtype, DType::F32) << name;
  std::vector<float> values(matrix.data.size() / sizeof(float)), scales, minima;
  std::memcpy(values.data(), matrix.data.data(), matrix.data.size());
  std::vector<std::byte> integers, widened(matrix.data.size());
  auto group = static_cast<size_t>(format.group);
  float least = format.dtype == DType::I4 ? -8 : -128, most = -1 - least;
  if (format.dtype == DType::E4M3)
    most = largestE4M3;
  for (size_t i = 0; i < values.size(); i += group) {
    auto [low, high] = std::minmax_element(&values[i], &values[i] + group);
    float scale =
        format.hasMinima ? (*high - *low) / (most - least) : std::max(*high, -*low) / most;
    scale = roundTo(scaleNumbers, scale);
    float minimum = format.hasMinima ? *low - least * scale : 0;
    for (size_t j = i; j < i + group; ++j) {
      float number = (values[j] - minimum) / scale;
      if (format.dtype == DType::E4M3) {
        uint8_t bits = floatToE4M3(number);
        integers.push_back(static_cast<std::byte>(bits));
        values[j] = e4m3ToFloat(bits) * scale;
      } else {
        number = std::clamp(std::nearbyint(number), least, most);
        integers.push_back(static_cast<std::byte>(static_cast<int8_t>(number)));
        values[j] = number * scale + minimum;
      }
    }
    scales.push_back(scale);
    minima.push_back(minimum);
  }
  auto keep = [&](std::string_view suffix, DType type, int64_t columns,
                  std::vector<std::byte> data) {
    parts[name + std::string(suffix)] = {type, {matrix.shape[0], columns}, std::move(data)};
  };
  auto keepFloats = [&](std::string_view suffix, DType type, const std::vector<float> &numbers) {
    std::vector<std::byte> data(numbers.size() * sizeOf(type));
    writeFloats(numbers, type, data.data());
    keep(suffix, type, matrix.shape[1] / format.group, std::move(data));
  };
  keep(integersSuffix, format.dtype, matrix.shape[1], std::move(integers));
  keepFloats(scalesSuffix, format.scaleType, scales);
  if (format.hasMinima)
    keepFloats(minimaSuffix, DType::F32, minima);
  std::memcpy(widened.data(), values.data(), widened.size());
  parts[name] = {DType::F32, matrix.shape, std::move(widened)};
  formats[name] = format;
}

} // namespace sinter::test

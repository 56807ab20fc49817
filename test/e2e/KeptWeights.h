//===- KeptWeights.h - The weights of kept models ---------------*- C++ -*-===//
#pragma once

#include "frontends/Spec/ModelSpec.h"
#include "runtime/Weights/IntegerFormat.h"
#include "runtime/Weights/WeightSource.h"
#include <filesystem>
#include <map>
#include <memory>

namespace sinter::test {

/// The tensors of `folder`/model.safetensors. Where there is no such file (test/e2e/wide), f32 made
/// of their names (fillRandomWeight, seed 0): matrices with a deviation of one over the root of
/// their columns, vectors with 0.2 around what they begin with. make_reference_models.py makes the
/// same. Failures are failures of the test.
std::unique_ptr<runtime::WeightSource> openWeights(const std::filesystem::path &folder,
                                                   const ModelSpec &spec);

/// Weights of which each matrix of f32 is integers, or e4m3, as files hold them: rounded to
/// nearest, with scales that are numbers of `scales`, whatever type the format stores them in; and
/// what these stand for.
class IntegerWeights : public runtime::WeightSource {
public:
  IntegerWeights(std::unique_ptr<runtime::WeightSource> weights, const ModelSpec &spec,
                 const IntegerFormat &format, DType scales);

  std::optional<runtime::StoredTensor> find(std::string_view name) const override;

  /// The names of the matrices, with the format.
  std::map<std::string, IntegerFormat> formats;

private:
  struct Part {
    DType dtype;
    std::vector<int64_t> shape;
    std::vector<std::byte> data;
  };

  void round(const std::string &name, const runtime::StoredTensor &matrix,
             const IntegerFormat &format, DType scales);

  std::unique_ptr<runtime::WeightSource> weights;
  std::map<std::string, Part, std::less<>> parts;
};

} // namespace sinter::test

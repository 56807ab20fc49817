//===- ModelParts.h - Products, norms and lookups of a model ----*- C++ -*-===//
//
// What a decoder's graph is put together from: ops with the parameters that a ModelSpec names, in
// the types and formats that they are stored in.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "frontends/Graph/BuildGraph.h"
#include "frontends/Graph/GraphBuilder.h"
#include "frontends/Graph/RouterLoss.h"
#include <map>

namespace sinter {

class ModelParts {
public:
  /// Builds into `graph`. @param trains parameters are f32, whatever they were stored in
  ModelParts(GraphBuilder &graph, const ModelSpec &spec, const GraphOptions &options, bool trains);

  /// Names the part of the model that ops belong to.
  void setLocation(const LayerSpec &layer, const std::string &part);

  //===--------------------------------------------------------------------===//
  // Parameters
  //===--------------------------------------------------------------------===//

  /// A tensor of the checkpoint in the type that it is stored in.
  mlir::Value getParameter(const std::string &name, Shape shape);

  /// Entries of dimension `dim` that belong to a weight, where a tensor holds several weights.
  mlir::Value selectEntries(mlir::Value tensor, const WeightRef &ref, int64_t dim);

  /// A matrix `[rows, columns]` of integers, or e4m3, by which files hold numbers. Minima are null
  /// where the format has none; numbers that are none have no scales either.
  struct ScaledMatrix {
    mlir::Value numbers, scales, minima;
  };
  ScaledMatrix getScaledMatrix(const std::string &name, int64_t rows, int64_t columns,
                               const IntegerFormat &format);

  /// The format that a parameter is multiplied or looked up in, or null: numbers as they are.
  const IntegerFormat *findIntegerFormat(const std::string &name) const;

  /// A norm's factor, f32 `[size]`, or of one with a weight a head `[heads, size]`.
  mlir::Value getNormWeight(const NormSpec &norm);

  //===--------------------------------------------------------------------===//
  // Ops
  //===--------------------------------------------------------------------===//

  /// x `[..., in]` by a weight, plus its bias: `[..., out]`.
  mlir::Value buildLinear(mlir::Value x, const LinearSpec &linear);
  /// Rows `[..., size]` by the model's kind of norm.
  mlir::Value buildNorm(mlir::Value x, const NormSpec &norm);
  mlir::Value buildNorm(mlir::Value x, const NormSpec &norm, NormKind kind);
  /// The same of a layer, or x where there is no norm.
  mlir::Value buildNorm(mlir::Value x, const std::optional<NormSpec> &norm, const LayerSpec &layer);
  /// Rows of a table `[rows, width]` behind its first `offset`, in f32.
  mlir::Value buildLookup(const std::string &name, int64_t rows, int64_t width, mlir::Value ids,
                          int64_t offset, std::optional<int64_t> padding);
  /// What is between the products of an MLP without a gate.
  mlir::Value buildActivation(mlir::Value x);
  mlir::Value buildXielu(mlir::Value x, const XieluSpec &xielu);
  /// What is between the products of an MLP with one: the gate's activation times `up`.
  mlir::Value buildGated(mlir::Value gate, mlir::Value up);

  GraphBuilder &graph;
  const ModelSpec &spec;
  const GraphOptions &options;
  const bool trains;                    ///< parameters change from step to step
  std::optional<RouterLoss> routerLoss; ///< of the layers so far, where the loss has one

private:
  mlir::Type getFloat(DType stored);
  mlir::Value buildScaledProduct(mlir::Value x, const LinearSpec &linear,
                                 const IntegerFormat &format);
  mlir::Value buildProduct(mlir::Value x, const LinearSpec &linear);
  mlir::Value clamp(mlir::Value x, std::optional<double> low, double high);

  std::map<std::string, ParameterInfo> parameters; ///< by name
};

} // namespace sinter

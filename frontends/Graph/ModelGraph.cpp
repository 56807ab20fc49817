#include "frontends/Graph/ModelGraph.h"
#include "compiler/Pipelines/Compile.h"
#include "dialects/Sinter/SinterDialect.h"
#include "frontends/Graph/BuildGraph.h"

using namespace mlir;
using namespace sinter;

namespace {
class ModelGraph : public GraphSource {
public:
  explicit ModelGraph(ModelSpec spec) : spec(std::move(spec)) {}

  Expected<OwningOpRef<ModuleOp>> build(MLIRContext &context, const CompileRequest &request,
                                        TargetAttr target) const override {
    const CompileOptions &options = request.options;
    GraphOptions graph;
    graph.batch = options.batch;
    graph.chunk = options.chunk;
    graph.maxSequence = options.getMaxSequence();
    graph.ropeLength = options.ropeLength;
    graph.entries = options.entries;
    graph.penalties = options.penalties;
    graph.parameterTypes = request.parameterTypes;
    graph.integerFormats = request.integerFormats;
    graph.training.documentMask = options.training.documentMask;
    graph.training.dropout = options.training.dropout;
    graph.training.zLoss = options.training.zLoss;
    graph.training.routerLoss = options.training.routerLoss.value_or(spec.routerLoss);
    graph.training.heldLogits = target.getHeldLogits();
    graph.training.lossScale = options.getComputeType() == DType::F16;
    return buildGraph(context, spec, graph);
  }

private:
  ModelSpec spec;
};
} // namespace

std::shared_ptr<const GraphSource> sinter::makeModelGraph(ModelSpec spec) {
  return std::make_shared<ModelGraph>(std::move(spec));
}

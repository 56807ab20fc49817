#include "dialects/Sinter/Pipelining.h"
#include "dialects/Sinter/SinterDialect.h"
#include "runtime/Format/PipelineStages.h"

using namespace mlir;
using namespace sinter;

int64_t sinter::getPipelineStage(Operation *entry) {
  auto stage = entry->getAttrOfType<IntegerAttr>(kPipelineStage);
  return stage ? stage.getInt() : 0;
}

int64_t sinter::getPipelinePlace(Operation *entry, int64_t stage) {
  GridAttr grid = GridAttr::lookup(entry);
  return grid ? stage % grid.getSize(runtime::kPipelineAxis) : 0;
}

std::string sinter::getPreprocessName(Operation *entry) {
  int64_t place = getPipelinePlace(entry, getPipelineStage(entry));
  return runtime::nameOfPreprocess(entry->hasAttr(kPipelineStage), static_cast<uint64_t>(place));
}

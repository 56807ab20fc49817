#include "dialects/Sinter/Stage.h"
#include "mlir/IR/BuiltinAttributes.h"

using namespace mlir;
using namespace sinter;

static constexpr llvm::StringLiteral kNames[] = {"forward", "backward", "recompute", "optimizer"};

StringRef sinter::stringifyStage(Stage stage) { return kNames[static_cast<size_t>(stage)]; }

Location sinter::inStage(Stage stage, Location location) {
  return FusedLoc::get({location}, StringAttr::get(location.getContext(), stringifyStage(stage)),
                       location.getContext());
}

Stage sinter::getStage(Location location) {
  auto stage = Stage::Forward;
  location->walk([&](Location part) {
    if (auto fused = dyn_cast<FusedLoc>(part))
      if (auto name = dyn_cast_or_null<StringAttr>(fused.getMetadata()))
        for (auto [i, known] : llvm::enumerate(kNames))
          if (name.getValue() == known)
            stage = std::max(stage, static_cast<Stage>(i));
    return WalkResult::advance();
  });
  return stage;
}

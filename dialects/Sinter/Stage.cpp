#include "dialects/Sinter/Stage.h"
#include "mlir/IR/BuiltinAttributes.h"

using namespace mlir;
using namespace sinter;

static constexpr llvm::StringLiteral kNames[] = {"forward", "backward", "recompute", "optimizer"};

StringRef sinter::stringifyStage(Stage stage) { return kNames[static_cast<size_t>(stage)]; }

std::optional<Stage> sinter::parseStage(StringRef name) {
  for (auto [i, known] : llvm::enumerate(kNames))
    if (name == known)
      return static_cast<Stage>(i);
  return std::nullopt;
}

Location sinter::inStage(Stage stage, Location location) {
  return FusedLoc::get({location}, StringAttr::get(location.getContext(), stringifyStage(stage)),
                       location.getContext());
}

Stage sinter::getStage(Location location) {
  auto stage = Stage::Forward;
  location->walk([&](Location part) {
    if (auto fused = dyn_cast<FusedLoc>(part))
      if (auto name = dyn_cast_or_null<StringAttr>(fused.getMetadata()))
        if (std::optional<Stage> named = parseStage(name.getValue()))
          stage = std::max(stage, *named);
    return WalkResult::advance();
  });
  return stage;
}

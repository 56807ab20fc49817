//===- Layout.h - Which grid a step is fastest on ---------------*- C++ -*-===//
//
// `--layout auto`: every grid of as many ranks as there are devices, with every level of ZeRO, is
// compiled to its plan, without code, and its step is predicted (sinter/Prediction.h).
//
//===----------------------------------------------------------------------===//
#pragma once

#include "sinter/LocalCluster.h"
#include "sinter/StepMode.h"

namespace sinter {

/// Where a step is to run.
struct LayoutOptions {
#define SINTER_OPTION SINTER_OPTION_MEMBER
#include "sinter/LayoutOptions.def"

  template <typename Self, typename Visitor> static void visit(Self &self, Visitor &&visitor) {
#define SINTER_OPTION SINTER_OPTION_VISIT
#include "sinter/LayoutOptions.def"
  }
};

/// A grid, and what becomes of the step on it.
struct Layout {
  std::string grid; ///< empty: one rank
  int64_t zero = 0;
  double stepMs = 0, computeMs = 0; ///< 0 where it cannot be
  uint64_t plannedBytes = 0;        ///< of a rank
  bool fits = false;
  std::string why; ///< what it is worse in than the best; empty: it is the best
};

/// Finds layouts of a step, the fastest that fits first, then those that do not fit and those that
/// cannot be. Fails where none fits.
/// @param step complete (completeOptions), without a grid
Expected<std::vector<Layout>> findLayouts(const Model &model, const PlannedStep &step,
                                          size_t devices, const runtime::Cluster &cluster);

/// "data=4,tensor=2, zero 1", as people read it.
std::string describeLayout(const std::string &grid, int64_t zero);

/// The cluster and the number of devices that the options ask for. Fails where they do not fit each
/// other, or a grid is given that `layout` is to find.
Expected<std::pair<runtime::Cluster, size_t>> chooseDevices(const LayoutOptions &layout,
                                                            RunOptions &options);

} // namespace sinter

//===- Grid.h - Who is where among the ranks of an executable ---*- C++ -*-===//
#pragma once

#include "runtime/Collective/Communicator.h"
#include "runtime/Format/Executable_generated.h"
#include <string>
#include <string_view>

namespace sinter::runtime {

/// An axis of a grid, and the ranks along it.
struct GridAxis {
  std::string name;
  size_t size = 1;
};

/// Reads the option `grid`, "data=2,tensor=2": axes of the names below, each once. Empty: none, one
/// rank. The order of axes does not depend on how they were written: it is that of kGridAxes.
/// "tensor=2x4" is a grid of rows and columns, "tensor=2x4x4" one in depth, too: the last of
/// kTensorAxes.
Expected<std::vector<GridAxis>> parseGrid(std::string_view text);

/// What the axes of a grid are for, slowest first: ranks that are neighbours on the last one
/// exchange the most.
constexpr std::string_view kGridAxes[] = {"pipeline", "data", "context", "tensor"};
constexpr std::string_view kTensorAxes[] = {"tensor.depth", "tensor.rows", "tensor.columns"};

/// The ranks of a grid as people write it: the product of its axes.
Expected<size_t> countRanks(std::string_view grid);

/// Ranks that an executable's program runs on together: the product of its grid's axes, 1 without.
size_t countRanks(const fb::Executable &executable);

/// Ranks along an axis; 1 where the grid does not have it.
size_t countRanks(const fb::Executable &executable, std::string_view axis);

/// The place of a rank along an axis; 0 where the grid does not have it.
size_t findPlace(const fb::Executable &executable, std::string_view axis, size_t rank);

/// The group along `axes` (indices into the grid) that a rank is in. Places count the last of the
/// axes fastest. @pre the executable is verified, rank < countRanks(executable)
RankGroup findGroup(const fb::Executable &executable, std::span<const uint32_t> axes, size_t rank);

/// The rank of a stage of the pipeline that has the place of `rank` on all other axes.
size_t findRankOfStage(const fb::Executable &executable, uint32_t stage, size_t rank);

/// "data=2,tensor=2", as people write it.
std::string describeGrid(const fb::Executable &executable);

} // namespace sinter::runtime

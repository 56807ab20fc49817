//===- TrainFlags.h - What `train` and `compare` share ----------*- C++ -*-===//
#pragma once

#include "sinter/Train.h"
#include "tools/sinter/ModelFlags.h"

namespace sinter::cli {

/// Adds the options of a run but MODEL and those of its output, in groups.
void addTrainFlags(CLI::App &command, TrainOptions &options, bool &json);

/// "950", "1.2 M", "124.4 M".
std::string formatCount(double count);

} // namespace sinter::cli

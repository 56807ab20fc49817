//===- TrainOutput.h - What a run leaves behind -----------------*- C++ -*-===//
#pragma once

#include "tools/sinter/Report.h"
#include "tools/sinter/TrainRun.h"

namespace sinter::cli {

/// Makes the directory; fails where nothing could be written to it at the end, and where it holds
/// weights that no run of ours has left: they would be written over.
Expected<void> makeOutputDirectory(const std::string &directory);

/// Writes the files that make the directory a Hugging Face model once its weights are there, each
/// whole or absent: config.json, which says that they are float32, and the tokenizer's.
Expected<void> writeDescription(const PreparedRun &run, const std::string &directory);

/// The report on a run from its log: curves, the model's facts, the options of `command`.
Report makeTrainReport(const std::string &title, const std::string &log, const PreparedRun &run,
                       const runtime::TrainMemory &memory, const CLI::App &command);

} // namespace sinter::cli

//===- TrainLog.h - One line a step -----------------------------*- C++ -*-===//
#pragma once

#include "runtime/Train/Trainer.h"
#include <memory>

namespace sinter {

/// The log of a run: a JSON object a step, flushed. What a kill leaves behind is whole
/// lines, and perhaps a part of one.
class TrainLog {
public:
  /// Begins a log at step `first`: lines of that step and later ones, which are about to be done
  /// again, are dropped; with 0, all are. A file that is no regular one is only written to.
  static Expected<TrainLog> open(const std::string &path, uint64_t first);

  /// Puts into the next line what is changed from there on.
  void note(std::vector<runtime::OptionChange> changes) { changed = std::move(changes); }

  Expected<void> append(const runtime::StepRecord &record);

private:
  struct Close {
    void operator()(std::FILE *file) const { std::fclose(file); }
  };
  TrainLog(std::string path, std::FILE *file) : path(std::move(path)), file(file) {}

  std::string path;
  std::unique_ptr<std::FILE, Close> file;
  std::vector<runtime::OptionChange> changed;
};

/// The curves of a log: pairs of a step and a value.
struct TrainCurves {
  using Points = std::vector<std::pair<double, double>>;
  Points loss, validationLoss, learningRate, gradNorm, throughput, memory;
};

/// Reads a log's lines; empty curves where there is no such file.
TrainCurves readTrainCurves(const std::string &path);

} // namespace sinter

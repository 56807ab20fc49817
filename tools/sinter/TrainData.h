//===- TrainData.h - What --data names --------------------------*- C++ -*-===//
#pragma once

#include "runtime/Train/Trainer.h"
#include "tools/sinter/Model.h"

namespace sinter::cli {

/// Which tokens a run reads, and in which order.
struct DataOptions {
  std::vector<std::string> files, validationFiles; ///< paths and globs
  double validationSplit = 0;                      ///< part of the data, at its end; 0: none
  std::string tokenizer;                           ///< directory; empty: the model's own
  std::string order = "shuffled";
  int64_t documentEnd = -1; ///< id; -1: the tokenizer's end of text
};

/// Adds --data, --val-data and the others, in the group "Data".
void addDataOptions(CLI::App &command, DataOptions &options);

/// Gives the model the tokenizer that --tokenizer names, if any, instead of its own, with the files
/// that go with it for other tools.
Expected<void> chooseTokenizer(const DataOptions &options, Model &model);

/// Data that are open: every id has been looked at.
struct OpenData {
  runtime::TrainData streams;
  std::optional<int32_t> endOfText; ///< with a document mask
  bool asBytes = false;             ///< a text was read as bytes
  std::string fingerprint;          ///< changes with any token of the training data's files
};

/// Opens the files. Texts become ids by the model's tokenizer, or are bytes where it has none.
/// Errors, each with the file or option named: nothing matches, a file cannot be read, is empty, of
/// an odd length or holds an id that the model does not know; bytes do not fit the vocabulary;
/// nothing says what ends a document.
Expected<OpenData> openData(const Model &model, const DataOptions &options, bool documentMask);

/// The files of a tokenizer whose ids are the bytes of a text; for models that trained on bytes.
std::map<std::string, std::string> makeByteTokenizer();

} // namespace sinter::cli

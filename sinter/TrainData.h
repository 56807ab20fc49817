//===- TrainData.h - The tokens of a run ------------------------*- C++ -*-===//
#pragma once

#include "runtime/Base/Options.h"
#include "runtime/Train/Trainer.h"
#include "sinter/Model.h"

namespace sinter {

/// Which tokens a run reads, and in which order.
struct DataOptions {
#define SINTER_OPTION SINTER_OPTION_MEMBER
#include "sinter/DataOptions.def"

  template <typename Self, typename Visitor> static void visit(Self &self, Visitor &&visitor) {
#define SINTER_OPTION SINTER_OPTION_VISIT
#include "sinter/DataOptions.def"
  }
};

/// Gives the model the tokenizer that the options name, if any, instead of its own, with the files
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
Expected<OpenData> openData(const Model &model, const DataOptions &options, bool documentMask,
                            const Observer &observer);

/// Opens the files that a list of paths and patterns names, as openData does; `option` is the id of
/// the option that names them.
Expected<runtime::TokenStream> openTokens(const Model &model,
                                          const std::vector<std::string> &patterns,
                                          const char *option, const Observer &observer);

/// The files of a tokenizer whose ids are the bytes of a text; for models that trained on bytes.
std::map<std::string, std::string> makeByteTokenizer();

} // namespace sinter

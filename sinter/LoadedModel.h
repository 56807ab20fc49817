//===- LoadedModel.h - An executable, its weights and tokenizer -*- C++ -*-===//
//
// What is ready to run. This header, Generate.h and what they include need no compiler: they are in
// Sinter::Runtime.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "frontends/Tokenizer/Tokenizer.h"
#include "runtime/Format/Executable.h"
#include "sinter/Weights.h"
#include <memory>

namespace sinter {

/// An executable with the weights that it carries or refers to.
struct LoadedModel {
  std::shared_ptr<const runtime::Executable> executable;
  std::shared_ptr<const WeightFiles> weights; ///< null: random ones
  /// Milliseconds from the model's description to the executable; 0 where it was compiled before.
  double compileMs = 0;

  /// Opens a .sinter file and its weights.
  static Expected<LoadedModel> open(const std::string &path);
  /// The same for an executable that is open, found at `path`.
  static Expected<LoadedModel> open(std::shared_ptr<const runtime::Executable> executable,
                                    const std::filesystem::path &path);

  /// The tokenizer that the executable carries, or an error that says how to do without.
  Expected<Tokenizer> openTokenizer() const;

  /// The ids of a text.
  Expected<std::vector<int32_t>> encode(const std::string &text) const;
};

/// The tokenizer's files that an executable carries; empty where it has none.
Tokenizer::Files getTokenizerFiles(const runtime::Executable &executable);

} // namespace sinter
